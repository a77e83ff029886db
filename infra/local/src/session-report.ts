import { readPatch } from '@lemniscate/cli/commands/diff-decision.ts';
import { showDiffFiles, showPatch } from '@lemniscate/cli/follow/diff-view.ts';
import { summarise } from '@lemniscate/cli/session-summary.ts';
import type { SessionSummary } from '@lemniscate/cli/session-summary.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { FirstSession } from './first-session.ts';

/** What `npm start -- --json` prints: the terminal client's summary with the timings of the whole start. */
export function reportForPrograms(
  first: FirstSession,
  repositoryFolder: string,
  setupMs: number,
): Omit<SessionSummary, 'message'> {
  const { entries, verified } = first.audit;
  const { message: _said, ...summary } = summarise(
    first.session,
    first.toolCalls,
    { entries, verified },
    repositoryFolder,
  );
  return { ...summary, timingsMs: timingsOf(first.session, setupMs) };
}

/** Shows the diff, the cost, the audit log and the timings. */
export async function reportForPeople(
  { client, session, audit }: FirstSession,
  repositoryFolder: string,
  setupMs: number,
  out: NodeJS.WriteStream,
  colour: boolean,
): Promise<void> {
  out.write('\n');
  if (session.diff !== null && session.diff.state === 'offered' && session.diff.files.length > 0) {
    showPatch(out, Buffer.from(await readPatch(client, session.id)).toString('utf8'), colour);
    showDiffFiles(out, session.diff.files, colour);
  } else out.write('No file was changed.\n');
  const { usage } = session;
  const timings = Object.entries(timingsOf(session, setupMs)).map(([name, ms]) => `${name} ${ms} ms`);
  const lines = [
    `state    ${session.state} (${session.reason ?? 'no reason'})`,
    `cost     ${session.priced ? `$${session.totalCostUsd}` : 'unpriced'}: ${usage.inputTokens} tokens in, ${usage.outputTokens} out, ${usage.cacheReadTokens} cache read, ${usage.cacheWriteTokens} cache write`,
    `audit    ${audit.entries} entries, ${audit.verified ? 'verified' : `NOT VERIFIED: ${audit.fault}`}`,
    `timings  ${timings.join(', ')}`,
    `apply    npx lemniscate apply ${session.id} --repo ${repositoryFolder}`,
  ];
  out.write(`\n${lines.join('\n')}\n`);
}

/** How long the session was in each state, from the record's own times; 0 for a state that it never reached. */
function timingsOf(session: SessionView, setupMs: number): Record<string, number> {
  const between = (from: string | null, to: string | null) =>
    from === null || to === null ? 0 : Date.parse(to) - Date.parse(from);
  return {
    setup: setupMs,
    queued: between(session.createdAt, session.startedAt),
    starting: between(session.startedAt, session.runningAt),
    running: between(session.runningAt, session.endedAt),
    total: setupMs + between(session.createdAt, session.endedAt),
  };
}
