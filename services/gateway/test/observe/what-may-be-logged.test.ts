// What a gateway says is a closed list of fields (auth-security RD-1, RD-5); how they are said is the lines' own business
// (services/state/test/log).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuditRow, auditName } from '../../src/observe/audit.ts';
import { createLogging } from '../../src/observe/logger.ts';

type Lines = Promise<Record<string, unknown>[]>;

async function linesOf(level: string, write: (logging: ReturnType<typeof createLogging>) => void): Lines {
  const lines: string[] = [];
  const logging = createLogging({ level, service: 'gateway', stream: { write: (line: string) => lines.push(line) } });
  write(logging);
  await logging.flush();
  return lines.flatMap((text) => text.trimEnd().split('\n')).map((line) => JSON.parse(line) as Record<string, unknown>);
}

const SECRET = 'eyJhbGciOiJFUzI1NiJ9.c2VjcmV0.c2ln';

test('fields that are not on the list are dropped, whatever they hold', async () => {
  const fields = {
    xid: 'x',
    headers: { authorization: SECRET },
    token: SECRET,
    body: SECRET,
    arguments: [SECRET],
    req: { SECRET },
  };
  const [line] = await linesOf('info', ({ log }) => log.info('something happened', fields));
  assert.ok(!JSON.stringify(line).includes(SECRET));
  assert.deepEqual([line?.event, line?.xid, line?.service], ['something happened', 'x', 'gateway']);
});

test('addresses lose their query', async () => {
  const [line] = await linesOf('info', ({ log }) => log.info('x', { url: `https://h.example/p?code=${SECRET}` }));
  assert.equal(line?.url, 'https://h.example/p');
});

const row: AuditRow = {
  xid: 'x',
  ...{ tenant: 'acme', route: '/acme/mcp', issuer: 'https://idp.example', subject: 'al"ice\\', client: null },
  ...{ era: 'modern', revision: '2026-07-28', method: 'tools/call', server: 'files', name: 'größe', rule: null },
  ...{ continues: 'y"', outcome: 'ok', detail: null, status: 200, bytesIn: 12, bytesOut: 0, ms: 1.25 },
};

test('an audit row says each of its members, in its order, and several are one write', async () => {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  const logging = createLogging({ level: 'info', service: 'gateway', stream });
  const second: AuditRow = { ...row, status: null, era: null, client: 'app' };
  logging.writeAudit(row);
  logging.writeAudit(second);
  await logging.flush();
  assert.equal(written.length, 1);
  const read = written[0]!
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const [i, expected] of [row, second].entries()) {
    const { level, time, service, kind, ...members } = read[i]!;
    assert.deepEqual([level, service, kind, typeof time], [30, 'gateway', 'audit', 'string']);
    assert.equal(JSON.stringify(members), JSON.stringify(expected));
  }
});

test('the level holds lines back, never audit rows', async () => {
  const lines = await linesOf('error', ({ log, writeAudit }) => {
    log.info('quiet');
    writeAudit(row);
  });
  assert.deepEqual(
    lines.map((l) => [l.kind, l.xid]),
    [['audit', 'x']],
  );
});

test('names in an audit row are bounded, and URIs lose their query', () => {
  assert.equal(auditName('file:///a?sig=secret'), 'file:///a');
  assert.equal(auditName('tool\nname'), 'tool\\u000aname');
  assert.equal(auditName('n'.repeat(1000))?.length, 257);
  assert.equal(auditName(undefined), null);
});
