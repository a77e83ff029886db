import { tellEvents } from './events.ts';
import type { ArrangedProject } from './arrange-projects.ts';
import type { ToldPatch } from './patches.ts';
import type { ToldSession } from './story.ts';

type Row = Record<string, unknown>;

const at = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
const dollars = (tokens: number, perMillion: number): string => ((tokens * perMillion) / 1e6).toFixed(8);
const slotUsdPerSecond = 0.096 / 3600;

/** A session's rows by table, as the fleet writes them. */
export function rowsOfSession(
  session: ToldSession,
  patch: ToldPatch | null,
  project: ArrangedProject,
): Readonly<Record<string, Row[]>> {
  const events = tellEvents(session, patch);
  return {
    sessions: [sessionRow(session, project, events.length)],
    attempts: session.startedAt === null ? [] : [attemptRow(session, session.startedAt)],
    session_events: events.map(({ at: moment, event }, index) => ({
      session_id: session.id,
      position: index + 1,
      attempt: session.startedAt === null ? 0 : 1,
      at: at(moment),
      type: event.type,
      event,
    })),
    usage: session.turns === 0 ? [] : [usageRow(session)],
    cost_entries: costRows(session),
    diffs: patch === null || session.diff === null ? [] : [diffRow(session, session.diff.state, patch)],
  };
}

function sessionRow(session: ToldSession, project: ArrangedProject, events: number): Row {
  return {
    id: session.id,
    version: 6,
    project_id: session.project.id,
    state: session.state,
    phase: 'ended',
    reason: session.reason,
    message: null,
    attempt: session.startedAt === null ? 0 : 1,
    generation: 1,
    losses: session.reason === 'server_lost' ? 3 : 0,
    server_id: session.startedAt === null ? null : session.server,
    instruction: session.instruction,
    repository: { kind: 'git', url: session.project.repository },
    runtime: 'native',
    model: session.model.name,
    surface: session.surface,
    interactive: session.surface !== 'trigger',
    execution: 'server',
    opened_by: session.subject,
    policy: project.policy,
    policy_digest: project.digest,
    driver: session.runningAt === null ? null : 'bubblewrap',
    timings_ms: {},
    event_position: events,
    actions_used: session.turns,
    commands_used: Math.ceil(session.turns / 3),
    waited_ms: 0,
    created_at: at(session.createdAt),
    queued_at: at(session.createdAt),
    started_at: at(session.startedAt),
    running_at: at(session.runningAt),
    ended_at: at(session.endedAt),
    extensions_used: 0,
    follow_ups: false,
    placement_class: 'default',
    priority: 'normal',
    queue_delay_seconds: 0,
  };
}

function attemptRow(session: ToldSession, startedAt: number): Row {
  return {
    session_id: session.id,
    attempt: 1,
    server_id: session.server,
    state: session.reason === 'server_lost' ? 'lost' : 'ended',
    relay_token_hash: session.chance.hex(64),
    lease_expires_at: at(session.endedAt),
    start_deadline: at(startedAt + 60_000),
    acknowledged_seq: 0,
    created_at: at(startedAt),
    ended_at: at(session.endedAt),
    // Its slot is among the costs below.
    costed: true,
  };
}

function usageRow(session: ToldSession): Row {
  const [input, output, cacheRead, cacheWrite] = session.tokens;
  const usd = session.tokens.reduce(
    (sum, tokens, index) => sum + (tokens * (session.model.usd[index] ?? 0)) / 1e6,
    0,
  );
  return {
    id: `use_demo_${session.id}`,
    session_id: session.id,
    attempt: 1,
    provider: session.model.provider,
    model: session.model.name,
    state: 'settled',
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    cache_write_1h_tokens: 0,
    cost_usd: usd.toFixed(8),
    complete: true,
    price_book: 'demo',
    begun_at: at(session.runningAt),
    settled_at: at(session.endedAt),
  };
}

function costRows(session: ToldSession): Row[] {
  if (session.startedAt === null) return [];
  const [input, output, cacheRead, cacheWrite] = session.tokens;
  const [inputUsd, outputUsd, readUsd, writeUsd] = session.model.usd;
  const seconds = (session.endedAt - session.startedAt) / 1_000;
  const common = {
    session_id: session.id,
    day: new Date(session.createdAt).toISOString().slice(0, 10),
    project_id: session.project.id,
    agent: 'default',
    subject: session.subject,
    runtime: 'native',
    cost_centre: '',
    at: at(session.endedAt),
  };
  const nothing = {
    exchanges: 0,
    unpriced: 0,
    incomplete: 0,
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    slot_seconds: 0,
    input_usd: 0,
    output_usd: 0,
    cache_read_usd: 0,
    cache_write_usd: 0,
    other_usd: 0,
    compute_usd: 0,
  };
  const compute = {
    ...common,
    ...nothing,
    kind: 'compute',
    usage_id: null,
    provider: '',
    model: '',
    price_book: '',
    slot_seconds: seconds.toFixed(3),
    compute_usd: (seconds * slotUsdPerSecond).toFixed(8),
  };
  if (session.turns === 0) return [compute];
  return [
    compute,
    {
      ...common,
      ...nothing,
      kind: 'usage',
      usage_id: `use_demo_${session.id}`,
      provider: session.model.provider,
      model: session.model.name,
      price_book: 'demo',
      exchanges: session.turns,
      input_tokens: input,
      output_tokens: output,
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      input_usd: dollars(input, inputUsd),
      output_usd: dollars(output, outputUsd),
      cache_read_usd: dollars(cacheRead, readUsd),
      cache_write_usd: dollars(cacheWrite, writeUsd),
    },
  ];
}

function diffRow(session: ToldSession, state: string, patch: ToldPatch): Row {
  const decided = state === 'accepted' || state === 'rejected';
  return {
    session_id: session.id,
    summary: patch.summary,
    patch: `\\x${Buffer.from(patch.text).toString('hex')}`,
    state,
    decided_by: decided ? session.subject : null,
    decided_at: decided ? at(session.endedAt + 600_000) : null,
    created_at: at(session.endedAt),
  };
}
