import { z } from 'zod';
import { cliToolModes, runtimes } from '../protocol/session-order.ts';
import { credentialNameSchema } from '../protocol/credential.ts';
import { gatewayRulesSchema } from '../model/gateway-rules.ts';
import { providerTools } from '../model/provider-tools.ts';
import { delegationSchema } from './delegation.ts';
import { egressRuleSchema } from './egress.ts';
import { environmentSchema } from './environment.ts';
import { defaultFlaggedPaths } from './flagged-paths.ts';
import {
  budgetsSchema,
  commandPrefixSchema,
  fourEyesRuleSchema,
  nameSchema,
  pathPatternSchema,
  toolsSchema,
  usualBounds,
} from './policy-parts.ts';
import { fetchDepthSchema } from '../repository/source.ts';
import { defaultVerdict } from './verdict.ts';
import type { Verdict } from './verdict.ts';

/** Where a project's sessions may run. */
export const executionRules = ['server', 'workstation', 'either'] as const;

const writtenPolicySchema = z.strictObject({
  tools: toolsSchema.default({}),
  /** Commands that run unasked, if `run_command` itself is allowedWithoutPermission. */
  freeCommands: z.array(commandPrefixSchema).max(2000).default([]),
  /** Commands that ask although a free command covers them. */
  approvalCommands: z.array(commandPrefixSchema).max(2000).default([]),
  budgets: budgetsSchema.prefault({}),
  commandMaxSeconds: z.int().min(1).max(86_400).default(600),
  commandMaxOutputBytes: z
    .int()
    .min(1024)
    .max(1024 * 1024 * 1024)
    .default(10 * 1024 * 1024),
  flaggedPaths: z
    .array(pathPatternSchema)
    .max(2000)
    .default([...defaultFlaggedPaths]),
  execution: z.enum(executionRules).default('either'),
  /** Absent: every model and runtime that the fleet offers. */
  models: z.array(nameSchema).min(1).max(500).optional(),
  runtimes: z.array(z.enum(runtimes)).min(1).max(50).optional(),
  /** Hosts that sandboxes may reach; absent: none. A session with egress is not run again by itself when it is lost. */
  egress: z.array(egressRuleSchema).max(200).optional(),
  /** Credentials of agents, by variable, that sandboxes may be given; absent: none. Such a session is treated as one with egress. */
  credentials: z.array(credentialNameSchema).max(200).optional(),
  /** Families of tools that run at the model's provider; absent: none. */
  providerTools: z.array(z.enum(providerTools)).max(20).optional(),
  /** MCP servers whose tools may be used; absent: every one that the session's agent has. */
  mcpServers: z.array(nameSchema).max(200).optional(),
  /** Name of the sandbox profile; absent: the fleet's default one. */
  sandboxProfile: nameSchema.optional(),
  /** How much of a huge repository servers fetch; absent: all of its history. */
  repository: fetchDepthSchema.optional(),
  /** How the project's dependencies are installed before its sessions; absent: they get what the image has. */
  environment: environmentSchema.optional(),
  /** What the model gateway lets this project do beyond its lists. */
  gateway: gatewayRulesSchema.optional(),
  /** Whether a person's rejection lets the loop go on with a message to the model. */
  continueAfterToolRejection: z.boolean().default(false),
  /** Seconds that an approval may wait for its person. */
  approvalTtlSeconds: z
    .int()
    .min(1)
    .max(30 * 86_400)
    .default(86_400),
  /** Of runtimes that are programs in the sandbox. `hosted`: their own tools are off and they get ours. */
  cli: z.strictObject({ tools: z.enum(cliToolModes) }).optional(),
  /** Tokens, by estimate, beyond which a conversation is cut short; below the context of the models that may be used. */
  compactAtTokens: z.int().min(2_000).max(10_000_000).default(120_000),
  /** How far agents may hand parts of their task to sub-agents; absent: one level, eight of them. */
  delegation: delegationSchema.optional(),
  fourEyes: z.array(fourEyesRuleSchema).max(200).optional(),
  /** Another spelling of `budgets.maxActions` and its like, for settings files; not both. */
  'execution.sessionMaxActions': budgetsSchema.shape.maxActions.removeDefault().optional(),
  'execution.sessionMaxMinutes': budgetsSchema.shape.maxMinutes.removeDefault().optional(),
  'execution.sessionMaxExtensions': budgetsSchema.shape.maxExtensions.removeDefault().optional(),
});

/**
 * A project's policy, written by its administrator. Unknown members are refused: a misspelt rule that is
 * silently ignored would loosen. Every member has a default, and the defaults ask.
 */
export const policySchema = writtenPolicySchema.transform((written) => {
  const {
    'execution.sessionMaxActions': maxActions,
    'execution.sessionMaxMinutes': maxMinutes,
    'execution.sessionMaxExtensions': maxExtensions,
    ...policy
  } = written;
  return {
    ...policy,
    budgets: {
      ...policy.budgets,
      maxCostUsd: policy.budgets.maxCostUsd ?? usualBounds.maxCostUsd,
      unpricedModels:
        policy.budgets.unpricedModels ?? (policy.budgets.maxCostUsd === undefined ? 'allow' : 'refuse'),
      ...(maxActions === undefined ? {} : { maxActions }),
      ...(maxMinutes === undefined ? {} : { maxMinutes }),
      ...(maxExtensions === undefined ? {} : { maxExtensions }),
    },
  };
});

/** A policy as it is evaluated: every default filled in. */
export type Policy = z.output<typeof policySchema>;
/** A policy as it is written. */
export type PolicyInput = z.input<typeof policySchema>;

/** The policy of a project whose administrator wrote nothing. */
export function defaultPolicy(): Policy {
  return policySchema.parse({});
}

/**
 * The base value of a tool, before its arguments are looked at. A tool of an MCP server is called `server/tool`; where
 * it has no value of its own, `server/*` counts.
 */
export function toolVerdict(policy: Policy, tool: string): Verdict {
  const server = /^([^/]+)\/./.exec(tool)?.[1];
  if (server !== undefined && policy.mcpServers?.includes(server) === false) return 'disabled';
  const given = (name: string): Verdict | undefined =>
    Object.hasOwn(policy.tools, name) ? policy.tools[name] : undefined;
  return given(tool) ?? (server === undefined ? undefined : given(`${server}/*`)) ?? defaultVerdict;
}
