// What `npm start` and `npm test` run: any Node from 18 on, nothing installed. Installs the dependencies when they are
// missing, then hands over to the Node that came with them, so that nobody has to have that one on PATH.
//
//   node ops/dev/run.mjs start [--config FILE]     Lockkeeper, standalone; without a file the demo
//   node ops/dev/run.mjs test [FILE…]              every test, or the named files
//   node ops/dev/run.mjs FILE [ARGUMENT…]          any other program of this repository
//
// Kept to what very old Nodes can parse: they, too, shall get the sentence below and no stack.

// biome-ignore lint/style/useNodejsImportProtocol: Node 12 knows no `node:` names.
import { spawn, spawnSync } from 'child_process';
// biome-ignore lint/style/useNodejsImportProtocol: as above.
import { existsSync, readFileSync, unlinkSync, writeFileSync } from 'fs';
// biome-ignore lint/style/useNodejsImportProtocol: as above.
import { delimiter, dirname, join } from 'path';
// biome-ignore lint/style/useNodejsImportProtocol: as above.
import { fileURLToPath } from 'url';

const OLDEST = 18;
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const MODULES = join(ROOT, 'node_modules');
const NODE = join(MODULES, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
/** Sizes of V8's spaces, as measured (ops/decisions): for whatever runs a service. */
const NODE_OPTIONS = join(ROOT, 'ops', 'node-options.json');
const LOCK = join(ROOT, '.install.lock');
const DEMO = join('ops', 'dev', 'demo.yaml');
const TESTS = ['services/*/test/**/*.test.ts', 'test/**/*.test.ts'];

function giveUp(sentence) {
  console.error(sentence);
  process.exit(1);
}

function checkNode() {
  if (Number(process.versions.node.split('.')[0]) >= OLDEST) return;
  giveUp(
    `This is Node ${process.versions.node}, but installing Lockkeeper takes Node ${OLDEST} or later: install one from nodejs.org and try again.`,
  );
}

function isInstalled() {
  return existsSync(join(MODULES, '.package-lock.json'));
}

/** Two at once would take each other's files away: one installs, others wait until it has ended. */
function install() {
  let told = false;
  while (!isInstalled() || existsSync(LOCK)) {
    const holder = takeLock();
    if (holder === null) {
      if (!isInstalled()) installNow();
      dropLock();
      return;
    }
    if (!told && holder > 0) {
      console.error(`Dependencies are being installed by process ${holder}: waiting for it.`);
      told = true;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  }
}

/** Null: it is ours. Else the process that has it; a lock whose process is no more is taken away. */
function takeLock() {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
    return null;
  } catch (error) {
    if (error.code !== 'EEXIST') giveUp(`${LOCK} cannot be written (${error.code}): run \`npm ci\` yourself.`);
  }
  let holder = 0;
  try {
    holder = Number(readFileSync(LOCK, 'utf8'));
    // Just made, and not written yet.
    if (holder > 0) process.kill(holder, 0);
  } catch (error) {
    if (error.code === 'ESRCH') dropLock();
  }
  return holder;
}

function dropLock() {
  try {
    unlinkSync(LOCK);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

function installNow() {
  console.error('Dependencies are missing: running `npm ci` once, this takes a minute.');
  const npm = process.env.npm_execpath;
  const done = npm
    ? spawnSync(process.execPath, [npm, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
        cwd: ROOT,
        stdio: ['ignore', 2, 2],
      })
    : spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
        cwd: ROOT,
        stdio: ['ignore', 2, 2],
        shell: process.platform === 'win32',
      });
  if (done.error)
    giveUp(`npm could not be run (${done.error.message}): install npm, or run \`npm ci\` in ${ROOT} yourself.`);
  if (done.status !== 0) giveUp('`npm ci` failed, see above; nothing was started.');
}

function checkInstalled() {
  if (existsSync(NODE)) return;
  giveUp(
    'Node 24 is not in node_modules: install scripts were probably switched off. Run `npm rebuild node`, or `npm ci` with scripts allowed.',
  );
}

function argumentsFor(what, rest) {
  if (what === 'start') {
    const configured = process.env.LOCKKEEPER_CONFIG !== undefined || rest.some((word) => word.startsWith('--config'));
    const options = JSON.parse(readFileSync(NODE_OPTIONS, 'utf8'));
    return [...options, 'services/standalone/src/main.ts', ...(configured ? [] : ['--config', DEMO]), ...rest];
  }
  if (what === 'test') {
    // Two files at a time: most of a test is waiting for processes, and more of them would starve each other.
    // With a state file the runner leaves out what passed in an earlier run of the same list (.ci/run).
    const again = process.env.TEST_RERUN_STATE ? [`--test-rerun-failures=${process.env.TEST_RERUN_STATE}`] : [];
    return ['--test', '--test-timeout=180000', '--test-concurrency=2', ...again, ...(rest.length > 0 ? rest : TESTS)];
  }
  return [what, ...rest];
}

/** The child's ending becomes ours; a terminal's Ctrl-C reaches it by itself, other signals are handed on. */
function handOver(args) {
  const path = [dirname(NODE), join(MODULES, '.bin'), process.env.PATH || ''].join(delimiter);
  const child = spawn(NODE, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, PATH: path } });
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT');
  });
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', (error) => giveUp(`${NODE} could not be run: ${error.message}`));
  child.on('exit', (code, signal) => process.exit(signal ? 1 : code));
}

const [what, ...rest] = process.argv.slice(2);
if (what === undefined) giveUp('Say what to run: start, test, or a file.');
checkNode();
install();
checkInstalled();
handOver(argumentsFor(what, rest));
