import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const load = (...args: string[]) => {
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  return spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
    encoding: 'utf8',
    env,
    timeout: 560_000,
    maxBuffer: 64 * 1024 * 1024,
  });
};

test('the whole order runs in miniature: every stage ends well, and its page is written', (t) => {
  const pages = mkdtempSync(join(tmpdir(), 'lemniscate-load-'));
  t.after(() => rmSync(pages, { recursive: true, force: true }));
  const { status, stdout, stderr } = load('--short', '--chaos-minutes', '0.3', '--to', pages);
  assert.equal(status, 0, `${stderr.slice(-4_000)}\n${stdout.slice(-4_000)}`);
  const ends = stdout.split('\n').filter((line) => / min {2}/.test(line));
  assert.deepEqual(
    ends.map((line) => line.replace(/ +[0-9.]+ min +/, ': ')),
    ['bench: good', 'sim: good', 'chaos: good', 'soak: good', 'soak export: good'],
  );
  assert.deepEqual(readdirSync(pages).sort(), [
    'benchmarks.json',
    'benchmarks.md',
    'capacity',
    'capacity.md',
    'chaos-run.md',
  ]);
  assert.match(readFileSync(join(pages, 'chaos-run.md'), 'utf8'), /seed/);
});

test('what it is told wrongly it names, and nothing runs', () => {
  for (const [args, said] of [
    [['--short'], /--short wants --to FOLDER/],
    [['--from', 'nowhere'], /There is no nowhere. There are: bench, sim, chaos, soak, soak export/],
    [['--soak-minutes', 'x'], /take numbers above 0/],
  ] as const) {
    const { status, stderr } = load(...args);
    assert.equal(status, 2);
    assert.match(stderr, said);
  }
});
