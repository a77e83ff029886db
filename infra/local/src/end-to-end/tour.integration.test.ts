import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectRoot } from '../project-root.ts';
import { startTestFleet } from './test-fleet.ts';

/** The commands of the tour, block by block. */
const blocks = [
  ...readFileSync(join(projectRoot, 'docs/tour.md'), 'utf8').matchAll(/```sh tour\n([\s\S]*?)```/g),
].map((match) => match[1] ?? '');

const npx = `npx() { shift; "$NODE" "${join(projectRoot, 'clients/cli/bin/lemniscate.mjs')}" "$@"; }`;

test('every command of the tour does what it says', async () => {
  assert.ok(blocks.length >= 6);
  const site = await startTestFleet({
    LEMNISCATE_CHECKPOINT_SECONDS: '1',
    LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1',
  });
  try {
    const script = [
      'set -euo pipefail',
      npx,
      ...blocks.map((block, index) => `echo "== ${index + 1}"\n${block}`),
    ];
    const told = execFileSync('bash', ['-c', script.join('\n')], {
      cwd: projectRoot,
      encoding: 'utf8',
      timeout: 5 * 60_000,
      env: { ...site.environment, NODE: process.execPath, WORK: site.scratch },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const parts = told.split(/^== \d+$/m);
    assert.match(parts[3] ?? '', /discount\.js/, 'the diff is applied');
    assert.match(parts[4] ?? '', /verified|whole/i);
    assert.match(parts[5] ?? '', /allow[\s\S]*refuse|free[\s\S]*refuse/i);
    assert.match(parts[6] ?? '', /agent-server-1[\s\S]*drain/);
    assert.match(parts[7] ?? '', /scripted-1/);
    const second = readFileSync(join(site.scratch, 'second.json'), 'utf8');
    assert.doesNotMatch(second, /"agent-server-1"/);
    assert.match(readFileSync(join(site.scratch, 'focus.csv'), 'utf8'), /BilledCost/);
  } finally {
    await site.stop();
  }
});
