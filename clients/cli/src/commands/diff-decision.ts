import { ask } from '@lemniscate/api/client.ts';
import type { DecidedDiff, SessionView } from '@lemniscate/shared/api/session.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { selectFiles } from '@lemniscate/shared/repository/patch-files.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { ApiClient } from '../api-client.ts';

export type OfferedDiff = NonNullable<SessionView['diff']>;

/** The session and its diff. @throws CodedError `diff_missing` with the session's state */
export async function readDiff(
  client: ApiClient,
  sessionId: string,
): Promise<{ session: SessionView; diff: OfferedDiff }> {
  const session = await ask(client.api.GET('/v1/sessions/{id}', { params: { path: { id: sessionId } } }));
  if (session.diff !== null) return { session, diff: session.diff };
  throw new CodedError('diff_missing', `Session ${sessionId} is ${session.state} and offers no diff.`);
}

/** The raw patch. An empty diff has an empty one. @param files paths of the files that are wanted; null: all */
export async function readPatch(
  client: ApiClient,
  sessionId: string,
  files: readonly string[] | null = null,
): Promise<Uint8Array> {
  const answer = await client.open(`/v1/sessions/${encodeURIComponent(sessionId)}/diff`, {
    headers: { accept: 'text/x-diff' },
    timeoutMs: 120_000,
  });
  const patch = new Uint8Array(await answer.arrayBuffer());
  return files === null ? patch : selectFiles(patch, new Set(files));
}

/**
 * Accepts the diff exactly as it was shown, or some of its files. Files under dedicated control have to be named by the
 * person.
 * @param files paths of the accepted files; the others are rejected with it; null: all
 * @throws CodedError `forbidden` that lists the flagged files not named; nothing is decided then
 */
export async function acceptDiff(
  client: ApiClient,
  sessionId: string,
  diff: OfferedDiff,
  named: readonly string[],
  files: readonly string[] | null = null,
): Promise<DecidedDiff> {
  const flagged = diff.files
    .filter((file) => file.flags.length > 0 && (files?.includes(file.path) ?? true))
    .map((file) => file.path);
  const missing = flagged.filter((path) => !named.includes(path));
  if (missing.length > 0)
    throw new CodedError(
      'forbidden',
      `These files need to be accepted by name: ${missing.map(makeVisibleLine).join(', ')}. Look at them, then add ${missing.map((path) => `--flagged ${JSON.stringify(path)}`).join(' ')}.`,
      { missing },
    );
  return ask(
    client.api.POST('/v1/sessions/{id}/diff/accept', {
      params: { path: { id: sessionId } },
      body: { sha256: diff.sha256, flaggedFiles: flagged, ...(files === null ? {} : { files: [...files] }) },
    }),
  );
}

/**
 * Accepts before something is applied.
 * @throws CodedError `conflict` where the yes of other people is missing: then nothing may be applied yet
 */
export async function acceptToApply(...wanted: Parameters<typeof acceptDiff>): Promise<void> {
  const decided = await acceptDiff(...wanted);
  if (decided.state === 'accepted') return;
  throw new CodedError('conflict', `${sayAccepted(decided, wanted[2].files.length)} Nothing was applied.`);
}

/**
 * The files that `--file` and `--except` choose; null where neither is given.
 * @throws CodedError `request_invalid` for a path that the diff does not have
 */
export function chosenFiles(
  diff: OfferedDiff,
  only: readonly string[],
  except: readonly string[],
): readonly string[] | null {
  const paths = diff.files.map(({ path }) => path);
  const unknown = [...only, ...except].filter((path) => !paths.includes(path));
  if (unknown.length > 0)
    throw new CodedError(
      'request_invalid',
      `The diff does not change ${unknown.map(makeVisibleLine).join(', ')}. Name files as "lemniscate diff" lists them.`,
    );
  if (only.length === 0 && except.length === 0) return null;
  return paths.filter((path) => (only.length === 0 || only.includes(path)) && !except.includes(path));
}

/** What a person is told about their yes. */
export function sayAccepted(decided: DecidedDiff, files: number): string {
  const part = decided.acceptedFiles === null ? '' : ` ${decided.acceptedFiles.length} of ${files} files`;
  if (decided.state === 'accepted') return `Accepted${part}.`;
  return `Your yes${part === '' ? '' : ` to${part}`} is on record; it takes ${decided.people} people, and ${decided.acceptedBy.length} have accepted.`;
}
