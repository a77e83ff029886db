import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Transform } from 'node:stream';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SandboxDriver, SandboxMount, ThrowawayRun } from '../../application/ports/sandbox-driver.ts';
import type {
  PackedSnapshot,
  SnapshotFolders,
  Snapshots,
  SpooledFile,
} from '../../application/ports/snapshots.ts';
import { packScript, unpackScript } from './archive-scripts.ts';
import { downloadObject } from './download-object.ts';

export interface SnapshotOptions {
  /** Spool for archives under way; emptied at a start. */
  readonly folder: string;
  readonly driver: Pick<SandboxDriver, 'runThrowaway'>;
}

/** The parts in the order in which the archive holds them. */
const parts = ['workspace', 'home'] as const;

/** Uncompressed bytes of one part. The object store takes 5 GiB in one piece, which is compressed. */
const maxPartBytes = 16 * 1024 ** 3;
const timeoutMs = 10 * 60_000;

/** Snapshots by `tar` in throwaway sandboxes and `zstd` on the host, which sees nothing but a stream of bytes. */
export function createSnapshots({ folder, driver }: SnapshotOptions): Snapshots {
  const spoolFile = async (): Promise<string> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return join(folder, randomUUID());
  };
  const spooled = (file: string, sha256: string, bytes: number): SpooledFile => ({
    file,
    sha256,
    bytes,
    discard: () => rm(file, { force: true }),
  });

  const packInto = async (
    file: string,
    folders: SnapshotFolders,
  ): Promise<Omit<PackedSnapshot, 'discard'>> => {
    const zstd = startZstd(['-1']);
    const compressed = createMeter();
    const written = pipeline(zstd.stdout, compressed.stream, createWriteStream(file, { mode: 0o600 }));
    written.catch(() => undefined); // awaited below; a failing tar is told first
    try {
      const digests: string[] = [];
      for (const part of parts) digests.push(await packPart(driver, part, folders, zstd.stdin));
      zstd.stdin.end();
      await Promise.all([written, zstd.ended]);
      const [workspaceDigest = '', homeDigest = ''] = digests;
      return { file, ...compressed.result(), workspaceDigest, homeDigest };
    } finally {
      zstd.kill();
    }
  };

  return {
    async pack(folders, signal) {
      signal.throwIfAborted();
      const file = await spoolFile();
      try {
        const packed = await packInto(file, folders);
        signal.throwIfAborted();
        return { ...packed, discard: () => rm(file, { force: true }) };
      } catch (error) {
        await rm(file, { force: true });
        signal.throwIfAborted();
        throw asCoded('checkpoint_failed', 'The checkpoint could not be packed', error);
      }
    },
    async unpack(file, folders, signal) {
      const zstd = startZstd(['-d'], createReadStream(file));
      try {
        const run = await driver.runThrowaway({
          ...base(folders),
          argv: bash(unpackScript),
          mounts: parts.map((part) => mountOf(part, folders)),
          stdin: zstd.stdout,
          maxOutputBytes: 64 * 1024,
        });
        signal.throwIfAborted();
        if (run.exitCode !== 0) throw new Error(toldBy(run));
        await zstd.ended;
      } catch (error) {
        signal.throwIfAborted();
        throw asCoded('checkpoint_unreadable', 'The checkpoint could not be unpacked', error);
      } finally {
        zstd.kill();
      }
    },
    async spool(bytes) {
      const file = await spoolFile();
      await writeFile(file, bytes, { mode: 0o600 });
      return spooled(file, createHash('sha256').update(bytes).digest('hex'), bytes.byteLength);
    },
    async download(object, signal) {
      const file = await spoolFile();
      try {
        await downloadObject(object, file, signal);
        return spooled(file, object.sha256, (await stat(file)).size);
      } catch (error) {
        await rm(file, { force: true });
        throw error;
      }
    },
    recover: () => rm(folder, { recursive: true, force: true }),
  };
}

const bash = (script: string, ...parameters: readonly string[]): string[] => [
  'bash',
  '--noprofile',
  '--norc',
  '-c',
  script,
  'snapshot',
  ...parameters,
];

const base = (folders: SnapshotFolders): Pick<ThrowawayRun, 'cwd' | 'user' | 'timeoutMs'> => ({
  cwd: '/',
  user: folders.user,
  timeoutMs,
});

const mountOf = (part: (typeof parts)[number], folders: SnapshotFolders): SandboxMount => ({
  source: folders[part],
  target: `/snapshot/${part}`,
  readOnly: false,
});

/** One part as a tar into the sink, which stays open. @returns the digest of the tar */
async function packPart(
  driver: Pick<SandboxDriver, 'runThrowaway'>,
  part: (typeof parts)[number],
  folders: SnapshotFolders,
  sink: Writable,
): Promise<string> {
  const meter = createMeter();
  const stdout = new PassThrough();
  const passed = pipeline(stdout, meter.stream, sink, { end: false });
  const ran = driver
    .runThrowaway({
      ...base(folders),
      argv: bash(packScript, part),
      mounts: [mountOf(part, folders)],
      stdout,
      maxOutputBytes: maxPartBytes,
    })
    .finally(() => stdout.end());
  const [run] = await Promise.all([ran, passed]);
  if (run.exitCode !== 0 || run.truncated) throw new Error(`${part}: ${toldBy(run)}`);
  return meter.result().sha256;
}

function toldBy(run: Awaited<ReturnType<SandboxDriver['runThrowaway']>>): string {
  if (run.timedOut) return `not finished after ${timeoutMs} ms`;
  if (run.truncated) return `more than ${maxPartBytes} bytes`;
  return run.stderr.trim().slice(-500) || `ended with ${run.signal ?? run.exitCode}`;
}

/** Counts and hashes what passes. */
function createMeter(): { readonly stream: Transform; result(): { sha256: string; bytes: number } } {
  const hash = createHash('sha256');
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  return { stream, result: () => ({ sha256: hash.digest('hex'), bytes }) };
}

interface Zstd {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** @throws Error with what it said */
  readonly ended: Promise<void>;
  /** Does nothing when it has ended. */
  kill(): void;
}

/** `zstd` beats Node's own by a factor of two and leaves this process' threads alone. */
function startZstd(options: readonly string[], source?: Readable): Zstd {
  const child = spawn('zstd', ['-q', '-c', ...options], { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString('utf8')}`.slice(-500);
  });
  // Told by `ended`: an EPIPE is only the consequence.
  child.stdin.on('error', () => undefined);
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  child.on('error', (error) => {
    child.stdout.destroy();
    reject(new Error(`zstd could not be started (${error.message}). Install it: apt-get install zstd.`));
  });
  child.on('close', (code, signal) => {
    if (code === 0) resolve();
    else reject(new Error(`zstd ended with ${signal ?? code}: ${said.trim()}`));
  });
  ended.catch(() => undefined); // whoever reads the result awaits it
  source?.on('error', (error) => child.stdin.destroy(error));
  source?.pipe(child.stdin);
  // Node throws away what nobody reads by the time that a child exits, and a sandbox takes longer to start.
  const stdout = new PassThrough();
  child.stdout.pipe(stdout);
  return {
    stdin: child.stdin,
    stdout,
    ended,
    kill: () => {
      source?.destroy();
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    },
  };
}

function asCoded(
  code: 'checkpoint_failed' | 'checkpoint_unreadable',
  what: string,
  error: unknown,
): CodedError {
  if (isCodedError(error)) return error;
  return new CodedError(code, `${what}: ${error instanceof Error ? error.message : 'unknown'}.`, {}, error);
}
