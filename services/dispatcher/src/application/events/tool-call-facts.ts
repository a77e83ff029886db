import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import type { ServerEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { advanceToolCall } from '@lemniscate/shared/tool-call/progress.ts';
import { toolCallTransitions } from '@lemniscate/shared/tool-call/state.ts';
import type { ToolCallState } from '@lemniscate/shared/tool-call/state.ts';
import { isEnd } from '@lemniscate/shared/transition-table.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { AttemptClaim } from './live-attempt.ts';

type ToolCallEvent = Extract<ServerEvent, { type: 'tool_call' }>;

/** What the record knows of a call before a batch. */
export interface KnownCall extends Record<string, unknown> {
  readonly call_id: string;
  readonly state: ToolCallState;
  readonly permitted: boolean;
  /** The file that it is about, as its proposal said. */
  readonly path: string | null;
}

interface CallFact {
  readonly event: ToolCallEvent;
  readonly state: ToolCallState;
  readonly permitted: boolean;
  readonly path: string | null;
  /** It left an intermediate state with this batch. */
  readonly ended: boolean;
}

/** The record's rows of the calls that a batch is about. Sent before the first await. */
export function selectKnownCalls(
  tx: Transaction,
  claim: AttemptClaim,
  events: readonly ServerEvent[],
): Promise<KnownCall[]> {
  const ids = new Set(events.flatMap((event) => (event.type === 'tool_call' ? [event.callId] : [])));
  if (ids.size === 0) return Promise.resolve([]);
  return tx.query<KnownCall>(
    `SELECT call_id, state, coalesce(answer ->> 'verdict' = 'go', false) AS permitted, path
     FROM tool_calls WHERE session_id = $1 AND attempt = $2 AND call_id = ANY ($3)`,
    [claim.sessionId, claim.attempt, [...ids]],
  );
}

/** Folds a batch's reports into one fact a call, along the table of tool calls. */
export function foldToolCalls(known: readonly KnownCall[], events: readonly ServerEvent[]): CallFact[] {
  const facts = new Map<string, CallFact>();
  const before = new Map(known.map((call) => [call.call_id, call]));
  for (const event of events) {
    if (event.type !== 'tool_call') continue;
    const fact = facts.get(event.callId);
    const from = fact?.state ?? before.get(event.callId)?.state;
    const state = advanceToolCall(from, event.state);
    facts.set(event.callId, {
      event: state === from && fact !== undefined ? fact.event : event,
      state,
      permitted: before.get(event.callId)?.permitted ?? false,
      path: before.get(event.callId)?.path ?? null,
      ended: fact?.ended === true || (state !== from && isEnd(toolCallTransitions, state)),
    });
  }
  return [...facts.values()];
}

/** Writes the facts of a batch: one statement. Sent before the first await. */
export async function writeToolCalls(
  tx: Transaction,
  claim: AttemptClaim,
  facts: readonly CallFact[],
): Promise<void> {
  if (facts.length === 0) return;
  await tx.query(
    `INSERT INTO tool_calls (session_id, attempt, call_id, turn, tool, state, exit_code, duration_ms, ended_at,
       reported)
     SELECT $1, $2, f."callId", f.turn, f.tool, f.state, f."exitCode", f."durationMs",
       CASE WHEN f.ended THEN now() END, f.reported
     FROM jsonb_to_recordset($3::jsonb) AS f ("callId" text, turn integer, tool text, state text,
       "exitCode" integer, "durationMs" double precision, ended boolean, reported boolean)
     ON CONFLICT (session_id, attempt, call_id) DO UPDATE SET state = excluded.state,
       exit_code = coalesce(excluded.exit_code, tool_calls.exit_code),
       duration_ms = coalesce(excluded.duration_ms, tool_calls.duration_ms),
       ended_at = coalesce(tool_calls.ended_at, excluded.ended_at)`,
    [
      claim.sessionId,
      claim.attempt,
      JSON.stringify(
        facts.map(({ event, state, ended }) => ({
          callId: event.callId,
          turn: fittingInteger(event.turn) ?? 0,
          tool: event.tool,
          state,
          exitCode: fittingInteger(event.exitCode),
          durationMs: event.durationMs ?? null,
          ended,
          reported: event.reported === true,
        })),
      ),
    ],
  );
}

/** A number that the column cannot hold is no fact; refusing it would make the journal send it for ever. */
function fittingInteger(value: number | null | undefined): number | null {
  return value == null || Math.abs(value) > 2_147_483_647 ? null : value;
}

/**
 * The entries of the calls that ended. A call without a permit is entered too, and says so: what was done must be on
 * record whether or not it was allowed. A call that never came to run (malformed, refused, canceled) ran nothing.
 */
export function executionEntries(claim: AttemptClaim, facts: readonly CallFact[]): AuditDraft[] {
  return facts
    .filter((fact) => fact.ended && (fact.permitted || fact.event.durationMs !== undefined))
    .flatMap((fact) => [executionEntry(claim, fact), ...fileEntries(claim, fact)]);
}

function executionEntry(claim: AttemptClaim, { event, state, permitted }: CallFact): AuditDraft {
  return {
    type: 'tool.executed',
    ...actor(claim),
    body: {
      call: event.callId,
      tool: event.tool,
      state,
      permitted,
      ...(event.reported === true ? { reported: true } : {}),
      exitCode: event.exitCode ?? null,
      durationMs: event.durationMs === undefined ? null : Math.round(event.durationMs),
      outputBytes: event.outputBytes ?? null,
      droppedBytes: event.droppedBytes ?? null,
    },
  };
}

/** How a tool touches the file that its call names. A command's files are not known: the diff tells what it changed. */
const fileAccess: ReadonlyMap<string, 'file.read' | 'file.modified'> = new Map([
  ['read_file', 'file.read'],
  ['search_files', 'file.read'],
  ['write_file', 'file.modified'],
  ['edit_file', 'file.modified'],
]);

function fileEntries(claim: AttemptClaim, { event, state, path }: CallFact): AuditDraft[] {
  const type = fileAccess.get(event.tool);
  if (type === undefined || state !== 'done') return [];
  // a search without a path goes through the whole working copy
  return [
    { type, ...actor(claim), body: { call: event.callId, path: path === null || path === '' ? '.' : path } },
  ];
}

function actor(claim: AttemptClaim): Pick<AuditDraft, 'subject' | 'attempt' | 'server'> {
  return {
    subject: serviceUri('agent-server', claim.serverId),
    attempt: claim.attempt,
    server: claim.serverId,
  };
}
