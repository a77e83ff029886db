import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import manifest from '../../../package.json' with { type: 'json' };
import { findCliBundle } from './cli-bundle.ts';

const project = new URL('../../../../../', import.meta.url);
const pinned = [
  manifest.dependencies['@anthropic-ai/claude-code'],
  manifest.dependencies['@openai/codex'],
] as const;

test('the versions of the vendors’ programs are one number each in one file, and what is installed is that', () => {
  for (const version of pinned) assert.match(version, /^\d+\.\d+\.\d+$/, 'pinned exactly');
  assert.deepEqual(
    findCliBundle().map(({ version }) => version),
    pinned,
  );
  // Whatever else brings or describes them takes the number from there.
  for (const path of [
    'infra/images/agent-base/Dockerfile',
    'infra/images/agent-base/build.sh',
    'docs/operations/cli-runtimes.md',
    'docs/adding-an-agent-runtime.md',
    'README.md',
  ]) {
    const text = readFileSync(new URL(path, project), 'utf8');
    for (const version of pinned) assert.ok(!text.includes(version), `${path} repeats ${version}`);
  }
});
