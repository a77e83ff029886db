import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, glob, lstat, mkdir, rename, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { LfsObject } from '@lemniscate/shared/repository/lfs-pointer.ts';
import type { FetchAddress } from '../fetch-source.ts';
import type { FetchHosts } from '../fetch-host.ts';
import { askBatch } from './batch.ts';
import type { LfsAnswer } from './batch.ts';
import { lfsEndpoint } from './endpoint.ts';
import { pinnedRequest, unreachable } from './pinned-request.ts';

const perBatch = 100;
const atOnce = 4;
const maxRedirects = 3;
/** In the name of what is not whole yet. */
export const draftMark = '.part-';

export interface FetchObjectsOptions {
  readonly hosts: FetchHosts;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Why objects that were asked for are not there, by their ids. */
export type MissingObjects = ReadonlyMap<string, string>;

/** Makes the folder of objects, takes drafts away that a killed server left, and tells which objects are not there yet. */
export async function notYetThere(objects: readonly LfsObject[], folder: string): Promise<LfsObject[]> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
  for await (const left of glob(`*${draftMark}*`, { cwd: folder }))
    await rm(join(folder, left), { recursive: true, force: true });
  const wanted: LfsObject[] = [];
  for (const object of new Map(objects.map((each) => [each.oid, each])).values())
    if (!(await isThere(join(folder, object.oid)))) wanted.push(object);
  return wanted;
}

/**
 * Brings objects into a folder, each in a file named by its id; those that are there are not asked for again. Their
 * digest and size are the pointer's, whatever their server says. Not to be called twice at once for one folder.
 * @throws CodedError `large_file_missing` when the server as a whole does not answer
 */
export async function fetchObjects(
  from: FetchAddress,
  objects: readonly LfsObject[],
  folder: string,
  options: FetchObjectsOptions,
): Promise<MissingObjects> {
  const wanted = await notYetThere(objects, folder);
  const missing = new Map<string, string>();
  if (wanted.length === 0) return missing;
  if (from.protocol === 'file') {
    for (const object of wanted)
      if (!(await copyLocal(from.address, object, folder)))
        missing.set(object.oid, `${from.address} has none`);
    return missing;
  }
  const endpoint = await lfsEndpoint(from, options);
  for (let first = 0; first < wanted.length; first += perBatch) {
    const batch = wanted.slice(first, first + perBatch);
    const answers = await askBatch(endpoint, batch, options.hosts, options.signal);
    const left = [...batch];
    const worker = async (): Promise<void> => {
      for (let object = left.shift(); object !== undefined; object = left.shift()) {
        const reason = await download(answers.get(object.oid), object, folder, options);
        if (reason !== null) missing.set(object.oid, reason);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }
  return missing;
}

async function isThere(file: string): Promise<boolean> {
  return lstat(file).then(
    (found) => found.isFile(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

/** @returns why the object is not there; null: it is */
async function download(
  answer: LfsAnswer | undefined,
  object: LfsObject,
  folder: string,
  options: FetchObjectsOptions,
): Promise<string | null> {
  if (answer === undefined) return 'its server does not mention it';
  if ('missing' in answer) return answer.missing;
  const response = await follow(answer.href, answer.headers, options);
  const status = response.statusCode ?? 0;
  if (status !== 200) {
    response.destroy();
    if ([404, 410].includes(status)) return `HTTP ${status}`;
    throw new CodedError('large_file_missing', `${named(object)} cannot be fetched: HTTP ${status}.`);
  }
  const { signal } = options;
  await keep(response, object, folder, signal).catch((error: unknown) =>
    unreachable(answer.href, signal, error),
  );
  return null;
}

/** Follows a storage's redirects; what let us in at the first address is not shown to another host. */
async function follow(
  href: string,
  headers: Readonly<Record<string, string>>,
  { hosts, signal }: FetchObjectsOptions,
): Promise<IncomingMessage> {
  let [at, sent] = [href, headers];
  for (let redirects = 0; ; redirects += 1) {
    const answer = await pinnedRequest(at, hosts, { method: 'GET', headers: sent, signal });
    const { location } = answer.headers;
    const status = answer.statusCode ?? 0;
    if (status < 300 || status >= 400 || location === undefined || redirects === maxRedirects) return answer;
    answer.destroy();
    const next = new URL(location, at);
    if (next.host !== new URL(at).host) sent = {};
    at = next.href;
  }
}

/** git-lfs keeps objects below a repository's `.git`, or below a bare one. */
async function copyLocal(repository: string, object: LfsObject, folder: string): Promise<boolean> {
  const { oid } = object;
  for (const git of ['.git', '.']) {
    const file = join(repository, git, 'lfs', 'objects', oid.slice(0, 2), oid.slice(2, 4), oid);
    if (!(await isThere(file))) continue;
    await keep(createReadStream(file), object, folder);
    return true;
  }
  return false;
}

/**
 * Keeps a stream as an object, when it is the one.
 * @throws CodedError `digest_mismatch`
 */
export async function keep(
  source: Readable,
  object: LfsObject,
  folder: string,
  signal?: AbortSignal,
): Promise<void> {
  const draft = join(folder, `${object.oid}${draftMark}${randomUUID()}`);
  const hash = createHash('sha256');
  let bytes = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      hash.update(chunk);
      done(bytes > object.size ? other(object, `more than ${object.size} bytes`) : null, chunk);
    },
  });
  try {
    await pipeline(source, measure, createWriteStream(draft, { mode: 0o644 }), { signal });
    const digest = hash.digest('hex');
    if (bytes !== object.size || digest !== object.oid)
      throw other(object, `${bytes} bytes of sha256 ${digest}`);
    await rename(draft, join(folder, object.oid));
  } finally {
    await rm(draft, { force: true });
  }
}

function named({ oid, size }: LfsObject): string {
  return `The large file sha256:${oid} (${size} bytes)`;
}

function other(object: LfsObject, found: string): CodedError {
  return new CodedError('digest_mismatch', `${named(object)} is another one at its server: ${found}.`, {
    expected: object.oid,
  });
}
