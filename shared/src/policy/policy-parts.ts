import { z } from 'zod';
import { toolNames } from '../tools/catalogue.ts';
import { verdictAliases, verdicts } from './verdict.ts';
import type { Verdict, VerdictAlias } from './verdict.ts';

const aliases = Object.keys(verdictAliases) as [VerdictAlias, ...VerdictAlias[]];

/** A tool's value: one of the three verdicts or the terminal's name of it, stored as the verdict. */
export const verdictSchema = z
  .enum([...verdicts, ...aliases])
  .transform((value): Verdict => verdictAliases[value as VerdictAlias] ?? (value as Verdict));

const policyToolName = new RegExp(
  `^(?:${toolNames.join('|')}|[a-z][a-z0-9-]{0,31}/(?:[*]|[A-Za-z0-9_.-]{1,90}))$`,
);

/** A tool's name in a policy: a built-in tool's, `server/tool` or `server/*`. A misspelt one would guard nothing. */
export const policyToolSchema = z
  .string()
  .regex(
    policyToolName,
    `must be one of ${toolNames.join(', ')}, or "server/tool" or "server/*" of an MCP server`,
  );

/** Values of tools; a tool that is absent is asked about. */
export const toolsSchema = z.record(policyToolSchema, verdictSchema);

const printable = /^[^\u0000-\u001f\u007f]+$/;

/** The first words of a command, as in `git status`; it covers every command that begins with these words. */
export const commandPrefixSchema = z
  .string()
  .max(1000)
  .regex(printable, 'must be one line of text')
  .regex(/\S/, 'must name a command');

/** Path pattern as in `.github/**`; relative to the root of the working copy, case ignored. */
export const pathPatternSchema = z.string().min(1).max(500).regex(printable, 'must be one line of text');

/** A name that is compared as a whole, such as a model id or a runtime. */
export const nameSchema = z.string().min(1).max(200).regex(printable, 'must be one line of text');

/**
 * Bounds that no session is without, far above what a long task uses: 400 actions, which is a session with all its
 * extensions, each with a conversation that is just about to be cut short, are 48 million tokens.
 */
export const usualBounds = { maxTokens: 50_000_000, maxCostUsd: '100', maxCommands: 1_000 } as const;

/** Bounds of a session. Minutes are working minutes; money is a decimal text in US dollars. */
export const budgetsSchema = z.strictObject({
  maxActions: z.int().min(1).max(100_000).default(150),
  maxMinutes: z.int().min(1).max(10_080).default(45),
  maxExtensions: z.int().min(0).max(1000).default(5),
  maxTokens: z.int().min(1).default(usualBounds.maxTokens),
  maxCostUsd: z
    .string()
    .regex(/^\d{1,9}(\.\d{1,12})?$/, 'must be a decimal text such as "2.50"')
    .optional()
    .meta({ default: usualBounds.maxCostUsd }),
  maxCommands: z.int().min(1).max(1_000_000).default(usualBounds.maxCommands),
  /**
   * Whether a model may be asked that has no price, so that no bound of money can hold it; tokens bound it all the same.
   * Absent: not where the policy writes a bound of money itself.
   */
  unpricedModels: z.enum(['allow', 'refuse']).optional(),
});

/**
 * What more than one person has to approve. A rule fits a call by tool, by command or by path, and a diff by the files
 * that are accepted.
 */
export const fourEyesRuleSchema = z
  .strictObject({
    tools: z.array(policyToolSchema).max(200).default([]),
    commands: z.array(commandPrefixSchema).max(500).default([]),
    paths: z.array(pathPatternSchema).max(500).default([]),
    /** Files of a diff; `**` is every diff. */
    diffs: z.array(pathPatternSchema).max(500).optional(),
    /** How many different people. */
    people: z.int().min(2).max(5).default(2),
  })
  .refine(
    (rule) => rule.tools.length + rule.commands.length + rule.paths.length + (rule.diffs ?? []).length > 0,
    {
      message: 'must name tools, commands, paths or diffs; a rule without any fits nothing',
    },
  )
  // the same for the published schema, which cannot hold a function
  .meta({
    anyOf: ['tools', 'commands', 'paths', 'diffs'].map((name) => ({
      required: [name],
      properties: { [name]: { minItems: 1 } },
    })),
  });
export type FourEyesRule = z.output<typeof fourEyesRuleSchema>;

/** The settings' names of the three bounds; the same as the members of `budgets`. */
export const boundSettings = {
  'execution.sessionMaxActions': 'maxActions',
  'execution.sessionMaxMinutes': 'maxMinutes',
  'execution.sessionMaxExtensions': 'maxExtensions',
} as const;
