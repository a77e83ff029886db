import type { LfsObject } from '@lemniscate/shared/repository/lfs-pointer.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { z } from 'zod';
import type { FetchHosts } from '../fetch-host.ts';
import type { LfsEndpoint } from './endpoint.ts';
import { pinnedRequest, readText, unreachable } from './pinned-request.ts';

const mediaType = 'application/vnd.git-lfs+json';
const maxAnswerBytes = 4 * 1024 * 1024;

const answerSchema = z.object({
  transfer: z.string().optional(),
  objects: z
    .array(
      z.object({
        oid: z.string(),
        actions: z
          .object({
            download: z
              .object({ href: z.string().max(16_384), header: z.record(z.string(), z.string()).optional() })
              .optional(),
          })
          .optional(),
        error: z.object({ code: z.int(), message: z.string().max(2000) }).optional(),
      }),
    )
    .max(1000),
});

/** Where an object is, or why its server does not give it. */
export type LfsAnswer =
  | { readonly href: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly missing: string };

/**
 * Asks where objects are; at most a hundred at once, which every server takes.
 * Source: https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md
 * @throws CodedError `large_file_missing` when the server as a whole does not answer
 */
export async function askBatch(
  endpoint: LfsEndpoint,
  objects: readonly LfsObject[],
  hosts: FetchHosts,
  signal: AbortSignal,
): Promise<Map<string, LfsAnswer>> {
  const asked = objects.map(({ oid, size }) => ({ oid, size }));
  const answer = await pinnedRequest(`${endpoint.href}/objects/batch`, hosts, {
    method: 'POST',
    headers: { ...endpoint.headers, accept: mediaType, 'content-type': mediaType },
    body: JSON.stringify({
      operation: 'download',
      transfers: ['basic'],
      objects: asked,
      hash_algo: 'sha256',
    }),
    signal,
  });
  const said = await readText(answer, maxAnswerBytes).catch((error: unknown) =>
    unreachable(endpoint.href, signal, error),
  );
  if (answer.statusCode !== 200) throw refused(endpoint, `HTTP ${answer.statusCode}`);
  const read = answerSchema.safeParse(asJson(said));
  if (!read.success) throw refused(endpoint, 'an answer that is not the batch API’s');
  const { transfer = 'basic', objects: found } = read.data;
  if (transfer !== 'basic') throw refused(endpoint, `a transfer by ${transfer}, which nobody asked for`);
  return new Map(
    found.map(({ oid, actions, error }): [string, LfsAnswer] => {
      const { href, header = {} } = actions?.download ?? {};
      if (href !== undefined) return [oid, { href, headers: header }];
      return [oid, { missing: error?.message ?? 'its server names no place for it' }];
    }),
  );
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // judged by the schema
    throw error;
  }
}

function refused({ href }: LfsEndpoint, what: string): CodedError {
  return new CodedError(
    'large_file_missing',
    `The server of large files ${href} answers ${what}. Check that the repository has Git LFS there and that this server may read it, or leave out \`lfs\` in the policy's \`repository\`.`,
  );
}
