import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { readEnvironment, variable } from '@lemniscate/shared/config/environment.ts';
import { bucketEncryptions } from '@lemniscate/shared/storage/bucket-encryption.ts';
import { usualBounds } from '@lemniscate/shared/policy/policy-parts.ts';
import { isIP } from 'node:net';
import type { FirstAdministrators } from './application/access/logins.ts';
import type { ConfiguredServer } from './application/servers/configured-server.ts';
import { parseConfiguredServers } from './application/servers/configured-server.ts';
import { isLoopback } from './domain/loopback.ts';

/** Every variable of the dispatcher. Times are milliseconds unless the name says otherwise. */
const dispatcherVariables = z.object({
  DATABASE_URL: variable.url('postgres:', 'postgresql:').transform((text) => new URL(text)),
  /** The same database without a pooler, for migrations and locks of a session; absent: DATABASE_URL is direct. */
  LEMNISCATE_DIRECT_DATABASE_URL: variable
    .url('postgres:', 'postgresql:')
    .transform((text) => new URL(text))
    .optional(),
  REDIS_URL: variable.url('redis:', 'rediss:').transform((text) => new URL(text)),
  S3_ENDPOINT: variable.url('http:', 'https:'),
  S3_BUCKET: variable.text().default('lemniscate'),
  /** How the bucket is asked to encrypt what it keeps, and held to it by each answer. `bucket`: as it does by itself, warned of where it says nothing. */
  S3_ENCRYPTION: variable.oneOf(bucketEncryptions).default('bucket'),
  /** Of `aws:kms`: the key; absent: the account's own for S3. */
  S3_ENCRYPTION_KEY: variable.text().optional(),
  /** Absent, with AWS_SECRET_ACCESS_KEY: what the machine or task is, such as a task's role on AWS. */
  AWS_ACCESS_KEY_ID: variable.text().optional(),
  AWS_SECRET_ACCESS_KEY: variable.secret().optional(),
  AWS_REGION: variable.text().default('us-east-1'),
  LEMNISCATE_HOST: variable.text().default('127.0.0.1'),
  LEMNISCATE_PORT: variable.integer(0, 65_535).default(7420),
  LEMNISCATE_INTERNAL_HOST: variable.text().default('127.0.0.1'),
  LEMNISCATE_INTERNAL_PORT: variable.integer(0, 65_535).default(7421),
  LEMNISCATE_TLS_CA: variable.text(),
  LEMNISCATE_TLS_CERT: variable.text(),
  LEMNISCATE_TLS_KEY: variable.text(),
  /** Lets workstations join; without it `POST /v1/servers` is refused. */
  LEMNISCATE_CA_KEY: variable.text().optional(),
  AGENT_SERVERS: z.string().default('').transform(parseServers),
  /** More of the same from a file, one or several a line, read again whenever it changes. */
  AGENT_SERVERS_FILE: variable.text().optional(),
  LEMNISCATE_LOCAL_LOGIN: variable.text().optional(),
  /** Who administers the fleet before roles are bound: `group:NAME` and `person:SUBJECT`, with commas between. */
  LEMNISCATE_ADMINISTRATORS: z.string().default('').transform(parseAdministrators),
  /** Requests that one login may send in a minute to one dispatcher. */
  LEMNISCATE_REQUESTS_PER_MINUTE: variable.integer(10, 10_000_000).default(30_000),
  /** Addresses or networks of the proxies in front, with commas: their word on a caller's address counts. */
  LEMNISCATE_TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform(hostsIn)
    .refine(
      (proxies) => proxies.every(isNetwork),
      'must be addresses or networks such as 10.0.0.0/16, with commas',
    ),
  /** Hours until a login ends by itself. */
  LEMNISCATE_LOGIN_HOURS: variable.integer(1, 168).default(12),
  /** The organisation's OpenID Connect issuer; with it there is no local login. */
  LEMNISCATE_OIDC_ISSUER: variable.url('https:', 'http:').optional(),
  LEMNISCATE_OIDC_CLIENT_ID: variable.text().optional(),
  LEMNISCATE_OIDC_CLIENT_SECRET: variable.secret().optional(),
  /** Takes the issuer's access tokens for this audience from programs. */
  LEMNISCATE_OIDC_AUDIENCE: variable.text().optional(),
  LEMNISCATE_OIDC_SCOPES: variable.text().default('openid profile email'),
  LEMNISCATE_OIDC_GROUPS_CLAIM: variable.text().default('groups'),
  LEMNISCATE_OIDC_SKEW_SECONDS: variable.integer(0, 300).default(60),
  LEMNISCATE_OIDC_KEYS_COOLDOWN_MS: variable.integer(0, 300_000).default(30_000),
  /** Where people reach the public listener, if not at its own address. */
  LEMNISCATE_PUBLIC_URL: variable.url('https:', 'http:').optional(),
  /** A directory that knows the groups of those whom the issuer vouches for. */
  LEMNISCATE_LDAP_URL: variable.url('ldaps:', 'ldap:').optional(),
  LEMNISCATE_LDAP_BIND_DN: variable.text().optional(),
  LEMNISCATE_LDAP_BIND_PASSWORD: variable.secret().optional(),
  LEMNISCATE_LDAP_USER_BASE: variable.text().optional(),
  LEMNISCATE_LDAP_USER_ATTRIBUTE: variable.text().default('mail'),
  LEMNISCATE_LDAP_USER_CLAIM: variable.oneOf(['email', 'subject']).default('email'),
  LEMNISCATE_LDAP_GROUP_BASE: variable.text().optional(),
  LEMNISCATE_LDAP_MEMBER_ATTRIBUTE: variable.text().default('member'),
  LEMNISCATE_LDAP_GROUP_NAME_ATTRIBUTE: variable.text().default('cn'),
  LEMNISCATE_DEFAULT_POLICY: variable.text().optional(),
  /** Folder of the built web console; without it none is served. */
  LEMNISCATE_CONSOLE_FOLDER: variable.text().optional(),
  LEMNISCATE_MODEL: variable.text().optional(),
  ANTHROPIC_API_KEY: variable.secret().optional(),
  ANTHROPIC_BASE_URL: variable.url('http:', 'https:').default('https://api.anthropic.com'),
  OPENAI_API_KEY: variable.secret().optional(),
  OPENAI_BASE_URL: variable.url('http:', 'https:').default('https://api.openai.com'),
  /** A file that names more providers, with references to their keys. */
  LEMNISCATE_PROVIDERS: variable.text().optional(),
  /** A file of prices that lies over the built-in book, for the fleet and for projects. */
  LEMNISCATE_PRICES: variable.text().optional(),
  /** A HashiCorp Vault that the file's references lead to, and what it knows the dispatcher by. */
  VAULT_ADDR: variable.url('http:', 'https:').optional(),
  VAULT_TOKEN: variable.secret().optional(),
  /** File with the master key of retained content; or the key in AWS KMS. Neither: no project can retain content. */
  LEMNISCATE_CONTENT_KEY: variable.text().optional(),
  LEMNISCATE_CONTENT_KMS_KEY: variable.text().optional(),
  /** The same for the credentials of agents and MCP servers. Neither: none can be set. */
  LEMNISCATE_CREDENTIAL_KEY: variable.text().optional(),
  LEMNISCATE_CREDENTIAL_KMS_KEY: variable.text().optional(),
  /** Hosts, `host` or `host:port`, of MCP servers that may be on a private network, with commas between. */
  LEMNISCATE_MCP_PRIVATE_HOSTS: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((host) => (host.trim() === '' ? [] : [host.trim()]))),
  /** Another address of KMS than AWS' own. */
  LEMNISCATE_CONTENT_KMS_ENDPOINT: variable.url('http:', 'https:').optional(),
  LEMNISCATE_LEASE_MS: variable.integer(500, 15_000).default(15_000),
  LEMNISCATE_GRACE_MS: variable.integer(0, 5_000).default(5_000),
  LEMNISCATE_START_TIMEOUT_MS: variable.integer(1_000, 600_000).default(60_000),
  LEMNISCATE_MAX_LOSSES: variable.integer(0, 100).default(2),
  /** A session that has waited so long for a person is stored and frees its slot. */
  LEMNISCATE_PAUSE_AFTER_SECONDS: variable.integer(1, 604_800).default(300),
  /** A session that a person has paused and forgotten comes to its end after so long. */
  LEMNISCATE_MAX_PAUSE_SECONDS: variable.integer(60, 31_536_000).default(604_800),
  /** How often a session that works is stored, so that the loss of its server costs no more; 0: never. */
  LEMNISCATE_CHECKPOINT_SECONDS: variable.integer(0, 86_400).default(300),
  LEMNISCATE_QUEUE_MAX_WAIT_SECONDS: variable.integer(1, 604_800).default(3_600),
  /** Sessions of one project that may wait, unless the project has a bound of its own. */
  LEMNISCATE_QUEUE_MAX_BACKLOG: variable.integer(0, 10_000_000).default(50_000),
  /** Sessions that may start on one server at once. */
  LEMNISCATE_SERVER_STARTING_LIMIT: variable.integer(1, 10_000).default(32),
  /** Sessions that comments, assignments, schedules and events may start of one agent within an hour. */
  LEMNISCATE_AGENT_STARTS_PER_HOUR: variable.integer(1, 1_000_000).default(120),
  /** Hosts on private networks that outgoing webhooks may reach, also without TLS: `host` or `host:port`, with commas. */
  LEMNISCATE_NOTIFY_PRIVATE_HOSTS: z.string().default('').transform(hostsIn),
  /** The mail server that people are told by: `smtp:` or `smtps:`, with the login, host and port. */
  LEMNISCATE_SMTP_URL: variable.secret().optional(),
  LEMNISCATE_SMTP_FROM: variable.text().optional(),
  /** Defaults of policies that do not write the bound; what each is without its variable says governance.md. */
  LEMNISCATE_SESSION_MAX_ACTIONS: variable.integer(1, 100_000).optional(),
  LEMNISCATE_SESSION_MAX_MINUTES: variable.integer(1, 10_080).optional(),
  LEMNISCATE_SESSION_MAX_EXTENSIONS: variable.integer(0, 1_000).optional(),
  LEMNISCATE_SESSION_MAX_TOKENS: variable.integer(1, Number.MAX_SAFE_INTEGER).optional(),
  /** US dollars, such as `2.50`. */
  LEMNISCATE_SESSION_MAX_COST_USD: variable
    .text()
    .regex(/^\d{1,9}(\.\d{1,12})?$/, 'must be a decimal number such as 2.50')
    .optional(),
  LEMNISCATE_SESSION_MAX_COMMANDS: variable.integer(1, 1_000_000).optional(),
  LEMNISCATE_COMMAND_MAX_SECONDS: variable.integer(1, 86_400).optional(),
  LEMNISCATE_COMMAND_MAX_OUTPUT_BYTES: variable.integer(1_024, 1_073_741_824).optional(),
  /** OpenTelemetry collector that spans and metrics are sent to; its other `OTEL_…` variables hold too. Absent: none. */
  OTEL_EXPORTER_OTLP_ENDPOINT: variable.url('http:', 'https:').optional(),
  /** The name by which CloudWatch knows this fleet: `WantedSlotsPerServer` of each pool is then printed for it. */
  LEMNISCATE_CLOUDWATCH_FLEET: variable.text().optional(),
  LEMNISCATE_LOG_LEVEL: variable.oneOf(['trace', 'debug', 'info', 'warn', 'error']).default('info'),
  LEMNISCATE_EXIT_WITH_PARENT: variable.boolean().default(false),
  /** For the chaos harness alone: a plan of where this process kills itself. */
  LEMNISCATE_CRASH_POINTS: variable.text().optional(),
});

export type DispatcherConfig = z.infer<typeof dispatcherVariables>;

/**
 * Reads and cross-checks the dispatcher's variables.
 * @throws CodedError `configuration_invalid`
 */
export function readDispatcherConfig(
  environment: Readonly<Record<string, string | undefined>>,
): DispatcherConfig {
  const config = readEnvironment(dispatcherVariables, environment);
  if (config.LEMNISCATE_LOCAL_LOGIN !== undefined && !isLoopback(config.LEMNISCATE_HOST))
    throw new CodedError(
      'configuration_invalid',
      `LEMNISCATE_LOCAL_LOGIN is for loopback only, but LEMNISCATE_HOST is ${config.LEMNISCATE_HOST}. Unset one of them.`,
    );
  if ((config.AWS_ACCESS_KEY_ID === undefined) !== (config.AWS_SECRET_ACCESS_KEY === undefined))
    throw new CodedError(
      'configuration_invalid',
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together. Set both, or neither where a role of the machine is used.',
    );
  checkIssuer(config);
  return config;
}

/** Logins are the organisation's or the machine's own, never both; and passwords and codes travel encrypted. */
function checkIssuer(config: DispatcherConfig): void {
  const refuse = (why: string): never => {
    throw new CodedError('configuration_invalid', why);
  };
  const { LEMNISCATE_OIDC_ISSUER: issuer, LEMNISCATE_LDAP_URL: directory } = config;
  if (issuer === undefined) {
    if (directory !== undefined)
      refuse('LEMNISCATE_LDAP_URL looks groups up for an issuer: set LEMNISCATE_OIDC_ISSUER.');
    return;
  }
  if (config.LEMNISCATE_LOCAL_LOGIN !== undefined)
    refuse(
      'LEMNISCATE_LOCAL_LOGIN is for fleets without an issuer, but LEMNISCATE_OIDC_ISSUER is set. Unset one of them.',
    );
  if (config.LEMNISCATE_OIDC_CLIENT_ID === undefined)
    refuse('LEMNISCATE_OIDC_ISSUER needs LEMNISCATE_OIDC_CLIENT_ID, the name of this fleet at the issuer.');
  for (const [name, url, plain] of [
    ['LEMNISCATE_OIDC_ISSUER', issuer, 'http:'],
    ['LEMNISCATE_PUBLIC_URL', config.LEMNISCATE_PUBLIC_URL, 'http:'],
    ['LEMNISCATE_LDAP_URL', directory, 'ldap:'],
  ] as const)
    if (url !== undefined && new URL(url).protocol === plain && !isLoopback(new URL(url).hostname))
      refuse(`${name} is not encrypted: ${plain} is taken for loopback addresses alone.`);
  const needed = ['BIND_DN', 'BIND_PASSWORD', 'USER_BASE', 'GROUP_BASE'] as const;
  const missing = needed.filter((word) => config[`LEMNISCATE_LDAP_${word}`] === undefined);
  if (directory !== undefined && missing.length > 0)
    refuse(`LEMNISCATE_LDAP_URL needs ${missing.map((word) => `LEMNISCATE_LDAP_${word}`).join(', ')}.`);
}

/** A bound that somebody moved: said at start, because it loosens or tightens what everybody expects. */
export function announcedBounds(
  config: DispatcherConfig,
): { name: string; value: number | string; usual: number | string }[] {
  const usual = {
    LEMNISCATE_LEASE_MS: 15_000,
    LEMNISCATE_GRACE_MS: 5_000,
    LEMNISCATE_START_TIMEOUT_MS: 60_000,
    LEMNISCATE_MAX_LOSSES: 2,
    LEMNISCATE_PAUSE_AFTER_SECONDS: 300,
    LEMNISCATE_MAX_PAUSE_SECONDS: 604_800,
    LEMNISCATE_CHECKPOINT_SECONDS: 300,
    LEMNISCATE_QUEUE_MAX_WAIT_SECONDS: 3_600,
    LEMNISCATE_QUEUE_MAX_BACKLOG: 50_000,
    LEMNISCATE_AGENT_STARTS_PER_HOUR: 120,
    LEMNISCATE_SESSION_MAX_ACTIONS: 150,
    LEMNISCATE_SESSION_MAX_MINUTES: 45,
    LEMNISCATE_SESSION_MAX_EXTENSIONS: 5,
    LEMNISCATE_SESSION_MAX_TOKENS: usualBounds.maxTokens,
    LEMNISCATE_SESSION_MAX_COST_USD: usualBounds.maxCostUsd,
    LEMNISCATE_SESSION_MAX_COMMANDS: usualBounds.maxCommands,
    LEMNISCATE_COMMAND_MAX_SECONDS: 600,
    LEMNISCATE_COMMAND_MAX_OUTPUT_BYTES: 10_485_760,
  } as const;
  return (Object.keys(usual) as (keyof typeof usual)[]).flatMap((name) => {
    const value = config[name] ?? usual[name];
    return value === usual[name] ? [] : [{ name, value, usual: usual[name] }];
  });
}

function hostsIn(text: string): string[] {
  return text
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '');
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return (
    bits > 0 &&
    more.length === 0 &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
  );
}

function parseAdministrators(text: string, context: z.RefinementCtx): FirstAdministrators {
  const words = text.split(',').map((word) => word.trim());
  const named = words.filter((word) => word !== '').map((word) => /^(group|person):(.+)$/.exec(word));
  if (named.includes(null)) {
    context.addIssue({
      code: 'custom',
      message: 'must be group:NAME or person:SUBJECT, with commas between',
    });
    return z.NEVER;
  }
  const of = (kind: string): string[] =>
    named.flatMap((match) => (match?.[1] === kind && match[2] !== undefined ? [match[2]] : []));
  return { groups: of('group'), people: of('person') };
}

function parseServers(text: string, context: z.RefinementCtx): readonly ConfiguredServer[] {
  const parsed = parseConfiguredServers(text);
  if (!('fault' in parsed)) return parsed.servers;
  context.addIssue({ code: 'custom', message: parsed.fault });
  return z.NEVER;
}
