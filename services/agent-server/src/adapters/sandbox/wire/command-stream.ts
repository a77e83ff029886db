import { constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type {
  SandboxCommand,
  SandboxCommandEnd,
  SandboxExecution,
} from '../../../application/ports/sandbox-driver.ts';
import { commandEnvironment } from '../command-environment.ts';
import { parseCommandEnd } from './command-end.ts';
import { createFrameReader, encodeFrame } from './frame-reader.ts';
import type { WireFrame } from './frame-reader.ts';
import { startPausableTimer } from '../supervisor/pausable-timer.ts';
import type { PausableTimer } from '../supervisor/pausable-timer.ts';
import { createOutputQueue } from './output-queue.ts';
import {
  maxPayloadBytes,
  maxStartBytes,
  maxStdinBytes,
  requestFrames,
  responseFrames,
  wirePaths,
} from './protocol.ts';
import type { WireCommand } from './protocol.ts';

/** Uid and gid of commands as the sandbox numbers them; `switchUser` is false where it has only one. */
export interface CommandUser {
  readonly uid: number;
  readonly gid: number;
  readonly switchUser: boolean;
}

/** The supervisor's own timeout comes first; past this much more the host no longer waits for its word. */
const hostGraceMs = 2_000;

/** Output held for a reader that is slower than the command; then the command itself has to wait. */
const maxHeldBytes = 256 * 1024;

/** The start frame. @throws CodedError `request_invalid` */
function startFrame(command: SandboxCommand, user: CommandUser): Buffer {
  const fields = [...command.argv, command.cwd ?? ''];
  if (command.argv.length === 0 || command.argv[0] === '')
    throw new CodedError('request_invalid', 'The command has no program: give argv at least one word.');
  if (fields.some((field) => field.includes('\0')))
    throw new CodedError('request_invalid', 'The command holds a NUL byte, which no argument can carry.');
  if ((command.stdin?.length ?? 0) > maxStdinBytes)
    throw new CodedError(
      'request_invalid',
      `Standard input takes ${command.stdin?.length} bytes; the bound is ${maxStdinBytes}. Write a file instead.`,
    );
  const start: WireCommand = {
    argv: command.argv,
    cwd: command.cwd ?? '/workspace',
    env: { ...commandEnvironment, ...command.env },
    ...user,
    stdin: command.input !== undefined ? 'live' : command.stdin !== undefined ? 'whole' : 'none',
    timeoutMs: command.timeoutMs,
    maxOutputBytes: command.maxOutputBytes,
  };
  const payload = Buffer.from(JSON.stringify(start));
  if (payload.length > maxStartBytes)
    throw new CodedError(
      'request_invalid',
      `Arguments and environment take ${payload.length} bytes; the bound is ${maxStartBytes}.`,
    );
  return encodeFrame(requestFrames.start, payload);
}

/** Writes standard input in frames, waiting whenever the command does not read. Ends quietly with the stream. */
async function writeStdin(stream: ClientHttp2Stream, stdin: Uint8Array): Promise<void> {
  for (let at = 0; at < stdin.length && stream.writable; at += maxPayloadBytes) {
    if (stream.write(encodeFrame(requestFrames.stdin, stdin.subarray(at, at + maxPayloadBytes)))) continue;
    await drained(stream);
  }
  if (stream.writable) stream.write(encodeFrame(requestFrames.stdinEnd, Buffer.alloc(0)));
}

/** Live input in frames, at the command's pace; its end closes the command's input. */
async function writeInput(stream: ClientHttp2Stream, input: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of input) {
    for (let at = 0; at < piece.length; at += maxPayloadBytes) {
      if (!stream.writable) return;
      if (!stream.write(encodeFrame(requestFrames.stdin, piece.subarray(at, at + maxPayloadBytes))))
        await drained(stream);
    }
  }
  if (stream.writable) stream.write(encodeFrame(requestFrames.stdinEnd, Buffer.alloc(0)));
}

function drained(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    stream.once('drain', resolve);
    stream.once('close', resolve);
  });
}

/**
 * Runs one command on one stream. Output and end are claims of the sandbox: the host counts bytes, bounds them
 * and keeps time itself, so that `end` settles whatever the peer does.
 * @param deadlines where its own stands while it runs: what freezes the sandbox pauses them
 */
export function startCommand(
  session: ClientHttp2Session,
  command: SandboxCommand,
  user: CommandUser,
  clock: Clock,
  deadlines: Set<PausableTimer>,
): SandboxExecution {
  const start = startFrame(command, user);
  const startedAt = clock.monotonicMs();
  let stream: ClientHttp2Stream | undefined;
  let deadline: PausableTimer | undefined;
  let canceling: NodeJS.Timeout | undefined;
  let outputBytes = 0;
  let droppedBytes = 0;
  let settled = false;
  let settleEnd: (end: SandboxCommandEnd) => void = () => undefined;
  const end = new Promise<SandboxCommandEnd>((resolve) => {
    settleEnd = resolve;
  });
  const queue = createOutputQueue(maxHeldBytes, () => stream?.resume());

  const endDeadline = (): void => {
    if (deadline === undefined) return;
    deadline.clear();
    deadlines.delete(deadline);
  };

  const settle = (how: Pick<SandboxCommandEnd, 'exitCode' | 'signal' | 'cause'>, claimedDrop = 0): void => {
    if (settled) return;
    settled = true;
    clearTimeout(canceling);
    endDeadline();
    command.signal?.removeEventListener('abort', cancel);
    const durationMs = Math.round(clock.monotonicMs() - startedAt);
    settleEnd({ ...how, durationMs, outputBytes, droppedBytes: droppedBytes + claimedDrop });
    queue.close();
    stream?.close(constants.NGHTTP2_CANCEL);
  };
  const giveUp = (cause: SandboxCommandEnd['cause']): void => settle({ exitCode: null, signal: null, cause });
  const cancel = (): void => {
    endDeadline();
    clearTimeout(canceling);
    canceling = setTimeout(giveUp, hostGraceMs, 'canceled');
    if (stream?.writable) stream.write(encodeFrame(requestFrames.kill, Buffer.alloc(0)));
  };

  const receive = ({ type, payload }: WireFrame): void => {
    if (type === responseFrames.end) {
      const claim = parseCommandEnd(payload);
      return settle(claim, claim.droppedBytes);
    }
    if (type !== responseFrames.stdout && type !== responseFrames.stderr)
      throw new RangeError(`unknown frame type ${type}`);
    const kept = payload.subarray(0, Math.max(0, command.maxOutputBytes - outputBytes));
    outputBytes += kept.length;
    droppedBytes += payload.length - kept.length;
    if (kept.length === 0) return;
    const name = type === responseFrames.stdout ? 'stdout' : 'stderr';
    if (!queue.push({ stream: name, bytes: kept })) stream?.pause();
  };

  const output = { output: queue.output, end };
  if (command.signal?.aborted === true) {
    giveUp('canceled');
    return output;
  }
  try {
    stream = session.request({ ':method': 'POST', ':path': wirePaths.commands }, { endStream: false });
  } catch {
    giveUp('sandbox_lost'); // the session is gone; the sandbox' `ended` says why
    return output;
  }
  const opened = stream;
  const read = createFrameReader();
  deadline = startPausableTimer(command.timeoutMs + hostGraceMs, () => giveUp('timeout'));
  deadlines.add(deadline);
  command.signal?.addEventListener('abort', cancel, { once: true });
  opened.on('response', (headers) => {
    if (headers[':status'] !== 200) giveUp('sandbox_lost');
  });
  opened.on('data', (chunk: Buffer) => {
    try {
      for (const frame of read(chunk)) if (!settled) receive(frame);
    } catch {
      giveUp('sandbox_lost'); // not our protocol: nothing of this stream can be believed any more
    }
  });
  opened.on('error', () => giveUp('sandbox_lost'));
  opened.on('close', () => giveUp('sandbox_lost'));
  opened.write(start);
  if (command.input !== undefined)
    // whoever feeds it has failed: the command goes with it
    writeInput(opened, command.input).catch(() => giveUp('canceled'));
  else if (command.stdin !== undefined) void writeStdin(opened, command.stdin);
  return output;
}
