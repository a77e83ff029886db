import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, chown, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { OrderedRepository } from '@lemniscate/shared/repository/source.ts';
import { outlast } from '../../application/outlast.ts';
import type { Mirror } from './mirror-cache.ts';
import type { ThrowawayGit } from './throwaway-git.ts';

type BundleSource = Extract<OrderedRepository, { kind: 'bundle' }>;

/** What broke on the line has no code. The address is a credential: it never appears in an error. */
function storageFault(source: BundleSource, error: unknown): CodedError {
  if (isCodedError(error)) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? cause.message : 'no answer';
  const { host } = new URL(source.url);
  return new CodedError(
    'storage_failed',
    `The bundle of ${source.name} could not be read from ${host}: ${why}.`,
    { mayPass: true },
    error,
  );
}

/** Reads the bundle from its presigned address into a file; bounded, and its digest must be the one ordered. */
async function download(
  source: BundleSource,
  file: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<void> {
  const answer = await fetch(source.url, { signal, redirect: 'error' });
  if (!answer.ok || answer.body === null) {
    await answer.body?.cancel();
    throw new CodedError(
      'storage_failed',
      `The bundle of ${source.name} could not be read: HTTP ${answer.status}.`,
      { mayPass: answer.status >= 500 || answer.status === 429 },
    );
  }
  const hash = createHash('sha256');
  let bytes = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        const detail = `${source.name} is larger than the ${maxBytes} bytes that this server takes.`;
        return done(new CodedError('repository_too_large', detail, { maxBytes }));
      }
      hash.update(chunk);
      return done(null, chunk);
    },
  });
  // The DOM's and Node's stream types differ in name only.
  const body = Readable.fromWeb(answer.body as ReadableStream<Uint8Array>);
  await pipeline(body, measure, createWriteStream(file, { mode: 0o644 }), { signal });
  const found = hash.digest('hex');
  if (found !== source.sha256)
    throw new CodedError(
      'digest_mismatch',
      `The bundle of ${source.name} is not the one that was uploaded.`,
      {
        expected: source.sha256,
        found,
      },
    );
}

const script = `set -e
git init -q --bare /mirror/git
git -C /mirror/git fetch -q --no-tags --no-write-fetch-head /bundle/repository.bundle '+refs/*:refs/*'
git -C /mirror/git update-ref "refs/lemniscate/base-$COMMIT" "$COMMIT^{commit}"`;

/** Fills a mirror from a bundle. git reads the hostile file inside a throwaway sandbox, as the sandbox' own user. */
export async function importBundle(
  git: ThrowawayGit,
  source: BundleSource,
  mirror: Mirror,
  options: {
    user: { uid: number; gid: number };
    maxBytes: number;
    timeoutMs: number;
    signal: AbortSignal;
  },
): Promise<void> {
  const spool = join(mirror.folder, 'bundle');
  await mkdir(spool, { recursive: true });
  try {
    const file = join(spool, 'repository.bundle');
    await outlast(
      (signal) =>
        download(source, file, options.maxBytes, signal).catch((error: unknown) => {
          throw storageFault(source, error);
        }),
      { signal: options.signal, patienceMs: options.timeoutMs },
    );
    await mkdir(mirror.gitDir);
    await chmod(mirror.folder, 0o755);
    if (process.getuid?.() === 0) await chown(mirror.gitDir, options.user.uid, options.user.gid);
    const run = await git({
      argv: ['/bin/sh', '-c', script],
      cwd: '/',
      mounts: [
        { source: mirror.gitDir, target: '/mirror/git', readOnly: false },
        { source: spool, target: '/bundle', readOnly: true },
      ],
      protocols: ['file'],
      variables: { COMMIT: source.commit },
      user: options.user,
      timeoutMs: options.timeoutMs,
      maxOutputBytes: 64 * 1024,
    });
    if (run.exitCode === 0) return;
    const detail = run.timedOut
      ? `not finished after ${options.timeoutMs} ms`
      : run.stderr.trim().slice(-500);
    throw new CodedError(
      'repository_broken',
      `The bundle of ${source.name} cannot be read by git: ${detail}`,
    );
  } finally {
    await rm(spool, { recursive: true, force: true });
  }
}
