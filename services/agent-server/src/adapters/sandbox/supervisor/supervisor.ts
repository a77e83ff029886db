/**
 * The supervisor: the one resident process of a sandbox. It serves HTTP/2 over its standard input and output
 * and runs commands. The file imports nothing but Node, because it is stripped to JavaScript and mounted alone.
 *
 * It trusts the host and nobody else: commands are hostile. Where two uids can be had it is uid 0 of a user
 * namespace with SETUID, SETGID and KILL alone and commands are another uid, so that they can neither signal
 * it nor reach its descriptors.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { performServerHandshake } from 'node:http2';
import type { ServerHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import type { Readable } from 'node:stream';
import type {
  RequestFrameNumbers,
  ResponseFrameNumbers,
  WireCommand,
  WireCommandEnd,
} from '../wire/protocol.ts';

const requestFrames: RequestFrameNumbers = { start: 0, stdin: 1, stdinEnd: 2, kill: 3 };
const responseFrames: ResponseFrameNumbers = { stdout: 0, stderr: 1, end: 2 };
const frameHeaderBytes = 5;
const maxStartBytes = 2 * 1024 * 1024;
const maxPayloadBytes = 64 * 1024;

/** After the main process has exited, output of what it left in the background is awaited this long. */
const drainAfterExitMs = 100;

/** A background process that never stops talking does not hold the end back longer than this many looks. */
const maxDrainLooks = 20;

/** Variables by which a shell runs code before the command that was judged. */
const codeCarriers = new Set(['BASH_ENV', 'ENV', 'SHELLOPTS', 'BASHOPTS', 'ZDOTDIR']);

const baseEnvironment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/home/agent',
  USER: 'agent',
  LOGNAME: 'agent',
  SHELL: '/bin/bash',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
} as const;

/** The command's environment: ours, then the caller's without what carries code or cannot be a variable. */
function commandEnvironment(added: Readonly<Record<string, string>>): Record<string, string> {
  const environment: Record<string, string> = { ...baseEnvironment };
  for (const [name, value] of Object.entries(added)) {
    if (codeCarriers.has(name) || name.startsWith('BASH_FUNC_')) continue;
    if (name === '' || name.includes('=') || name.includes('\0') || value.includes('\0')) continue;
    environment[name] = value;
  }
  return environment;
}

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly zombie: boolean;
}

/** Every process of the pid namespace. A process that ends while being read is left out. */
function processTable(): ProcessRow[] {
  const rows: ProcessRow[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // the name in parentheses may hold anything, spaces and parentheses too
      const [state = '', parent = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      rows.push({ pid, parent: Number(parent), zombie: state === 'Z' || state === 'X' });
    } catch {
      continue; // gone since readdir
    }
  }
  return rows;
}

function sendKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return; // ESRCH: already gone, which is what was wanted
  }
}

/** Kills a command's process group and those of its descendants that moved to another group. */
function killTree(root: number): void {
  const rows = processTable();
  const doomed = new Set([root]);
  for (let grown = true; grown;) {
    grown = false;
    for (const row of rows) {
      if (!doomed.has(row.parent) || doomed.has(row.pid)) continue;
      doomed.add(row.pid);
      grown = true;
    }
  }
  sendKill(-root);
  for (const pid of doomed) sendKill(pid);
}

/**
 * Kills everything but PID 1 and this process: kill(-1) holds the kernel's task list, so a fork bomb cannot
 * outrun it, and it needs no process of its own.
 */
function killAll(): void {
  sendKill(-1);
}

function livingCommands(): number {
  return processTable().filter((row) => row.pid !== 1 && row.pid !== process.pid && !row.zombie).length;
}

/** Working directories that the supervisor may not enter (0700 of the command's user) are entered by a shell. */
function startedArgv(command: WireCommand): { file: string; args: string[]; cwd: string } {
  const [file = '', ...args] = command.argv;
  try {
    accessSync(command.cwd, constants.X_OK);
    return { file, args, cwd: command.cwd };
  } catch {
    const enter = 'cd -- "$0" || exit 126; exec "$@"';
    return { file: '/bin/sh', args: ['-c', enter, command.cwd, ...command.argv], cwd: '/' };
  }
}

function spawnCommand(command: WireCommand): ChildProcess {
  const { file, args, cwd } = startedArgv(command);
  return spawn(file, args, {
    cwd,
    env: commandEnvironment(command.env),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // own session and process group, so that one kill reaches all of it
    ...(command.switchUser ? { uid: command.uid, gid: command.gid } : {}),
  });
}

function frame(type: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeaderBytes + payload.length);
  bytes[0] = type;
  bytes.writeUInt32BE(payload.length, 1);
  bytes.set(payload, frameHeaderBytes);
  return bytes;
}

/** What a shell would say, with its exit codes 126 and 127. */
function startFailure(error: NodeJS.ErrnoException, command: WireCommand): { code: number; text: string } {
  const name = command.argv[0] ?? '';
  if (error.code === 'ENOENT') return { code: 127, text: `${name}: not found\n` };
  if (error.code === 'EAGAIN')
    return { code: 126, text: `${name}: not started, the sandbox has no process left\n` };
  return { code: 126, text: `${name}: not started (${error.code ?? error.message})\n` };
}

/** One command on one stream, from its start frame to its end frame. */
function runCommand(stream: ServerHttp2Stream, command: WireCommand): CommandControl {
  const startedAt = performance.now();
  let cause: WireCommandEnd['cause'] = 'exited';
  let outputBytes = 0;
  let droppedBytes = 0;
  let ended = false;
  let child: ChildProcess | undefined;

  const kill = (why: WireCommandEnd['cause']): void => {
    if (ended || child?.pid === undefined) return;
    if (cause === 'exited') cause = why;
    killTree(child.pid);
  };
  const timer = setTimeout(() => kill('timeout'), command.timeoutMs);

  const end = (exitCode: number | null, signal: string | null): void => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    const record: WireCommandEnd = {
      exitCode,
      signal,
      cause,
      durationMs: Math.round(performance.now() - startedAt),
      outputBytes,
      droppedBytes,
    };
    if (stream.destroyed) return;
    stream.end(frame(responseFrames.end, Buffer.from(JSON.stringify(record))));
  };

  const pass = (type: number, source: Readable): void => {
    source.on('error', () => source.destroy());
    source.on('data', (chunk: Buffer) => {
      if (ended || stream.destroyed) return; // drained and dropped, so that a background process never blocks
      const room = Math.max(0, command.maxOutputBytes - outputBytes);
      const kept = chunk.subarray(0, room);
      outputBytes += kept.length;
      droppedBytes += chunk.length - kept.length;
      for (let at = 0; at < kept.length; at += maxPayloadBytes) {
        if (stream.write(frame(type, kept.subarray(at, at + maxPayloadBytes)))) continue;
        source.pause();
        stream.once('drain', () => source.resume());
      }
    });
  };

  const fail = (error: NodeJS.ErrnoException): void => {
    const { code, text } = startFailure(error, command);
    if (!ended && !stream.destroyed) stream.write(frame(responseFrames.stderr, Buffer.from(text)));
    end(code, null);
  };

  try {
    child = spawnCommand(command);
  } catch (error) {
    fail(error as NodeJS.ErrnoException);
    return { kill, stdin: null };
  }
  const running = child;
  running.on('error', fail);
  if (running.pid === undefined) return { kill, stdin: null };
  if (running.stdout !== null) pass(responseFrames.stdout, running.stdout);
  if (running.stderr !== null) pass(responseFrames.stderr, running.stderr);
  running.stdin?.on('error', () => running.stdin?.destroy()); // EPIPE: it does not read what it was given
  running.on('close', end);
  running.on('exit', (exitCode, signal) => {
    running.stdin?.destroy();
    if (cause !== 'exited') killTree(running.pid ?? 0);
    awaitQuiet(running, () => end(exitCode, signal));
  });
  stream.on('close', () => {
    kill('canceled');
    running.stdout?.resume();
    running.stderr?.resume();
  });
  return { kill, stdin: running.stdin };
}

/**
 * A background process may hold the pipes for ever: waits until no output came for a while. A reader that
 * stalls (a paused pipe) is waited for, since what it holds back was written before the exit.
 */
function awaitQuiet(child: ChildProcess, done: () => void): void {
  let seen = -1;
  let looks = 0;
  const look = (): void => {
    const read = (child.stdout?.readableLength ?? 0) + (child.stderr?.readableLength ?? 0);
    const paused = child.stdout?.isPaused() === true || child.stderr?.isPaused() === true;
    if (!paused && read === 0 && seen === counter.bytes) return done();
    if (!paused) looks += 1;
    if (looks > maxDrainLooks) return done();
    seen = counter.bytes;
    setTimeout(look, drainAfterExitMs);
  };
  const counter = { bytes: 0 };
  const count = (chunk: Buffer): void => {
    counter.bytes += chunk.length;
  };
  child.stdout?.on('data', count);
  child.stderr?.on('data', count);
  setTimeout(look, drainAfterExitMs);
}

interface CommandControl {
  kill(why: WireCommandEnd['cause']): void;
  readonly stdin: ChildProcess['stdin'];
}

/** Reads the host's frames of one command stream. The host is trusted, a length past the bound is still refused. */
function serveCommand(stream: ServerHttp2Stream): void {
  let held: Buffer = Buffer.alloc(0);
  let control: CommandControl | undefined;
  stream.respond({ ':status': 200 });
  const handlers: Record<number, (payload: Buffer) => void> = {
    [requestFrames.start]: (payload) => {
      control ??= runCommand(stream, JSON.parse(payload.toString('utf8')) as WireCommand);
    },
    [requestFrames.stdin]: (payload) => {
      const stdin = control?.stdin;
      if (!stdin?.writable || stdin.write(payload)) return;
      stream.pause();
      const go = (): void => {
        stream.resume();
      };
      stdin.once('drain', go);
      stdin.once('close', go);
    },
    [requestFrames.stdinEnd]: () => control?.stdin?.end(),
    [requestFrames.kill]: () => control?.kill('canceled'),
  };
  stream.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= frameHeaderBytes) {
      const length = held.readUInt32BE(1);
      if (length > maxStartBytes) return stream.close();
      if (held.length < frameHeaderBytes + length) return;
      const payload = held.subarray(frameHeaderBytes, frameHeaderBytes + length);
      const handle = handlers[held[0] ?? -1];
      held = held.subarray(frameHeaderBytes + length);
      handle?.(payload);
    }
  });
}

/** Answers once nothing but PID 1 and the supervisor lives; the host's deadline bounds it. */
function serveKillCommands(stream: ServerHttp2Stream): void {
  const step = (): void => {
    if (stream.destroyed) return;
    killAll();
    if (livingCommands() > 0) {
      setTimeout(step, 5);
      return;
    }
    stream.respond({ ':status': 200 }, { endStream: true });
  };
  step();
}

const routes: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
  '/ping': (stream) => stream.respond({ ':status': 200 }, { endStream: true }),
  '/commands': serveCommand,
  '/kill-commands': serveKillCommands,
};

function main(): void {
  process.umask(0o022);
  const leave = (): never => process.exit(0);
  // TERM of the outside world ends the sandbox by its wire; nothing inside may do it
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)
    process.on(signal, () => undefined);
  const wire = Duplex.from({ readable: process.stdin, writable: process.stdout });
  const session = performServerHandshake(wire, {
    settings: { maxConcurrentStreams: 100, initialWindowSize: 256 * 1024, maxFrameSize: maxPayloadBytes },
    maxSessionMemory: 64,
  });
  session.on('stream', (stream, headers) => {
    stream.on('error', () => stream.destroy());
    const route = routes[String(headers[':path'])];
    if (route === undefined) return stream.respond({ ':status': 404 }, { endStream: true });
    route(stream);
  });
  session.on('error', leave);
  session.on('close', leave);
  wire.on('error', leave);
  wire.on('close', leave);
  process.stdin.on('end', leave);
}

main();
