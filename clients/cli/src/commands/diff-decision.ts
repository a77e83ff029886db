import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import { z } from 'zod';
import type { ApiClient } from '../api-client.ts';

export type OfferedDiff = NonNullable<SessionView['diff']>;

/** The session and its diff. @throws CodedError `diff_missing` with the session's state */
export async function readDiff(
  client: ApiClient,
  sessionId: string,
): Promise<{ session: SessionView; diff: OfferedDiff }> {
  const session = await client.json(`/v1/sessions/${encodeURIComponent(sessionId)}`, sessionViewSchema);
  if (session.diff !== null) return { session, diff: session.diff };
  throw new CodedError('diff_missing', `Session ${sessionId} is ${session.state} and offers no diff.`);
}

/** The raw patch. An empty diff has an empty one. */
export async function readPatch(client: ApiClient, sessionId: string): Promise<Uint8Array> {
  const answer = await client.open(`/v1/sessions/${encodeURIComponent(sessionId)}/diff`, {
    headers: { accept: 'text/x-diff' },
    timeoutMs: 120_000,
  });
  return new Uint8Array(await answer.arrayBuffer());
}

/**
 * Accepts the diff exactly as it was shown. Files under dedicated control have to be named by the person.
 * @throws CodedError `forbidden` that lists the flagged files not named; nothing is decided then
 */
export async function acceptDiff(
  client: ApiClient,
  sessionId: string,
  diff: OfferedDiff,
  named: readonly string[],
): Promise<void> {
  const flagged = diff.files.filter((file) => file.flags.length > 0).map((file) => file.path);
  const missing = flagged.filter((path) => !named.includes(path));
  if (missing.length > 0)
    throw new CodedError(
      'forbidden',
      `These files need to be accepted by name: ${missing.map(makeVisibleLine).join(', ')}. Look at them, then add ${missing.map((path) => `--flagged ${JSON.stringify(path)}`).join(' ')}.`,
      { missing },
    );
  await client.json(`/v1/sessions/${encodeURIComponent(sessionId)}/diff/accept`, z.unknown(), {
    method: 'POST',
    body: { sha256: diff.sha256, flaggedFiles: flagged },
  });
}
