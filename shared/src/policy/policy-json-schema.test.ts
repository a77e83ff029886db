import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject, JsonValue } from '../json.ts';
import { createRandom } from './command/fuzz/random.ts';
import type { Random } from './command/fuzz/random.ts';
import { checkPolicy } from './policy-file.ts';
import { policyJsonSchema } from './policy-json-schema.ts';

const published = new Ajv2020({ strictTypes: false }).compile(policyJsonSchema());
const parses = (policy: JsonValue): boolean => checkPolicy(JSON.stringify(policy)).policy !== undefined;

/** A policy in which every member is written. */
const whole: JsonObject = {
  tools: { run_command: 'allow', write_file: 'allowedWithPermission', 'tracker/*': 'exclude' },
  freeCommands: ['ls', 'git status'],
  approvalCommands: ['npm publish'],
  budgets: { maxActions: 10, maxMinutes: 5, maxTokens: 100_000, maxCostUsd: '2.50', maxCommands: 7 },
  commandMaxSeconds: 60,
  commandMaxOutputBytes: 2048,
  flaggedPaths: ['.github/**'],
  execution: 'server',
  models: ['one'],
  runtimes: ['native'],
  egress: ['npm.example.org', '*.example.org:8443'],
  credentials: ['NPM_TOKEN'],
  providerTools: ['web_search'],
  mcpServers: ['tracker'],
  sandboxProfile: 'large',
  environment: {
    prepare: { file: 'tools/prepare.sh', revision: 'a'.repeat(40) },
    lockfiles: ['package*.json', 'a/b.lock'],
    egress: ['npm.example.org'],
    variables: { CI: '1' },
    onMissing: 'wait',
    rebuildEveryHours: 24,
    waitMinutes: 5,
    maxMinutes: 5,
    allowSecretsIn: ['fixtures/**'],
  },
  gateway: {
    allow: { fields: ['a'], toolTypes: ['b'], betas: ['c'] },
    smallModels: ['d'],
    fallbackModels: { e: 'f' },
  },
  continueAfterToolRejection: true,
  approvalTtlSeconds: 3600,
  cli: { tools: 'hosted' },
  compactAtTokens: 50_000,
  delegation: { maxDepth: 2, maxChildren: 3 },
  fourEyes: [{ tools: ['run_command'], commands: ['a'], paths: ['b'], diffs: ['**'], people: 3 }],
  'execution.sessionMaxExtensions': 3,
};

/** What stands where something else was written: right in some places and wrong in the others. */
const samples: readonly JsonValue[] = [
  null,
  true,
  0,
  1,
  2.5,
  -1,
  3,
  90,
  10_000_000_000,
  '',
  ' ',
  'a',
  'a\nb',
  'ask',
  'disabled',
  'either',
  'codex',
  'git log',
  '2.50',
  '-1',
  'a.example:65536',
  'a.example:443',
  '10.0.0.1',
  '*.org',
  'http://a.example',
  '../up',
  'a//b',
  'a/**',
  '/root',
  'PATH',
  'npm_proxy',
  'BASH_ENV',
  'run_comand',
  'x'.repeat(1001),
  [],
  [''],
  ['a'],
  ['read_file'],
  {},
  { a: 1 },
  { diffs: ['x'] },
];
const names = [
  ...Object.keys(whole),
  'maxActions',
  'execution.sessionMaxActions',
  'tools',
  'paths',
  'allow',
  'onMissing',
  'prepare',
  'other',
  'LD_PRELOAD',
  'a b',
];

function changed(value: JsonValue, random: Random): JsonValue {
  if (random.chance(12) || typeof value !== 'object' || value === null) return random.pick(samples);
  if (Array.isArray(value)) {
    if (value.length === 0 || random.chance(30)) return [...value, random.pick(samples)];
    const at = random.below(value.length);
    return value.map((item, index) => (index === at ? changed(item, random) : item));
  }
  const record = value as JsonObject;
  const members = Object.entries(record);
  if (members.length === 0 || random.chance(15))
    return { ...record, [random.pick(names)]: random.pick(samples) };
  const [name, inner] = members[random.below(members.length)] ?? ['', null];
  const { [name]: _, ...rest } = record;
  if (random.chance(15)) return rest;
  if (random.chance(8)) return { ...rest, [random.pick(names)]: inner };
  return { ...record, [name]: changed(inner, random) };
}

test('the published schema takes exactly what the parser takes', (t) => {
  assert.ok(published(whole) && parses(whole));
  const random = createRandom(4);
  let taken = 0;
  const rounds = 800;
  for (let round = 0; round < rounds; round += 1) {
    let policy: JsonValue = changed(whole, random);
    if (random.chance(30)) policy = changed(policy, random);
    // an empty text is the default policy, which a schema of objects cannot say
    if (policy === null) continue;
    const parsed = parses(policy);
    if (parsed) taken += 1;
    assert.equal(published(policy), parsed, `${JSON.stringify(policy)}: ${JSON.stringify(published.errors)}`);
  }
  t.diagnostic(`${taken} of ${rounds} were policies`);
  assert.ok(taken > rounds / 20 && taken < rounds - rounds / 20, 'both answers are given');
});

test('each bound can be written once, as a setting or among the budgets', () => {
  const twice = { budgets: { maxActions: 3 }, 'execution.sessionMaxActions': 4 };
  assert.deepEqual([published(twice), parses(twice)], [false, false]);
  const once = { budgets: { maxMinutes: 3 }, 'execution.sessionMaxActions': 4 };
  assert.deepEqual([published(once), parses(once)], [true, true]);
});
