// Does the source keep to the layering? Reads the imports of every service and checks who may know whom (style §3.4).

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

interface Import {
  /** Relative ones resolved to paths from the root: `services/gateway/src/errors.ts`. */
  readonly to: string;
  /** `import type`: gone at run time. */
  readonly types: boolean;
}

interface Source {
  /** `services/gateway/src/route/answer.ts` */
  readonly path: string;
  readonly service: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

const STATEMENT =
  /(?:^|\n)\s*(?:import|export)\b([^;'"]*?)from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g;

function importsOf(path: string, text: string): Import[] {
  return [...text.matchAll(STATEMENT)].map((match) => {
    const specifier = (match[2] ?? match[3] ?? match[4])!;
    const to = specifier.startsWith('.') ? join(dirname(path), specifier) : specifier;
    return { to, types: (match[1] ?? '').trimStart().startsWith('type ') };
  });
}

const sources: readonly Source[] = globSync('services/*/src/**/*.ts', { cwd: ROOT }).map((found) => {
  const path = relative(ROOT, join(ROOT, found));
  const text = readFileSync(join(ROOT, path), 'utf8');
  return { path, service: path.split('/')[1]!, text, imports: importsOf(path, text) };
});

const of = (service: string) => sources.filter((source) => source.service === service);

function offenders(files: readonly Source[], bad: (made: Import, source: Source) => boolean): string[] {
  return files.flatMap((source) =>
    source.imports.filter((made) => bad(made, source)).map(({ to }) => `${source.path} imports ${to}`),
  );
}

const inside = (specifier: string, service: string) =>
  specifier.startsWith(`@lockkeeper/${service}/`) || specifier.startsWith(`services/${service}/`);

const WORKSPACES: Readonly<Record<string, readonly string[]>> = {
  protocol: ['protocol'],
  state: ['state', 'protocol'],
  gateway: ['gateway', 'state', 'protocol'],
  'pool-manager': ['pool-manager', 'state', 'protocol'],
  standalone: ['standalone', 'gateway', 'pool-manager', 'state', 'protocol'],
};

/** No value of the right is known below the left; types may be. */
const BLIND: readonly (readonly [string, RegExp])[] = [
  ['services/protocol/src/jsonrpc/', /services\/protocol\/src\/(mcp|link|config)\//],
  ['services/protocol/src/json/', /services\/protocol\/src\/(jsonrpc|mcp|link|config|framing)\//],
  ['services/protocol/src/mcp/', /services\/protocol\/src\/(link|config|framing)\//],
  ['services/protocol/src/framing/', /services\/protocol\/src\/(mcp|link|config|jsonrpc)\//],
  ['services/gateway/src/policy/decide', /^(?!services\/|@lockkeeper\/)/],
  ['services/pool-manager/src/pool/size', /^node:/],
];

describe('the layering', () => {
  it('has something to look at', () => {
    assert.ok(sources.length > 20);
    assert.ok(sources.some(({ imports }) => imports.length > 0));
  });

  for (const [service, known] of Object.entries(WORKSPACES)) {
    it(`${service} knows only ${known.join(', ')}`, () => {
      const foreign = Object.keys(WORKSPACES).filter((other) => !known.includes(other));
      assert.deepEqual(
        offenders(of(service), ({ to }) => foreign.some((other) => inside(to, other))),
        [],
      );
    });
  }

  it('protocol imports nothing from outside itself', () => {
    assert.deepEqual(
      offenders(of('protocol'), ({ to }) => !to.startsWith('services/protocol/src/')),
      [],
    );
  });

  for (const [folder, unknown] of BLIND) {
    it(`${folder} does not know ${unknown.source}`, () => {
      const files = sources.filter(({ path }) => path.startsWith(folder));
      assert.deepEqual(
        offenders(files, ({ to, types }) => !types && unknown.test(to)),
        [],
      );
    });
  }

  it('crosses workspaces by their names, and stays inside one by paths', () => {
    const wrong = offenders(
      sources,
      ({ to }, { service }) =>
        (to.startsWith('services/') && !inside(to, service)) || to.startsWith(`@lockkeeper/${service}/`),
    );
    assert.deepEqual(wrong, []);
  });

  it('names files in relative imports with .ts', () => {
    assert.deepEqual(
      offenders(sources, ({ to }) => to.startsWith('services/') && !to.endsWith('.ts')),
      [],
    );
  });

  it('has no barrels: no index.ts and no file that only exports from others', () => {
    const barrels = sources.filter(({ path, text }) => {
      if (basename(path) === 'index.ts') return true;
      const code = text.replace(/\/\/.*$|\/\*[\s\S]*?\*\//gm, '').trim();
      return code !== '' && code.replace(/export\s+(type\s+)?(\*|\{[^}]*\})[^;]*from\s+'[^']+';/g, '').trim() === '';
    });
    assert.deepEqual(
      barrels.map(({ path }) => path),
      [],
    );
  });

  it('has no drawers', () => {
    const drawer = /\/(utils?|helpers?|common|shared|lib|misc|core)(\/|\.ts$)/;
    assert.deepEqual(
      sources.filter(({ path }) => drawer.test(path)).map(({ path }) => path),
      [],
    );
  });

  it('reads the environment only where configuration is loaded, in mains and command-line programs', () => {
    const may = /services\/[^/]+\/src\/(main\.ts|process\/run\.ts|config\/|cli\/|.*-cli\.ts)/;
    const readers = sources.filter(({ path, text }) => /process\.env\b/.test(text) && !may.test(path));
    assert.deepEqual(
      readers.map(({ path }) => path),
      [],
    );
  });

  it('splits files at four hundred lines', () => {
    const long = sources.filter(({ text }) => text.split('\n').length > 400).map(({ path }) => path);
    assert.deepEqual(long, []);
  });

  it('finds no circle between files', () => {
    const known = new Map(sources.map((source) => [source.path, source]));
    const state = new Map<string, 'open' | 'done'>();
    const circles: string[] = [];
    const visit = (path: string, trail: readonly string[]): void => {
      if (state.get(path) === 'done') return;
      if (state.get(path) === 'open') {
        circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
        return;
      }
      state.set(path, 'open');
      for (const { to, types } of known.get(path)?.imports ?? []) {
        if (known.has(to) && !types) visit(to, [...trail, path]);
      }
      state.set(path, 'done');
    };
    for (const { path } of sources) visit(path, []);
    assert.deepEqual(circles, []);
  });
});
