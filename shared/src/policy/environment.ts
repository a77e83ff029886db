import { z } from 'zod';
import { egressRuleSchema } from './egress.ts';
import { pathPatternSchema } from './policy-parts.ts';

/** What a session does whose environment is missing or stale. */
export const onMissingRules = ['wait', 'build', 'proceed'] as const;

/** Files that say what is to be installed, where a project names none itself. */
export const usualLockfiles = [
  'package.json',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'yarn.lock',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  'requirements*.txt',
  'pyproject.toml',
  'poetry.lock',
  'uv.lock',
  'Pipfile.lock',
  'Cargo.toml',
  'Cargo.lock',
  'go.mod',
  'go.sum',
  'Gemfile',
  'Gemfile.lock',
  'composer.json',
  'composer.lock',
] as const;

const plainName = '(?!\\.{1,2}(?:/|$))[^/\\\\]+';

/** A path relative to the repository's root; `*` stands for any part of one name. */
const inputPattern = pathPatternSchema.regex(
  new RegExp(`^(?![^]*\\*\\*)${plainName}(?:/${plainName})*$`),
  'must be a plain path, relative to the root of the repository, without "**"',
);

/** What `prepare` and the sessions' commands are given; some names would run code. */
const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable')
  .regex(/^(?!(?:ENV|ZDOTDIR|SHELLOPTS|BASHOPTS|BASH_.*|LD_PRELOAD|LD_AUDIT)$)/, 'this variable runs code');

/**
 * How a project's dependencies are installed before any session, with a network that no session has. Whoever writes the
 * policy approves the text: it stands here, or in the repository at a commit that is named whole, so that nobody who
 * pushes to a branch can change what runs.
 */
export const environmentSchema = z.strictObject({
  /** Run by bash in an empty copy of the repository that has the lockfiles and nothing else. */
  prepare: z.union([
    z
      .string()
      .min(1)
      .max(64 * 1024),
    z.strictObject({
      file: inputPattern,
      revision: z
        .string()
        .regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/, 'must be the whole id of a commit; a branch can be moved'),
    }),
  ]),
  /** What `prepare` reads of the repository. The environment is another one as soon as one of these changes. */
  lockfiles: z
    .array(inputPattern)
    .min(1)
    .max(100)
    .default([...usualLockfiles]),
  /** Hosts that `prepare` may reach. */
  egress: z.array(egressRuleSchema).max(200).default([]),
  /** Of `prepare`, and of every command of the sessions. */
  variables: z.record(variableName, z.string().max(4096)).default({}),
  onMissing: z.enum(onMissingRules).default('build'),
  /** Built anew after so long; twice as old it counts as stale. Absent: only when something changes. */
  rebuildEveryHours: z.int().min(1).max(8760).optional(),
  /** How long a session waits for somebody else's build. */
  waitMinutes: z.int().min(1).max(1440).default(60),
  maxMinutes: z.int().min(1).max(240).default(20),
  /** Files in which the scan for secrets may find something: fixtures of packages. */
  allowSecretsIn: z.array(pathPatternSchema).max(500).default([]),
});
export type EnvironmentPolicy = z.output<typeof environmentSchema>;
