import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { projectRoot } from '../project-root.ts';
import { scratchFolder } from '../testing/scratch-folder.ts';
import { assertNothingRuns } from './test-fleet.ts';

/** The commands of the drill, block by block. */
const blocks = [
  ...readFileSync(join(projectRoot, 'docs/operations/disaster-drill.md'), 'utf8').matchAll(
    /```(.*)\n([\s\S]*?)```/g,
  ),
].map(([, kind, commands = '']) => {
  assert.equal(kind, 'sh drill', 'every block is run here');
  return commands;
});

const npx = `npx() { shift; "$NODE" "${join(projectRoot, 'clients/cli/bin/lemniscate.mjs')}" "$@"; }`;

test('every command of the disaster drill does what it says', async (t) => {
  assert.ok(blocks.length >= 7);
  const scratch = scratchFolder(t);
  chmodSync(scratch, 0o755);
  const {
    ANTHROPIC_API_KEY: _key,
    OPENAI_API_KEY: _other,
    NODE_TEST_CONTEXT: _context,
    ...inherited
  } = process.env;
  const env = {
    ...inherited,
    NODE: process.execPath,
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    TMPDIR: scratch,
    LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1',
  };
  const script = [
    'set -euo pipefail',
    // whatever fails: no fleet is left behind, and what it said is seen
    `trap 'code=$?; [ $code = 0 ] || { tail -n 40 "$WORK/fleet.log" >&2; kill "$fleet" && wait "$fleet"; }' EXIT`,
    npx,
    ...blocks.map((block, index) => `echo "== ${index + 1}"\n${block}`),
  ].join('\n');
  const { stdout: told } = await promisify(execFile)('bash', ['-c', script], {
    cwd: projectRoot,
    timeout: 8 * 60_000,
    maxBuffer: 16 * 1024 * 1024,
    env,
  });
  const parts = told.split(/^== \d+$/m);
  assert.match(parts[4] ?? '', /^recovered after \d+ s$/m);
  assert.match(parts[5] ?? '', /agent-server-1[\s\S]*agent-server-2/);
  const [restored, lost] = [...(parts[6] ?? '').matchAll(/^(\d+)$/gm)].map(([, count]) => Number(count));
  assert.equal(restored, 1, 'one new epoch was opened');
  assert.ok(Number(lost) > 0, 'the receiver still knows the lost session');
  assert.equal(parts[6]?.match(/^verified: /gm)?.length, 2, parts[6]);
  await assertNothingRuns(scratch);
});
