// What `npm start`, `npm test`, `npm run gate` and `npm run bench` share: plain JavaScript that a bare Node 20 runs
// before anything is installed. It installs what package-lock.json names and hands over to the Node 24 in there.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const projectRoot = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const launchedAt = String(Date.now());
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs a TypeScript file of the project under Node 24 with this process' arguments; ends with its exit code.
 * @param {string} script from the project root
 */
export function launch(script) {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 20) fail(`Node 20 or newer is needed, and this is ${process.version}. Install a newer Node.`);
  installWhenChanged();
  const node = join(projectRoot, `node_modules/node-${process.platform}-${process.arch}/bin/node`);
  if (!existsSync(node))
    fail(`node_modules has no Node 24 for ${process.platform}-${process.arch}. Use Linux on x64 or arm64.`);
  handOver(node, [join(projectRoot, script), ...process.argv.slice(2)]);
}

/** `npm ci` when node_modules is not what package-lock.json says. */
function installWhenChanged() {
  const lockFile = join(projectRoot, 'package-lock.json');
  const stamp = join(projectRoot, 'node_modules/.lemniscate-installed');
  const digest = createHash('sha256').update(readFileSync(lockFile)).digest('hex');
  if (existsSync(stamp) ? readFileSync(stamp, 'utf8') === digest : installedByHand(lockFile)) return;
  process.stderr.write('installing the dependencies (npm ci)\n');
  // npm must not run under the Node in node_modules, which it deletes first
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const result = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: projectRoot,
    env: { ...process.env, PATH: path.join(delimiter) },
    // what npm says is set-up: it goes to stderr, so that stdout holds the result alone
    stdio: ['ignore', 2, 2],
  });
  if (result.error) fail(`npm could not be run: ${result.error.message}. Install npm.`);
  if (result.status !== 0) fail('npm ci failed; what it said stands above.');
  writeFileSync(stamp, digest);
}

/** npm's own record of what it installed is younger than the lock after an `npm ci` by hand. */
function installedByHand(lockFile) {
  const record = join(projectRoot, 'node_modules/.package-lock.json');
  return existsSync(record) && statSync(record).mtimeMs >= statSync(lockFile).mtimeMs;
}

/** Starts Node 24 so that it stops in order when we are ended, however that happens, and ends as it ends. */
function handOver(node, args) {
  const deathSignal = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'TERM', '--'] : [];
  const [command, ...rest] = [...deathSignal, node, ...args];
  // npm puts its programs first in the path; started without npm we do
  const path = `${join(projectRoot, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`;
  const env = {
    ...process.env,
    PATH: path,
    // compiled, type-stripped modules are kept: a second start used 2.6 s of processor time instead of 3.7
    NODE_COMPILE_CACHE: join(projectRoot, 'node_modules/.cache/lemniscate'),
    LEMNISCATE_LAUNCHED_AT: launchedAt,
  };
  const child = spawn(command, rest, { stdio: 'inherit', env });
  const forward = (signal) => child.kill(signal);
  for (const signal of stopSignals) process.on(signal, forward);
  stopWithNpm(() => child.kill('SIGTERM'));
  child.on('error', (error) => fail(`${command} could not be started: ${error.message}`));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    for (const name of stopSignals) process.off(name, forward);
    process.kill(process.pid, signal);
  });
}

/** An npm that was killed tells nobody: its going shows as another parent, of us or of the shell in between. */
function stopWithNpm(stop) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const shell = process.ppid;
  const npm = parentOf(shell);
  const isGone = () => process.ppid !== shell || (isShell(shell) && parentOf(shell) !== npm);
  setInterval(() => isGone() && stop(), 500).unref();
}

function isShell(pid) {
  return /^(\S*\/)?(da|ba)?sh\0-c\0/.test(readProc(pid, 'cmdline'));
}

function parentOf(pid) {
  const stat = readProc(pid, 'stat');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
}

/** A process that is gone, or a system without /proc, reads as empty. */
function readProc(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
