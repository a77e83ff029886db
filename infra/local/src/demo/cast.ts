import type { EndReason } from '@lemniscate/shared/session/end.ts';

/** A project of the demonstration. */
export interface CastProject {
  readonly id: string;
  readonly weight: number;
  readonly repository: string;
  readonly budgetUsd: string | null;
  readonly folders: readonly string[];
}

export const projects: readonly CastProject[] = [
  {
    id: 'storefront',
    weight: 9,
    repository: 'https://git.example.com/shop/storefront.git',
    budgetUsd: '900',
    folders: ['src/cart', 'src/search', 'src/checkout'],
  },
  {
    id: 'payments',
    weight: 7,
    repository: 'https://git.example.com/pay/payments.git',
    budgetUsd: '450',
    folders: ['internal/ledger', 'internal/refunds', 'api'],
  },
  {
    id: 'mobile-app',
    weight: 5,
    repository: 'https://git.example.com/apps/mobile.git',
    budgetUsd: '600',
    folders: ['app/screens', 'app/sync', 'ios'],
  },
  {
    id: 'data-platform',
    weight: 4,
    repository: 'https://git.example.com/data/platform.git',
    budgetUsd: null,
    folders: ['pipelines/orders', 'dbt/models', 'jobs'],
  },
  {
    id: 'infrastructure',
    weight: 2,
    repository: 'ssh://git@git.example.com/ops/infra.git',
    budgetUsd: '150',
    folders: ['modules/network', 'ansible', '.github/workflows'],
  },
  {
    id: 'handbook',
    weight: 1,
    repository: 'https://git.example.com/docs/handbook.git',
    budgetUsd: null,
    folders: ['guides', 'reference'],
  },
];

/** Subjects as a directory has them, and how busy each is. */
export const people: readonly (readonly [subject: string, weight: number])[] = [
  ['sso:amara.okafor', 9],
  ['sso:jonas.weber', 8],
  ['sso:mei.lin', 8],
  ['sso:sofia.rossi', 7],
  ['sso:dmitri.volkov', 6],
  ['sso:priya.nair', 6],
  ['sso:lucas.moreau', 5],
  ['sso:hannah.schmidt', 4],
  ['sso:tomas.novak', 4],
  ['sso:aisha.rahman', 3],
  ['sso:kenji.sato', 3],
  ['sso:olivia.brown', 2],
  ['service:nightly-upkeep', 5],
];

/** Models with what a million tokens cost: input, output, cache read, cache write. US dollars. */
export const models = [
  { name: 'claude-sonnet-4-5', provider: 'anthropic', weight: 11, usd: [3, 15, 0.3, 3.75] },
  { name: 'claude-haiku-4-5', provider: 'anthropic', weight: 6, usd: [1, 5, 0.1, 1.25] },
  { name: 'claude-opus-4-1', provider: 'anthropic', weight: 2, usd: [15, 75, 1.5, 18.75] },
  { name: 'gpt-5', provider: 'openai', weight: 3, usd: [1.25, 10, 0.125, 0] },
] as const;

export const instructions: readonly string[] = [
  'Fix the failing test in {folder} and explain what was wrong.',
  'The total in {folder} is off by one cent when a discount applies. Find out why and fix it.',
  'Upgrade the dependencies that {folder} uses to their latest minor versions and run the tests.',
  'Add tests for the edge cases of {folder}: empty input, duplicates, very long names.',
  'Replace the hand-written date parsing in {folder} with the library that the rest of the project uses.',
  'Pages of {folder} load slowly for accounts with many orders. Profile it and fix the slowest query.',
  'Rename the concept "customer" to "account" across {folder}, keeping the public API as it is.',
  'A user reported that saving twice in {folder} creates two entries. Make it idempotent.',
  'Write a migration that moves {folder} to the new schema, with a way back.',
  'Remove the feature flag "new-flow" from {folder}; it has been on for everybody since March.',
  'Make the error messages in {folder} say what to do next.',
  'The build warns about unused exports in {folder}. Remove what nothing uses.',
  'Flaky test in {folder}: it fails one run in twenty. Make it wait for states instead of time.',
  'Document the configuration of {folder}, one line a variable, with its default.',
];

/** How sessions end, by how often. */
export const ends: readonly (readonly [reason: EndReason, weight: number])[] = [
  ['finished', 800],
  ['stopped', 55],
  ['tool_rejected', 22],
  ['time_budget', 30],
  ['budget_actions', 18],
  ['budget_cost', 8],
  ['model_failed', 16],
  ['server_lost', 7],
  ['start_failed', 6],
  ['repository_failed', 11],
  ['sandbox_memory', 9],
  ['queue_deadline', 3],
  ['revoked', 2],
];

/** First texts of policies, and what administrators changed later. */
export const policies: readonly string[] = [
  `tools: {read_file: allow, list_files: allow, search_files: allow, write_file: allow, edit_file: allow, run_command: allow}
freeCommands: [npm test, git status, git diff, ls, cat]
`,
  `tools: {read_file: allow, list_files: allow, search_files: allow, write_file: allow, edit_file: allow, run_command: allow}
continueAfterToolRejection: true
freeCommands: [npm test, npm run lint, node --test, git status, git diff, git log, ls, cat, grep]
`,
];
