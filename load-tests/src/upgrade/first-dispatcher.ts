import { z } from 'zod';

// Version 1 of the protocol as it was first spoken, from the side of a dispatcher that nobody has upgraded: what it sends to a
// server, how strictly it reads what comes back, and its answers. Written down once and never changed with the code.

/** The order that it sends with `PUT /sessions/:id`. */
export function firstOrder(sessionId: string, repositoryPath: string): object {
  return {
    sessionId,
    attempt: 1,
    projectId: 'local',
    runtime: 'native',
    model: 'scripted-1',
    surface: 'api',
    interactive: false,
    instruction: 'Mend sum.sh.',
    systemPrompt: 'You mend programs.',
    repository: { kind: 'path', path: repositoryPath },
    tools: ['read_file', 'write_file', 'edit_file', 'list_files', 'search_files', 'run_command'],
    continueAfterToolRejection: false,
    commandMaxSeconds: 600,
    commandMaxOutputBytes: 10_485_760,
    profile: 'default',
    relayToken: 'relay-token',
    leaseMs: 15_000,
    startWithinMs: 60_000,
  };
}

/** The command that it sends with `POST /sessions/:id/commands`. */
export const firstStop = (sessionId: string): object => ({
  sessionId,
  attempt: 1,
  kind: 'stop',
  reason: 'stopped',
});

const named = z.object({ sessionId: z.string(), attempt: z.int().min(1).max(1_000_000) });
const text = z.string().max(256 * 1024);
const digest = z.string().regex(/^[0-9a-f]{64}$/);

const status = z.object({
  protocol: z.literal(1),
  bootId: z.string(),
  capacity: z.int().min(0).max(100_000),
  held: z.array(named).max(100_000),
  warm: z.int().min(0),
  driver: z.string(),
  profiles: z.array(z.string()),
  draining: z.boolean(),
  unhealthy: z.string().optional(),
});

const event = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('running'),
    driver: z.string(),
    warm: z.boolean(),
    timingsMs: z.record(z.string(), z.number()),
  }),
  z.object({
    type: z.literal('phase'),
    phase: z.enum(['booting', 'preparing', 'working', 'waiting', 'finishing']),
  }),
  z.object({ type: z.literal('turn'), turn: z.int().min(1) }),
  z.object({ type: z.literal('text'), turn: z.int().min(1), text }),
  z.object({
    type: z.literal('tool_call'),
    callId: z.string().max(128),
    turn: z.int().min(1),
    tool: z.string().max(128),
    state: z.enum(['generating', 'generated', 'calling', 'done', 'errored', 'canceled']),
    title: z.string().max(4096).optional(),
    decidedBy: z.enum(['human', 'automation']).optional(),
    exitCode: z.int().nullable().optional(),
    durationMs: z.number().min(0).optional(),
    outputBytes: z.int().min(0).optional(),
    droppedBytes: z.int().min(0).optional(),
    message: z.string().max(4096).optional(),
    preview: z.string().max(4096).optional(),
  }),
  z.object({ type: z.literal('output'), callId: z.string(), stream: z.enum(['stdout', 'stderr']), text }),
  z.object({ type: z.literal('notice'), text: z.string().max(4096) }),
]);

const events = z.object({
  firstSeq: z.int().min(1),
  events: z
    .array(z.object({ at: z.string(), event }))
    .min(1)
    .max(1_000),
});

const permit = z.object({
  callId: z.string().min(1).max(128),
  turn: z.int().min(1),
  tool: z.string().min(1).max(128),
  arguments: z.record(z.string(), z.unknown()),
  argumentsDigest: digest,
  waitMs: z.int().min(0).max(30_000),
});

const result = z.object({
  reason: z.enum(['finished', 'start_failed', 'model_failed', 'runtime_failed', 'stopped']),
  message: z.string().max(16_384),
  diff: z
    .object({
      sha256: digest,
      bytes: z.int().min(0),
      baseCommit: z.string(),
      baseTree: z.string(),
      files: z.array(
        z.object({
          path: z.string(),
          previousPath: z.string().optional(),
          change: z.enum(['added', 'modified', 'deleted', 'renamed', 'copied', 'type_changed']),
          insertions: z.int().min(0).nullable(),
          deletions: z.int().min(0).nullable(),
          flags: z.array(
            z.enum(['ci', 'build_script', 'hook', 'dependencies', 'agent_instructions', 'nested_git']),
          ),
        }),
      ),
      insertions: z.int().min(0),
      deletions: z.int().min(0),
    })
    .nullable(),
  patch: z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('inline'), base64: z.string().max(349_532) }),
      z.object({ kind: z.literal('upload'), uploadId: z.string() }),
    ])
    .nullable(),
  timingsMs: z.record(z.string(), z.number()),
});

/** Takes a message of a server: `sender` is the session with its attempt, or empty for a heartbeat. @throws where it would refuse it */
export type TakeAsFirst = (what: string, sender: string, body: unknown) => object;

/** How a dispatcher of the first protocol takes messages, by the last part of their paths. What is not here it did not know. */
export function createFirstDispatcher(): TakeAsFirst {
  const acknowledged = new Map<string, number>();
  const takes: Readonly<Record<string, (sender: string, body: unknown) => object>> = {
    heartbeat: (_, body) => ({
      leases: status.parse(body).held.map((held) => ({ ...held, leaseMs: 15_000 })),
      stale: [],
      commands: [],
    }),
    events: (sender, body) => {
      const batch = events.parse(body);
      const seq = Math.max(acknowledged.get(sender) ?? 0, batch.firstSeq + batch.events.length - 1);
      acknowledged.set(sender, seq);
      return { acknowledgedSeq: seq, commands: [] };
    },
    permits: (_, body) => {
      permit.parse(body);
      return { verdict: 'go', decidedBy: 'automation', reasons: [] };
    },
    result: (_, body) => {
      result.parse(body);
      return { accepted: true };
    },
  };
  return (what, sender, body) => {
    const take = takes[what];
    if (take === undefined) throw new Error(`a dispatcher of the first protocol has no ${what}`);
    return take(sender, body);
  };
}
