/**
 * The supervisor: the one resident process of a sandbox. It serves HTTP/2 over its standard input and output
 * and runs commands. It and its neighbours `loopback.ts`, `pausable-timer.ts`, `process-tree.ts` and `transport.ts` import nothing but Node, because they are stripped to JavaScript, joined and
 * mounted as one file.
 *
 * It trusts the host and nobody else: commands are hostile. Where two uids can be had it is uid 0 of a user
 * namespace with SETUID, SETGID and KILL alone and commands are another uid, so that they can neither signal
 * it nor reach its descriptors.
 */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import { performServerHandshake } from 'node:http2';
import type { ServerHttp2Stream } from 'node:http2';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { serveConnection, serveLoopback } from './loopback.ts';
import { startPausableTimer } from './pausable-timer.ts';
import type { PausableTimer } from './pausable-timer.ts';
import {
  beginCommand,
  continueAll,
  endCommand,
  killCommand,
  processTable,
  sendKill,
  stopAll,
} from './process-tree.ts';
import { joinPipes } from './transport.ts';
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

/** Drops what carries code and what cannot be a variable. */
function cleanEnvironment(given: Readonly<Record<string, string>>): Record<string, string> {
  const carriesCode = (name: string): boolean => codeCarriers.has(name) || name.startsWith('BASH_FUNC_');
  const possible = (name: string, value: string): boolean =>
    name !== '' && !name.includes('=') && !name.includes('\0') && !value.includes('\0');
  return Object.fromEntries(
    Object.entries(given).filter(([name, value]) => possible(name, value) && !carriesCode(name)),
  );
}

/** Working directories that the supervisor may not enter (0700 of the command's user) are entered by a shell. */
function startedArgv(command: WireCommand): { file: string; args: string[]; cwd: string } {
  const [file = '', ...args] = command.argv;
  try {
    fs.accessSync(command.cwd, fs.constants.X_OK);
    return { file, args, cwd: command.cwd };
  } catch {
    const enter = 'cd -- "$0" || exit 126; exec "$@"';
    return { file: '/bin/sh', args: ['-c', enter, command.cwd, ...command.argv], cwd: '/' };
  }
}

/**
 * Pipes, made ahead. Node gives children sockets, and opening /dev/stdout or /dev/stderr again, which scripts
 * do, fails on a socket (ENXIO). Node can make no pipe, so `mkfifo` makes 24 at a time in a folder of our own.
 */
const privateFolder = '/run/lemniscate/private';
const pipePool: string[] = [];
let filesMade = 0;

function newPath(): string {
  filesMade += 1;
  return `${privateFolder}/${filesMade}`;
}

/** In the background while some are left; a failure shows itself when the pool is empty. */
function topUpPipes(): void {
  if (pipePool.length > 8) return;
  const names = Array.from({ length: 24 }, newPath);
  const maker = spawn('mkfifo', ['-m', '666', ...names], { stdio: 'ignore' });
  maker.on('error', () => undefined);
  maker.on('exit', (code) => code === 0 && pipePool.push(...names));
}

/** Our end, and the one that the command writes to; each is opened by itself, so that only ours never blocks. */
function takePipe(): { ours: Socket; theirs: number } {
  if (pipePool.length === 0) {
    const names = Array.from({ length: 24 }, newPath);
    const made = spawnSync('mkfifo', ['-m', '666', ...names], { stdio: 'ignore' });
    if (made.status !== 0) throw Object.assign(new Error('no pipe'), { code: 'EAGAIN' });
    pipePool.push(...names);
  }
  const path = pipePool.pop() ?? '';
  const reader = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  const theirs = fs.openSync(path, fs.constants.O_WRONLY);
  fs.unlinkSync(path);
  return { ours: new Socket({ fd: reader, readable: true, writable: false }), theirs };
}

/**
 * Standard input is a nameless file: a FIFO whose writer has gone would hang whoever opens /dev/stdin again.
 * Opened twice, because commands must not write into it.
 */
function createStdin(): { append(bytes: Buffer): void; finish(): number } {
  const path = newPath();
  const writer = fs.openSync(path, 'wx', 0o644);
  const reader = fs.openSync(path, 'r');
  fs.unlinkSync(path);
  return {
    append: (bytes) => void fs.writeSync(writer, bytes),
    finish() {
      fs.closeSync(writer);
      return reader;
    },
  };
}

/** A file that is whole, nothing, or a pipe that the host goes on writing to. */
type Stdin = number | 'ignore' | 'pipe';

interface Started {
  readonly child: ChildProcess;
  readonly outputs: readonly [Socket, Socket];
}

function spawnCommand(command: WireCommand, stdin: Stdin): Started {
  const { file, args, cwd } = startedArgv(command);
  const [stdout, stderr] = [takePipe(), takePipe()];
  try {
    const child = spawn(file, args, {
      cwd,
      env: cleanEnvironment(command.env),
      stdio: [stdin, stdout.theirs, stderr.theirs],
      detached: true, // own session and process group, so that one kill reaches all of it
      ...(command.switchUser ? { uid: command.uid, gid: command.gid } : {}),
    });
    return { child, outputs: [stdout.ours, stderr.ours] };
  } finally {
    fs.closeSync(stdout.theirs);
    fs.closeSync(stderr.theirs);
    topUpPipes();
  }
}

function frame(type: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeaderBytes + payload.length);
  bytes[0] = type;
  bytes.writeUInt32BE(payload.length, 1);
  bytes.set(payload, frameHeaderBytes);
  return bytes;
}

/** What a shell would say, with its exit codes. */
function startFailure(error: NodeJS.ErrnoException, command: WireCommand): { code: number; text: string } {
  const name = command.argv[0] ?? '';
  if (error.code === 'ENOENT') return { code: 127, text: `${name}: not found\n` };
  if (error.code === 'EAGAIN')
    return { code: 126, text: `${name}: not started, the sandbox has no process left\n` };
  return { code: 126, text: `${name}: not started (${error.code ?? error.message})\n` };
}

interface Running {
  readonly kill: (why: WireCommandEnd['cause']) => void;
  /** Live standard input: written as it comes, at the pace of the command. */
  readonly input: Writable | null;
}

/** The times that commands under way have left. */
const deadlines = new Set<PausableTimer>();

/** One command on one stream, from its start frame to its end frame. */
function runCommand(stream: ServerHttp2Stream, command: WireCommand, stdin: Stdin): Running {
  const startedAt = performance.now();
  let cause: WireCommandEnd['cause'] = 'exited';
  let outputBytes = 0;
  let droppedBytes = 0;
  let ended = false;
  let child: ChildProcess | undefined;

  const kill = (why: WireCommandEnd['cause']): void => {
    if (ended || child?.pid === undefined) return;
    if (cause === 'exited') cause = why;
    killCommand(child.pid);
  };
  const deadline = startPausableTimer(command.timeoutMs, () => kill('timeout'));
  deadlines.add(deadline);

  const end = (exitCode: number | null, signal: string | null): void => {
    if (ended) return;
    ended = true;
    deadline.clear();
    deadlines.delete(deadline);
    if (child?.pid !== undefined) endCommand(child.pid);
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

  const pass = (type: number, source: Socket): void => {
    source.on('error', () => source.destroy());
    source.on('data', (chunk: Buffer) => {
      if (ended || stream.destroyed) return; // drained and dropped, so that a background process never blocks
      const room = Math.max(0, command.maxOutputBytes - outputBytes);
      const kept = chunk.subarray(0, room);
      outputBytes += kept.length;
      droppedBytes += chunk.length - kept.length;
      if (kept.length === 0 || stream.write(frame(type, kept))) return;
      source.pause();
      stream.once('drain', () => source.resume());
    });
  };

  const fail = (error: NodeJS.ErrnoException): void => {
    const { code, text } = startFailure(error, command);
    if (!ended && !stream.destroyed) stream.write(frame(responseFrames.stderr, Buffer.from(text)));
    end(code, null);
  };

  let started: Started;
  try {
    started = spawnCommand(command, stdin);
  } catch (error) {
    fail(error as NodeJS.ErrnoException);
    return { kill, input: null };
  }
  const { outputs } = started;
  child = started.child;
  child.on('error', fail);
  if (child.pid !== undefined) beginCommand(child.pid);
  pass(responseFrames.stdout, outputs[0]);
  pass(responseFrames.stderr, outputs[1]);
  child.on('exit', (exitCode, signal) => {
    if (cause !== 'exited' && child?.pid !== undefined) killCommand(child.pid);
    awaitOutput(outputs, () => end(exitCode, signal));
  });
  stream.on('close', () => {
    kill('canceled');
    for (const output of outputs) output.resume();
  });
  child.stdin?.on('error', () => child?.stdin?.destroy()); // it reads no more, or is gone: its end says so
  return { kill, input: child.stdin };
}

/**
 * After the exit: until both pipes are closed; a background process may hold them for ever, so also until no
 * output came for a while. A paused pipe is waited for, since what it holds was written before.
 */
function awaitOutput(sources: readonly Socket[], done: () => void): void {
  let seen = -1;
  let looks = 0;
  const look = (): void => {
    const bytes = sources.reduce((sum, source) => sum + source.bytesRead, 0);
    const paused = sources.some((source) => source.isPaused());
    if (!paused) looks += 1;
    if (!paused && (bytes === seen || looks > maxDrainLooks)) return finish();
    seen = bytes;
    timer = setTimeout(look, drainAfterExitMs);
  };
  let timer = setTimeout(look, drainAfterExitMs);
  const finish = (): void => {
    clearTimeout(timer);
    done();
  };
  let open = 0;
  for (const source of sources.filter((source) => !source.destroyed)) {
    open += 1;
    source.once('close', () => {
      open -= 1;
      if (open === 0) finish();
    });
  }
  if (open === 0) finish();
}

/** Reads the host's frames of one command stream; a command starts once its standard input is whole. */
function serveCommand(stream: ServerHttp2Stream): void {
  let held: Buffer = Buffer.alloc(0);
  let command: WireCommand | undefined;
  let stdin: ReturnType<typeof createStdin> | undefined;
  let running: Running | undefined;
  stream.respond({ ':status': 200 });
  const run = (): void => {
    if (command === undefined || running !== undefined) return;
    const given = command.stdin === 'live' ? 'pipe' : (stdin?.finish() ?? 'ignore');
    running = runCommand(stream, command, given);
    if (typeof given === 'number') fs.closeSync(given);
  };
  const write = (payload: Buffer): void => {
    if (command?.stdin !== 'live') return stdin?.append(payload);
    const input = running?.input;
    if (!input?.writable || input.write(payload)) return;
    stream.pause();
    const goOn = (): void => void stream.resume();
    input.once('drain', goOn);
    input.once('close', goOn);
  };
  const handlers: Record<number, (payload: Buffer) => void> = {
    [requestFrames.start]: (payload) => {
      command = JSON.parse(payload.toString('utf8')) as WireCommand;
      if (command.stdin === 'whole') stdin = createStdin();
      else run();
    },
    [requestFrames.stdin]: write,
    [requestFrames.stdinEnd]: () => (running === undefined ? run() : running.input?.end()),
    [requestFrames.kill]: () => running?.kill('canceled'),
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
      try {
        handle?.(payload);
      } catch {
        return stream.close(); // no room for its input: the host sees a stream without an end
      }
    }
  });
}

/**
 * Answers once nothing but PID 1 and the supervisor lives; the host's deadline bounds it. kill(-1) holds the
 * kernel's task list, so a fork bomb cannot outrun it, and it needs no process of its own.
 */
function serveKillCommands(stream: ServerHttp2Stream): void {
  if (stream.destroyed) return;
  sendKill(-1);
  const left = processTable().some(({ pid, zombie }) => pid !== 1 && pid !== process.pid && !zombie);
  if (left) setTimeout(serveKillCommands, 5, stream);
  else stream.respond({ ':status': 200 }, { endStream: true });
}

/** Everything but the supervisor stands still, and the time does not count. What is started from now on runs. */
function serveFreeze(stream: ServerHttp2Stream): void {
  for (const deadline of deadlines) deadline.pause();
  stopAll();
  stream.respond({ ':status': 200 }, { endStream: true });
}

function serveThaw(stream: ServerHttp2Stream): void {
  continueAll();
  for (const deadline of deadlines) deadline.resume();
  stream.respond({ ':status': 200 }, { endStream: true });
}

const routes: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
  '/ping': (stream) => stream.respond({ ':status': 200 }, { endStream: true }),
  '/commands': serveCommand,
  '/kill-commands': serveKillCommands,
  '/freeze': serveFreeze,
  '/thaw': serveThaw,
};

function main(): void {
  topUpPipes();
  const leave = (): never => process.exit(0);
  // TERM of the outside world ends the sandbox by its wire; nothing inside may do it
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)
    process.on(signal, () => undefined);
  const wire = joinPipes(process.stdin, process.stdout);
  const session = performServerHandshake(wire, {
    settings: { maxConcurrentStreams: 100, initialWindowSize: 256 * 1024, maxFrameSize: maxPayloadBytes },
    maxSessionMemory: 64,
  });
  session.on('stream', (stream, headers) => {
    stream.on('error', () => stream.destroy());
    const path = String(headers[':path']);
    if (path.startsWith('/loopback/')) return serveLoopback(stream, path);
    if (path.startsWith('/connections/')) return serveConnection(stream, path);
    const route = routes[path];
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
