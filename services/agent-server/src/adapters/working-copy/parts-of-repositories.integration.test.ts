import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { FetchDepth } from '@lemniscate/shared/repository/source.ts';
import type { Revision } from '../../application/ports/working-copies.ts';
import { gitIn, openWorkingCopyBench, ownFolder, sandboxUser } from '../../testing/working-copy-bench.ts';

const root = ownFolder('parts');
const { copies } = openWorkingCopyBench(root);
const mirrors = join(root, 'state', 'mirrors');
const commits = 80;
const source = join(root, 'source');

const git = (folder: string, ...args: string[]): string => gitIn(folder, ...args).trim();

before(() => {
  mkdirSync(source);
  git(source, 'init', '-q', '-b', 'main');
  // a large file that changed with every commit: what makes a history heavy
  for (let number = 1; number <= commits; number += 1) change(String(number));
});

function change(text: string): string {
  writeFileSync(join(source, 'large'), `${randomUUID()}\n`.repeat(200) + randomUUID().repeat(50));
  writeFileSync(join(source, 'number'), `${text}\n`);
  git(source, 'add', '-A');
  git(source, 'commit', '-qm', text);
  return git(source, 'rev-parse', 'HEAD');
}

async function lay(fetch: FetchDepth | undefined, restoredFrom?: string) {
  const folder = join(root, `workspace-${randomUUID()}`);
  mkdirSync(folder);
  let revision: Revision | undefined;
  const copy = await copies.lay({
    projectId: 'p',
    repository: { kind: 'path', path: source, ...(fetch === undefined ? {} : { fetch }) },
    folder,
    user: sandboxUser,
    ...(restoredFrom === undefined ? {} : { restoredFrom }),
    fill: async (found) => {
      revision = found;
      await found.lay();
    },
    signal: AbortSignal.timeout(60_000),
    deadlineMs: 60_000,
  });
  return { copy, folder, revision };
}

/** Objects of the mirror whose name ends like this, by kind. */
function objectsOf(part: string): Record<string, number> {
  const name = readdirSync(mirrors).find((one) => one.slice(40) === part) ?? assert.fail(`no mirror ${part}`);
  const list = ['cat-file', '--batch-all-objects', '--batch-check=%(objecttype)'];
  const count: Record<string, number> = {};
  for (const kind of git(join(mirrors, name, 'git'), ...list).split('\n'))
    count[kind] = (count[kind] ?? 0) + 1;
  return count;
}

for (const [part, fetch, expected] of [
  ['', undefined, { commit: commits, blob: 2 * commits }],
  ['.depth-5', { depth: 5 }, { commit: 5, blob: 10 }],
  ['.partial', { partial: true }, { commit: commits, blob: 2 }],
  ['.depth-5.partial', { depth: 5, partial: true }, { commit: 5, blob: 2 }],
] as const) {
  test(`with ${JSON.stringify(fetch ?? 'everything')} no more than that is fetched, and the work is the same`, async () => {
    const { copy, folder } = await lay(fetch);
    const { commit, blob } = objectsOf(part);
    assert.deepEqual({ commit, blob }, expected);
    assert.equal(copy.baseCommit, git(source, 'rev-parse', 'HEAD'));
    assert.equal(readFileSync(join(folder, 'number'), 'utf8'), `${commits}\n`);
    const history = Number(git(folder, 'rev-list', '--count', 'HEAD'));
    assert.equal(history, fetch !== undefined && 'partial' in fetch ? 1 : Math.min(expected.commit, 50));
    assert.equal(git(folder, 'status', '--short'), '');
    writeFileSync(join(folder, 'number'), 'changed\n');
    rmSync(join(folder, 'large'));
    const { summary, patchFile } = await copy.diff();
    assert.deepEqual(
      summary.files.map(({ path, change: how }) => [path, how]),
      [
        ['large', 'deleted'],
        ['number', 'modified'],
      ],
    );
    const check = join(root, `check-${randomUUID()}`);
    git(root, 'clone', '-q', source, check);
    git(check, 'apply', patchFile);
    assert.equal(readFileSync(join(check, 'number'), 'utf8'), 'changed\n');
    assert.ok(!existsSync(join(check, 'large')));
    await copy.discard();
  });
}

test('a commit older than the part, a newer one, and a file that was approved long ago are fetched when they are wanted', async () => {
  const fetch = { depth: 2, partial: true };
  const first = git(source, 'rev-list', '--max-parents=0', 'HEAD');
  const { copy: before_ } = await lay(fetch);
  const newer = change('newer');
  const { copy, folder, revision } = await lay(fetch);
  assert.equal(copy.baseCommit, newer);
  assert.equal(readFileSync(join(folder, 'number'), 'utf8'), 'newer\n');
  assert.equal(await revision?.readAt(first, 'number'), '1\n');
  assert.equal(await revision?.readAt(first, 'absent'), null);
  assert.equal(await revision?.readAt('0'.repeat(40), 'number'), null);
  // a session that comes back from its checkpoint began long ago
  const { copy: old } = await lay(fetch, first);
  assert.equal(old.baseCommit, first);
  for (const one of [before_, copy, old]) await one.discard();
  assert.ok(
    copies.mirrors().every((name) => /^[0-9a-f]{40}$/.test(name)),
    'placement knows repositories, not parts',
  );
});
