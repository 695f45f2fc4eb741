// What happens when the file, or a file it refers to, changes under a running process?

import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Snapshot } from '@lockkeeper/protocol/config/settings';
import { eventually } from '../../../../test/harness/eventually.ts';
import { ConfigError, type ConfigFault } from '../../src/config/faults.ts';
import { type WatchedConfig, type WatchOptions, watchConfig } from '../../src/config/watch.ts';
import { type Folder, makeFolder, openConfig } from './sample.ts';

const HOLD = (ms: number) => openConfig(`limits: { holdMs: ${ms} }\n`);

describe('a running configuration', () => {
  let folder: Folder;
  let config: WatchedConfig;
  let faults: ConfigFault[][];
  let restarts: string[][];
  let changes: [Snapshot, Snapshot][];

  beforeEach(() => {
    folder = makeFolder();
    faults = [];
    restarts = [];
    changes = [];
  });
  afterEach(() => {
    config.close();
    folder.remove();
  });

  function open(path: string, options: Partial<WatchOptions> = {}): void {
    config = watchConfig(path, {
      env: {},
      onFaults: (all) => faults.push([...all]),
      onRestartNeeded: (settings) => restarts.push([...settings]),
      pollMs: 50,
      settleMs: 10,
      ...options,
    });
    config.onChange((next, previous) => changes.push([next, previous]));
  }

  test('a bad file at the start is an error with its faults', () => {
    folder.write('c.yaml', openConfig());
    open(folder.file('c.yaml'));
    folder.write('bad.yaml', 'a: 1\n');
    const none: WatchOptions = { env: {}, onFaults: () => assert.fail(), onRestartNeeded: () => assert.fail() };
    assert.throws(() => watchConfig(folder.file('bad.yaml'), none), ConfigError);
  });

  test('a changed file is a new snapshot, told with the one before', async () => {
    open(folder.write('c.yaml', HOLD(1)));
    const first = config.current();
    folder.write('c.yaml', HOLD(2));
    await eventually(() => changes.length === 1);
    const [next, previous] = changes[0]!;
    assert.equal(previous, first);
    assert.equal(next, config.current());
    assert.equal(next.limits.holdMs, 2);
    assert.equal(first.limits.holdMs, 1);
    assert.notEqual(next.version, first.version);
  });

  test('the same settings in other words are no change', async () => {
    open(folder.write('c.yaml', HOLD(1)));
    folder.write('c.yaml', `# touched\n${HOLD(1)}`);
    config.reload();
    folder.write('c.yaml', HOLD(2));
    await eventually(() => changes.length === 1);
    assert.equal(changes[0]![0].limits.holdMs, 2);
  });

  test('what is read while a file is being written is no fault', async () => {
    open(folder.write('c.yaml', HOLD(1)));
    folder.write('c.yaml', '');
    config.reload();
    folder.write('c.yaml', openConfig('limits: { holdMs: -1 }\n'));
    await eventually(() => faults.length === 1);
    assert.deepEqual(
      faults.map((all) => all.map(({ words }) => words)),
      [['limits.holdMs must be 0 or more']],
    );
  });

  test('a bad file keeps the last good one, tells every fault once, and a good one heals', async () => {
    open(folder.write('c.yaml', HOLD(1)));
    folder.write('c.yaml', openConfig('limits: { holdMs: -1, nothing: 1 }\n'));
    await eventually(() => faults.length === 1);
    assert.deepEqual(
      faults[0]!.map(({ line }) => line),
      [5, 5],
    );
    config.reload();
    config.reload();
    assert.equal(faults.length, 1);
    assert.equal(config.current().limits.holdMs, 1);
    assert.equal(changes.length, 0);
    folder.write('c.yaml', HOLD(3));
    await eventually(() => changes.length === 1);
    assert.equal(config.current().limits.holdMs, 3);
    folder.write('c.yaml', openConfig('limits: { holdMs: -1, nothing: 1 }\n'));
    await eventually(() => faults.length === 2);
  });

  test('a file that is gone keeps the last good one, and is taken when it is back', async () => {
    open(folder.write('c.yaml', HOLD(1)));
    rmSync(folder.file('c.yaml'));
    await eventually(() => faults.length === 1);
    assert.match(faults[0]![0]!.words, /does not exist/);
    folder.write('c.yaml', HOLD(2));
    await eventually(() => changes.length === 1);
  });

  test('a file that an editor replaces is seen', async () => {
    open(folder.write('c.yaml', HOLD(1)));
    renameSync(folder.write('c.yaml.tmp', HOLD(2)), folder.file('c.yaml'));
    await eventually(() => config.current().limits.holdMs === 2);
  });

  test('a symlink that is swapped in the folder above is seen', async () => {
    mkdirSync(folder.file('..1'));
    mkdirSync(folder.file('..2'));
    folder.write('..1/c.yaml', HOLD(1));
    folder.write('..2/c.yaml', HOLD(2));
    symlinkSync('..1', folder.file('..data'));
    symlinkSync(join('..data', 'c.yaml'), folder.file('c.yaml'));
    open(folder.file('c.yaml'));
    symlinkSync('..2', folder.file('..data_tmp'));
    renameSync(folder.file('..data_tmp'), folder.file('..data'));
    await eventually(() => config.current().limits.holdMs === 2);
  });

  test('without a watch, looking now and then is enough', async () => {
    mkdirSync(folder.file('elsewhere'));
    folder.write('elsewhere/c.yaml', HOLD(1));
    symlinkSync(folder.file('elsewhere/c.yaml'), folder.file('c.yaml'));
    // The folder of the link is watched; what changes lies in another.
    open(folder.file('c.yaml'));
    folder.write('elsewhere/c.yaml', HOLD(2));
    await eventually(() => config.current().limits.holdMs === 2);
  });

  test('a changed secret file is a new snapshot, and a new digest of its server', async () => {
    folder.write('secrets/token', 'one');
    const text = openConfig().replace('command: node', 'command: node, env: { T: "${file:secrets/token}" }');
    open(folder.write('c.yaml', text));
    const before = config.current().servers.get('acme/one')!;
    folder.write('secrets/token', 'two');
    await eventually(() => changes.length === 1);
    const now = config.current().servers.get('acme/one')!;
    assert.deepEqual([before.stdio?.env.T, now.stdio?.env.T], ['one', 'two']);
    assert.notEqual(now.digest, before.digest);
  });

  test('a secret file that was missing heals the configuration when it comes', async () => {
    open(folder.write('c.yaml', HOLD(1)));
    folder.write('c.yaml', openConfig().replace('command: node', 'command: node, env: { T: "${file:later}" }'));
    await eventually(() => faults.length === 1);
    folder.write('later', 'here');
    await eventually(() => changes.length === 1);
    assert.equal(config.current().servers.get('acme/one')!.stdio?.env.T, 'here');
  });

  test('what needs a restart is named, once, and the snapshot tells what runs', async () => {
    const secret = (c: string) => c.repeat(32);
    open(folder.write('c.yaml', openConfig(`link: { secret: ${secret('a')} }\n`)));
    folder.write(
      'c.yaml',
      openConfig(
        `listen: { port: 1, allowedHosts: [h] }\nstate: redis://r\nlink: { secret: ${secret('b')}, port: 2 }\nlimits: { holdMs: 9 }\n`,
      ),
    );
    await eventually(() => changes.length === 1);
    config.reload();
    assert.deepEqual(restarts, [['listen.port', 'state', 'link.port', 'link.secret']]);
    const { listen, state, link, limits } = config.current();
    assert.deepEqual([listen.port, state.kind, link.port, link.secret], [8080, 'memory', 9180, secret('a')]);
    assert.deepEqual([listen.allowedHosts, limits.holdMs], [['h'], 9]);
  });

  test('open mode is refused while the bound address is not loopback, whatever the file says now', async () => {
    folder.write('jwks.json', '{"keys":[]}');
    const jwt = openConfig('listen: { host: 0.0.0.0 }\npublicBaseUrl: https://a\n').replace(
      'mode: open',
      'mode: jwt, issuers: [{ issuer: i, jwksFile: jwks.json, tenants: [acme] }]',
    );
    open(folder.write('c.yaml', jwt));
    folder.write('c.yaml', openConfig());
    await eventually(() => faults.length === 1);
    assert.match(faults[0]![0]!.words, /running address 0\.0\.0\.0.*restart/);
    assert.equal(config.current().auth.mode, 'jwt');
  });

  test('a listener that throws does not keep the others from hearing, and one that left hears nothing', async () => {
    const errors: unknown[] = [];
    open(folder.write('c.yaml', HOLD(1)), { onListenerError: (error) => errors.push(error) });
    const heard: number[] = [];
    config.onChange(() => {
      throw new Error('mine');
    });
    const leave = config.onChange(() => heard.push(0));
    config.onChange((next) => heard.push(next.limits.holdMs));
    leave();
    folder.write('c.yaml', HOLD(2));
    await eventually(() => heard.length > 0);
    assert.deepEqual(heard, [2]);
    assert.equal(errors.length, 1);
  });
});
