import { z } from 'zod';
import { orderedRepositorySchema } from '../repository/source.ts';
import { credentialNameSchema } from './credential.ts';
import { buildOrderSchema, environmentOrderSchema } from './environment.ts';
import { egressRuleSchema } from '../policy/egress.ts';
import { folderFileSchema, folderPathSchema } from '../agents/folder.ts';
import { remoteToolDefinitionSchema } from '../tools/remote-tool.ts';
import { toolNames } from '../tools/catalogue.ts';
import { resumeOrderSchema } from './checkpoint.ts';
import { attemptSchema } from './identity.ts';

/** Where the person sits. */
export const surfaces = ['terminal', 'ide', 'api', 'trigger'] as const;
export type Surface = (typeof surfaces)[number];

/** Who drives the loop. */
export const runtimes = ['native', 'claude-code', 'codex'] as const;
export type RuntimeName = (typeof runtimes)[number];

/** Runtimes that can be stored in the middle of their work and go on from there; the others begin again. */
export const pausableRuntimes: readonly RuntimeName[] = ['native', 'claude-code', 'codex'];

/** Runtimes whose turn a person can interrupt without ending the session. */
export const interruptibleRuntimes: readonly RuntimeName[] = ['native', 'claude-code', 'codex'];

/** Whose tools a program in the sandbox uses. */
export const cliToolModes = ['own', 'hosted'] as const;
/** A folder of files by their contents' addresses; the server asks for those that it does not have. */
export const attachmentSchema = z.object({
  folder: folderPathSchema,
  files: z.array(folderFileSchema).max(2_000),
});

export type Attachment = z.infer<typeof attachmentSchema>;

/**
 * What the dispatcher hands an agent server with `PUT /sessions/:id`. Answers: 202 taken (also when repeated for the
 * same attempt), 409 `attempt_stale` when the server holds a later attempt, 429 `server_full` without a free slot.
 */
export const sessionOrderSchema = z.object({
  sessionId: z.string(),
  attempt: attemptSchema,
  projectId: z.string(),
  runtime: z.enum(runtimes),
  model: z.string(),
  surface: z.enum(surfaces),
  interactive: z.boolean(),
  instruction: z.string(),
  /** Whether the session asks for its person's next message when it has answered. */
  followUps: z.boolean().optional(),
  systemPrompt: z.string(),
  repository: orderedRepositorySchema,
  /** Folders below `/home/agent` that are laid before the first command. */
  attachments: z.array(attachmentSchema).max(100).optional(),
  /** What is taken out of `/home/agent` at the end. */
  collect: z.array(z.enum(['memory', 'files'])).optional(),
  /** Built-in tools that the policy does not disable. */
  tools: z.codec(z.array(z.string().max(64)).max(1_000), z.array(z.enum(toolNames)), {
    // One that this version does not know cannot be offered to the agent here, and is no fault of the order.
    decode: (names) => toolNames.filter((name) => names.includes(name)),
    encode: (names) => [...names],
  }),
  /** Approved tools of the agent's MCP servers; their calls are carried out by the dispatcher. */
  remoteTools: z.array(remoteToolDefinitionSchema).max(500).optional(),
  /**
   * Of a runtime that is a program in the sandbox: `own`, it uses the tools that it brings and only reports what it
   * does; `hosted`, those are off and it gets ours. Absent: `own`.
   */
  cliTools: z.enum(cliToolModes).optional(),
  continueAfterToolRejection: z.boolean(),
  /** A conversation that is longer than about so many tokens is cut short in the middle of the loop; absent: never. */
  compactAtTokens: z.int().min(1).optional(),
  commandMaxSeconds: z.int().min(1),
  commandMaxOutputBytes: z.int().min(1),
  /** Name of the sandbox profile; the server refuses one that it does not have. */
  profile: z.string(),
  /** Hosts that the sandbox may reach, as the policy names them; absent: none. */
  egress: z.array(egressRuleSchema).max(200).optional(),
  /** The agent's credentials: the environment of every command, written down nowhere on the server. */
  credentials: z.record(credentialNameSchema, z.string().max(64 * 1024)).optional(),
  /** The project's environment, which goes under the working copy; absent: none. */
  environment: environmentOrderSchema.optional(),
  /** The session prepares that environment instead of working. */
  build: buildOrderSchema.optional(),
  /** Bearer of the model relay and nothing else; valid under this server's certificate while the attempt runs. */
  relayToken: z.string(),
  /** First lease; the server counts it from when the order arrived. Milliseconds. */
  leaseMs: z.int().min(1),
  /** Wall time after which the attempt must have started running. Milliseconds from arrival. */
  startWithinMs: z.int().min(1),
  /** The checkpoint that the session goes on from; absent at its beginning. */
  resume: resumeOrderSchema.optional(),
  /** `traceparent` of the placement, where the dispatcher traces. */
  trace: z.string().max(55).optional(),
  /** How often a checkpoint is taken while it works, in milliseconds; absent: never. */
  checkpointEveryMs: z.int().min(1).optional(),
});
export type SessionOrder = z.infer<typeof sessionOrderSchema>;

/** `POST /sessions/:id/commands`, and the same records in the answers to event batches and heartbeats. */
export const serverCommandSchema = z.object({
  sessionId: z.string(),
  attempt: attemptSchema,
  kind: z.enum(['stop', 'pause', 'interrupt']),
  /** End reason that the dispatcher has recorded, or why the session is to be paused. */
  reason: z.string(),
});
export type ServerCommand = z.infer<typeof serverCommandSchema>;
