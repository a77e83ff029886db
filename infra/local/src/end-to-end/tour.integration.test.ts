import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { projectRoot } from '../project-root.ts';
import { scratchFolder } from '../testing/scratch-folder.ts';
import { npmStart } from './npm-start.ts';
import { assertNothingRuns } from './test-fleet.ts';

/** The commands of the tour, block by block, and before them how a fleet is started. */
const [start = '', ...blocks] = [
  ...readFileSync(join(projectRoot, 'docs/tour.md'), 'utf8').matchAll(/```(.*)\n([\s\S]*?)```/g),
].map(([, kind = '', commands = '']) => `# ${kind}\n${commands}`);

const npx = `npx() { shift; "$NODE" "${join(projectRoot, 'clients/cli/bin/lemniscate.mjs')}" "$@"; }`;

test('every command of the tour does what it says', async (t) => {
  // the clone and its packages are what this test runs in
  assert.match(start, /^# sh\ngit clone \S+ && cd lemniscate\nnpm ci\nnpm start\n$/);
  assert.ok(blocks.length >= 6);
  for (const block of blocks) assert.match(block, /^# sh tour\n/, 'every other block is run here');
  const scratch = scratchFolder(t);
  chmodSync(scratch, 0o755);
  const fleet = npmStart(scratch, [], { LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1' });
  try {
    await fleet.says(/^serving at .* until Ctrl-C/m, 4 * 60_000);
    await takeTour(scratch, fleet.environment);
  } finally {
    fleet.interrupt();
    await fleet.exitCode;
  }
  assert.match(await fleet.stdout, /^stopping$/m);
  await assertNothingRuns(scratch);
});

async function takeTour(scratch: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const script = [
    'set -euo pipefail',
    npx,
    ...blocks.map((block, index) => `echo "== ${index + 1}"\n${block}`),
    'echo "== $WORK"',
  ];
  const { stdout: told } = await promisify(execFile)('bash', ['-c', script.join('\n')], {
    cwd: projectRoot,
    timeout: 5 * 60_000,
    maxBuffer: 16 * 1024 * 1024,
    // a newcomer's shell has none of the tour's own variables
    env: { ...environment, NODE: process.execPath, TMPDIR: scratch, WORK: undefined },
  });
  const work = /^== (\/.*)$/m.exec(told)?.[1] ?? assert.fail(told);
  const parts = told.split(/^== \d+$/m);
  assert.match(parts[3] ?? '', /discount\.js/, 'the diff is applied');
  assert.match(parts[4] ?? '', /verified|whole/i);
  assert.match(parts[5] ?? '', /allow[\s\S]*refuse|free[\s\S]*refuse/i);
  assert.match(parts[6] ?? '', /agent-server-1[\s\S]*drain/);
  assert.match(parts[6] ?? '', /^agent-server-1 .* 0\/2 slots /m);
  assert.match(parts[7] ?? '', /scripted-1/);
  const second = readFileSync(join(work, 'second.json'), 'utf8');
  assert.doesNotMatch(second, /"agent-server-1"/);
  assert.match(readFileSync(join(work, 'focus.csv'), 'utf8'), /BilledCost/);
}
