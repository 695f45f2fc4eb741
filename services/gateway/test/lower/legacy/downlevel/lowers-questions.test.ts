// What does a client of each revision see of a question? (protocol.md §1.7, §1.8, §5.3, §5.9)

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { readRound } from '../../../../src/lower/legacy/downlevel/input-request.ts';
import { lowerQuestion } from '../../../../src/lower/legacy/downlevel/question.ts';

const ALL: ClientCapabilities = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} };

interface Case {
  readonly revision?: string;
  readonly capabilities?: ClientCapabilities;
  readonly aggregate?: boolean;
  readonly method: string;
  /** Raw JSON. */
  readonly params?: string;
}

/** Params as text, the raw answer given on the client's behalf, or the words for what is missing. */
function lowered({ revision = '2025-11-25', capabilities = ALL, aggregate = false, method, params }: Case): string {
  const request = `{"method":${JSON.stringify(method)}${params === undefined ? '' : `,"params":${params}`}}`;
  const { requests } = readRound(new TextEncoder().encode(`"inputRequests":{"k":${request}}`));
  const question = lowerQuestion({ revision, capabilities, aggregate }, requests[0]!);
  switch (question.kind) {
    case 'wire':
      return question.params === null ? '-' : new TextDecoder().decode(question.params);
    case 'answer':
      return `answers ${question.response}`;
    case 'missing':
      return `lacks ${question.what}`;
  }
}

const elicit = (params: string, more: Partial<Case> = {}) => lowered({ method: 'elicitation/create', params, ...more });
const sample = (params: string, more: Partial<Case> = {}) =>
  lowered({ method: 'sampling/createMessage', params, ...more });
const schema = (properties: string) => `{"message":"m","requestedSchema":{"type":"object","properties":${properties}}}`;

describe('forms', () => {
  test('2025-11-25 gets them byte for byte, without the modern schema’s name', () => {
    const properties =
      '{ "a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}},"n":{"type":"number","minimum":1.50,"default":12345678901234567890}}';
    const rest = `"requestedSchema":{"type":"object","properties":${properties},"required":["a"]}`;
    assert.equal(
      elicit(`{"mode":"form","message":"a\\u00e9",${rest}}`),
      `{"mode":"form","message":"a\\u00e9",${rest}}`,
    );
    assert.equal(
      elicit(
        '{"message":"m","requestedSchema":{"$schema":"https://json-schema.org/x","type":"object","properties":{}}}',
      ),
      '{"message":"m","requestedSchema":{"type":"object","properties":{}}}',
    );
    assert.equal(
      elicit('{"message":"m","requestedSchema":{},"_meta":{"a":1},"task":{"ttl":1}}'),
      '{"message":"m","requestedSchema":{}}',
    );
  });

  const OLDER: readonly [id: string, from: string, to: string][] = [
    [
      'a default stays with a boolean',
      '{"b":{"type":"boolean","default":true}}',
      '{"b":{"type":"boolean","default":true}}',
    ],
    [
      'a default of text goes',
      '{"s":{"type":"string","default":"x","maxLength":5}}',
      '{"s":{"type":"string","maxLength":5}}',
    ],
    ['a default of numbers goes', '{"n":{"type":"integer","default":1}}', '{"n":{"type":"integer"}}'],
    [
      'titles become enumNames',
      '{"e":{"type":"string","title":"E","oneOf":[{"const":"a","title":"A"},{"const":"b"}],"default":"a"}}',
      '{"e":{"type":"string","title":"E","enum":["a","b"],"enumNames":["A","b"]}}',
    ],
    [
      'an enum of that revision stays',
      '{"e":{"type":"string","enum":["a"],"enumNames":["A"]}}',
      '{"e":{"type":"string","enum":["a"],"enumNames":["A"]}}',
    ],
  ];
  for (const [id, from, to] of OLDER) {
    test(`2025-06-18: ${id}`, () => {
      const shown = elicit(schema(from).replace('{', '{"mode":"form",'), { revision: '2025-06-18' });
      assert.equal(shown, schema(to));
    });
  }

  test('2025-06-18: what has a list cannot be shown, and nobody has declined', () => {
    const list = '{"l":{"type":"array","items":{"type":"string","enum":["a"]}}}';
    assert.equal(elicit(schema(list), { revision: '2025-06-18' }), 'answers {"action":"cancel"}');
  });
});

describe('URLs', () => {
  test('stay byte for byte; an id of the server’s goes', () => {
    assert.equal(
      elicit('{"mode":"url","message":"m","url":"https:\\/\\/a/?b=%20","elicitationId":"theirs"}'),
      '{"mode":"url","message":"m","url":"https:\\/\\/a/?b=%20"}',
    );
  });

  test('of another scheme are not shown', () => {
    for (const url of ['javascript:alert(1)', 'file:///etc/passwd', 'HTTPX://a', '']) {
      assert.equal(elicit(`{"mode":"url","message":"m","url":${JSON.stringify(url)}}`), 'answers {"action":"cancel"}');
    }
  });
});

describe('capabilities, down to the mode', () => {
  const ROWS: readonly [capabilities: ClientCapabilities, mode: string, shown: boolean][] = [
    [{ elicitation: {} }, 'form', true],
    [{ elicitation: {} }, 'url', false],
    [{ elicitation: { form: {} } }, 'url', false],
    [{ elicitation: { url: {} } }, 'url', true],
    [{ elicitation: { url: {} } }, 'form', false],
    [{}, 'form', false],
    [{ elicitation: {} }, 'hologram', false],
  ];
  for (const [capabilities, mode, shown] of ROWS) {
    test(`${JSON.stringify(capabilities)}: ${mode} is ${shown ? 'shown' : 'missing'}`, () => {
      const said = elicit(`{"mode":"${mode}","message":"m","url":"https://a"}`, { capabilities });
      assert.equal(said.startsWith('lacks elicitation'), !shown, said);
    });
  }

  test('roots have no params; what nobody knows is missing', () => {
    assert.equal(lowered({ method: 'roots/list', params: '{"_meta":{}}' }), '-');
    assert.equal(lowered({ method: 'roots/list', capabilities: {} }), 'lacks roots');
    assert.match(lowered({ method: 'future/ask', params: '{}' }), /^lacks .*future\/ask/);
  });
});

describe('sampling', () => {
  const text = '{"type":"text","text":"a"}';
  const audio = '{"type":"audio","data":"AAAA","mimeType":"audio/wav"}';

  test('2025-11-25 gets lists and tools, when it declared them', () => {
    const params = `{"messages":[{"role":"user","content":[${text},${audio}]}],"maxTokens":1e2,"tools":[],"toolChoice":{"mode":"auto"}}`;
    assert.equal(sample(params), params);
    assert.match(sample(params, { capabilities: { sampling: {} } }), /^answers .*"lk\/error".*sampling\.tools/);
  });

  test('before, a list of one is unwrapped and a longer one is several messages of that role', () => {
    const from = `{"messages":[{"role":"user","content":[${text}]},{"role":"assistant","content":[${text},${audio}]},{"role":"user","content":${text}}],"maxTokens":5}`;
    const to = `{"messages":[{"role":"user","content":${text}},{"role":"assistant","content":${text}},{"role":"assistant","content":${audio}},{"role":"user","content":${text}}],"maxTokens":5}`;
    assert.equal(sample(from, { revision: '2025-06-18' }), to);
  });

  test('2024-11-05 has no audio: words in its place', () => {
    const said = sample(`{"messages":[{"role":"user","content":${audio}}],"maxTokens":5}`, { revision: '2024-11-05' });
    assert.match(said, /"content":\{"type":"text","text":"\[audio, audio\/wav/);
  });

  test('tool blocks are refused to the server before 2025-11-25', () => {
    const block = '{"type":"tool_use","id":"1","name":"n","input":{}}';
    const said = sample(`{"messages":[{"role":"assistant","content":[${block}]}]}`, { revision: '2025-06-18' });
    assert.match(said, /^answers \{"lk\/error":\{"code":-32602/);
  });

  test('context is scoped to one server or is none', () => {
    const asked = (value: string) => `{"messages":[],"includeContext":"${value}"}`;
    const none = asked('none');
    assert.equal(sample(asked('thisServer')), asked('thisServer'));
    assert.equal(sample(asked('thisServer'), { aggregate: true }), none);
    assert.equal(sample(asked('allServers')), none);
    assert.equal(sample(asked('thisServer'), { capabilities: { sampling: {} } }), none);
  });
});
