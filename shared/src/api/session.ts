import { z } from 'zod';
import { jsonObjectSchema } from '../json.ts';
import { surfaces } from '../protocol/session-order.ts';
import { deciders } from '../protocol/permit.ts';
import { diffSummarySchema } from '../repository/diff.ts';
import { placementName } from '../queue/placement-class.ts';
import { priorities } from '../queue/priority.ts';
import { repositorySourceSchema } from '../repository/source.ts';
import { sessionBoundsSchema } from '../session/allowance.ts';
import { endReasons, pauseReasons } from '../session/end.ts';
import { sessionStates } from '../session/state.ts';
import { toolCallStates } from '../tool-call/state.ts';

/** `LEMNISCATE_AGENT_EXECUTION`: absent means `workstation`, anything else is refused. */
export const executions = ['server', 'workstation'] as const;
export type Execution = (typeof executions)[number];

/** Body of `POST /v1/sessions`. */
export const createSessionSchema = z.strictObject({
  instruction: z.string().min(1).max(100_000),
  project: z.string().min(1).max(128).default('local'),
  agent: z.string().min(1).max(128).optional(),
  model: z.string().min(1).max(128).optional(),
  /** Absent: the agent's own, else `native`. */
  runtime: z.string().min(1).max(64).optional(),
  repository: repositorySourceSchema,
  surface: z.enum(surfaces).default('api'),
  /** Whether a person follows and can answer. Without one an `ask` is refused by automation. */
  interactive: z.boolean().default(false),
  execution: z.enum(executions).default('server'),
  /** Whether it stays for further messages when it has answered; otherwise it ends then. */
  followUps: z.boolean().default(false),
  /** Tighter bounds than the policy's; looser ones have no effect. */
  bounds: sessionBoundsSchema.optional(),
  /** Its turn among the project's own waiting sessions; absent: by surface, a person who waits first. */
  priority: z.enum(priorities).optional(),
  /** What its server must have, beside what the project asks for. */
  requires: z
    .strictObject({
      architecture: z.string().regex(placementName, 'must be a name such as arm64').optional(),
      labels: z.array(z.string().regex(placementName, 'must be a name')).max(16).optional(),
    })
    .optional(),
  /** Pins the session to one agent server, such as the one that the CLI started on this machine. */
  server: z.string().min(1).max(64).optional(),
  /** Blocks until the session has ended, at most `maxWaitSeconds`. */
  wait: z.boolean().default(false),
});
export type CreateSession = z.input<typeof createSessionSchema>;

/** The longest that `wait: true` blocks; afterwards the answer is 202 with the session as it stands. */
export const maxWaitSeconds = 660;

export const usageTotalsSchema = z.object({
  inputTokens: z.int(),
  outputTokens: z.int(),
  cacheReadTokens: z.int(),
  cacheWriteTokens: z.int(),
});

/** What a program in the sandbox counted itself, beside what the gateway metered. */
export const reportedUsageSchema = usageTotalsSchema.extend({
  /** By the program's own price list. */
  costUsd: z.string().nullable(),
  /** Metered minus reported, bucket by bucket: what the program did not see or did not say. */
  difference: usageTotalsSchema,
});

/** One session as the API shows it. */
export const sessionViewSchema = z
  .object({
    id: z.string(),
    version: z.int(),
    project: z.string(),
    agent: z.object({ id: z.string(), version: z.int() }),
    state: z.enum(sessionStates),
    phase: z.string(),
    reason: z.enum([...endReasons, ...pauseReasons]).nullable(),
    message: z.string().nullable(),
    /** Exit code of the terminal client, from the table of ends; null before the end. */
    exitCode: z.int().nullable(),
    attempt: z.int(),
    server: z.string().nullable(),
    instruction: z.string(),
    repository: repositorySourceSchema,
    runtime: z.string(),
    model: z.string(),
    surface: z.enum(surfaces),
    execution: z.enum(executions),
    openedBy: z.string(),
    policyDigest: z.string(),
    createdAt: z.string(),
    startedAt: z.string().nullable(),
    runningAt: z.string().nullable(),
    endedAt: z.string().nullable(),
    timingsMs: z.record(z.string(), z.number()),
    sandbox: z.object({ driver: z.string().nullable() }),
    usage: usageTotalsSchema,
    totalCostUsd: z.string(),
    priced: z.boolean(),
    reportedUsage: reportedUsageSchema.nullable(),
    diff: diffSummarySchema
      .extend({
        state: z.enum(['offered', 'accepted', 'rejected', 'discarded']),
        /** Paths of the accepted files; null: all, or not decided. */
        acceptedFiles: z.array(z.string()).nullable(),
      })
      .nullable(),
    /** While it waits for a server, else null. */
    queue: z
      .object({
        /** 1: next; 0: a server is being asked. Far back in a long queue it is the upper bound. */
        position: z.int(),
        /** From the pace of the last minutes; null: nothing has been started of late, so nobody can tell. */
        estimatedWaitSeconds: z.int().nullable(),
        /** Why it does not move: intake is paused for the whole fleet, its pool or its project. */
        paused: z.enum(['fleet', 'pool', 'project']).nullable(),
      })
      .nullable(),
    /** What it may use until it has to stop or ask, with its extensions; null where its policy sets no bounds. */
    budget: z
      .object({
        actions: z.int(),
        actionsUsed: z.int(),
        /** Of work: a wait for people is taken off when it is over. */
        minutes: z.number(),
        minutesUsed: z.number(),
        extensionsLeft: z.int(),
      })
      .nullable(),
    /** The session whose agent has handed this one a part of its task; usage and cost of a session hold its sub-agents'. */
    parent: z.string().nullable(),
  })
  .meta({ id: 'Session' });
export type SessionView = z.infer<typeof sessionViewSchema>;

export const sessionPageSchema = z.object({
  sessions: z.array(sessionViewSchema),
  nextCursor: z.string().nullable(),
});
export type SessionPage = z.infer<typeof sessionPageSchema>;

/** One row of `GET /v1/sessions/:id/tool-calls`. */
export const toolCallViewSchema = z
  .object({
    callId: z.string(),
    attempt: z.int(),
    turn: z.int(),
    tool: z.string(),
    state: z.enum(toolCallStates),
    decidedBy: z.enum(deciders).nullable(),
    exitCode: z.int().nullable(),
    durationMs: z.number().nullable(),
    /** A program in the sandbox made it with a tool of its own: what it did is its word. */
    reported: z.boolean(),
  })
  .meta({ id: 'ToolCall' });
export type ToolCallView = z.infer<typeof toolCallViewSchema>;

/** One approval; its person sends `argumentsDigest` back as displayed. */
export const approvalViewSchema = z
  .object({
    id: z.string(),
    sessionId: z.string(),
    callId: z.string(),
    tool: z.string(),
    title: z.string(),
    arguments: jsonObjectSchema,
    argumentsDigest: z.string(),
    reasons: z.array(z.string()),
    state: z.enum(['waiting', 'approved', 'rejected', 'expired', 'withdrawn']),
    /** How many different people have to approve, and who has. */
    people: z.int(),
    approvedBy: z.array(z.string()),
    /** What an approval "for this session" would cover: exactly this command, path or arguments of the tool. */
    pattern: z.string(),
    /** Where a sub-agent asks: the session that it works for. */
    delegatedBy: z.string().nullable(),
    createdAt: z.string(),
    expiresAt: z.string(),
  })
  .meta({ id: 'Approval' });
export type ApprovalView = z.infer<typeof approvalViewSchema>;

/** Body of `POST /v1/sessions/:id/approvals/:approvalId`. */
export const decideApprovalSchema = z.strictObject({
  decision: z.enum(['approve', 'reject']),
  /** `session`: also every later call of the tool with exactly the same pattern in this session. */
  scope: z.enum(['once', 'session']).default('once'),
  argumentsDigest: z.string(),
  message: z.string().max(4096).optional(),
});
export type DecideApproval = z.input<typeof decideApprovalSchema>;

/** Body of `POST /v1/sessions/:id/diff/accept`: flagged files must be named. */
export const acceptDiffSchema = z.strictObject({
  sha256: z.string(),
  flaggedFiles: z.array(z.string()).default([]),
  /** Paths of the files that are accepted; the others are rejected with it. Absent: the whole diff. */
  files: z.array(z.string()).min(1).max(100_000).optional(),
});

/** What became of a diff after a person's word. Where several have to accept it, it may still be offered. */
export const decidedDiffSchema = z.object({
  state: z.enum(['offered', 'accepted', 'rejected']),
  acceptedFiles: z.array(z.string()).nullable(),
  /** How many different people have to accept it, and who has. */
  people: z.int(),
  acceptedBy: z.array(z.string()),
});
export type DecidedDiff = z.infer<typeof decidedDiffSchema>;
