import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startBench } from './testing/agent-server-bench.ts';
import { buildOrder, commitAll, environmentBench } from './testing/environment-bench.ts';
import { eventsOf, resultOf, settled } from './testing/session-script.ts';

const usual = { lockfiles: ['package.json'], variables: {} };

/** A repository with these files in one commit. */
function makeRepository(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-repository-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  commitAll(folder);
  return folder;
}

test('what prepare leaves lies under the working copy and the home folder of a session, and is no part of its diff', async (t) => {
  const bench = await startBench(t, { capacity: 4 });
  const path = makeRepository(t, {
    'package.json': '{"name":"one"}',
    'secret.txt': 'not for prepare',
    'lib/kept.txt': 'of the repository',
  });
  const environment = {
    ...usual,
    variables: { GREETING: 'hello' },
    prepare: [
      'ls -A',
      'test ! -e secret.txt',
      'mkdir -p node_modules/left lib "$HOME/.cache/tool"',
      'echo "module $GREETING" > node_modules/left/index.js',
      'echo installed > lib/kept.txt; echo built > lib/extra.txt',
      'echo cached > "$HOME/.cache/tool/entry"',
    ].join('\n'),
  };
  const built = await environmentBench(bench, path, environment).build();
  assert.equal(built.reason, 'finished', built.message);
  assert.equal(built.log, 'package.json\n', 'prepare sees the lockfiles and nothing else');
  assert.deepEqual(built.environment?.installed, ['lib/extra.txt', 'lib/kept.txt', 'node_modules']);
  const used = await environmentBench(bench, path, environment).run(
    built,
    'cat node_modules/left/index.js lib/kept.txt lib/extra.txt ~/.cache/tool/entry secret.txt package.json; echo; echo $GREETING; echo mine > node_modules/left/mine; echo changed > lib/kept.txt',
  );
  assert.equal(used.stderr, '');
  assert.equal(
    used.stdout,
    'module hello\nof the repositorybuilt\ncached\nnot for prepare{"name":"one"}\nhello\n',
    'the repository’s own files win',
  );
  assert.match(used.patch, /lib\/kept\.txt/);
  assert.doesNotMatch(used.patch, /node_modules/);
  const again = await environmentBench(bench, path, environment).run(built, 'ls node_modules/left');
  assert.equal(again.stdout, 'index.js\n', 'what a session writes stays its own');
  assert.equal(again.patch, '');
  await settled(bench);
});

test('a prepare that fails ends with its last lines, and nothing is kept', async (t) => {
  const bench = await startBench(t, { capacity: 4 });
  const path = makeRepository(t, { 'package.json': '{}' });
  const failed = await environmentBench(bench, path, {
    ...usual,
    prepare: 'echo first\necho wrong >&2\nexit 3',
  }).build();
  assert.equal(failed.reason, 'environment_failed');
  assert.match(failed.message, /exit code 3\. Last lines:\nfirst\nwrong$/);
  assert.equal(failed.environment, undefined);
  const late = await environmentBench(bench, path, { ...usual, prepare: 'echo waiting; sleep 60' }).build({
    build: { ...buildOrder, maxSeconds: 1 },
  });
  assert.match(late.message, /not finished after 1 s.*\n?waiting/);
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const leaky = { ...usual, prepare: `echo "//r/:_authToken=${token}" > "$HOME/.npmrc"` };
  const found = await environmentBench(bench, path, leaky).build();
  assert.equal(found.reason, 'environment_failed');
  assert.match(found.message, /home\/\.npmrc/);
  assert.doesNotMatch(found.message, new RegExp(token));
  const allowed = await environmentBench(bench, path, leaky).build({
    build: { ...buildOrder, allowSecretsIn: ['.npmrc'] },
  });
  assert.equal(allowed.reason, 'finished', 'the scan is what refused it');
});

test('a lockfile that is a link to a file of the host is refused; the text may stand at a commit', async (t) => {
  const bench = await startBench(t, { capacity: 4 });
  const path = makeRepository(t, { 'prepare.sh': 'echo by the file > made' });
  const revision = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: path, encoding: 'utf8' }).trim();
  writeFileSync(join(path, 'prepare.sh'), 'echo pushed by somebody; exit 1');
  writeFileSync(join(path, 'package.json'), '{}');
  commitAll(path);
  const environment = { ...usual, prepare: { file: 'prepare.sh', revision } };
  const built = await environmentBench(bench, path, environment).build();
  assert.equal(built.reason, 'finished', built.message);
  assert.equal(
    (await environmentBench(bench, path, environment).run(built, 'cat made')).stdout,
    'by the file\n',
  );
  const nowhere = await environmentBench(bench, path, {
    ...usual,
    prepare: { file: 'prepare.sh', revision: '1'.repeat(40) },
  }).build();
  assert.match(nowhere.message, /no prepare\.sh at 1111/);
  rmSync(join(path, 'package.json'));
  symlinkSync('/etc/hostname', join(path, 'package.json'));
  commitAll(path);
  const hostile = await environmentBench(bench, path, { ...usual, prepare: 'cat package.json' }).build();
  assert.equal(hostile.reason, 'environment_failed');
  assert.match(hostile.message, /package\.json is a link/);
});

test('a session that is to wait leaves nothing, one that is to go on without says so', async (t) => {
  const bench = await startBench(t, { capacity: 4 });
  const path = makeRepository(t, { 'package.json': '{}' });
  const environment = { ...usual, prepare: 'true' };
  bench.dispatcher.onEnvironment = () => ({ kind: 'parked' });
  const parked = bench.order({ repository: { kind: 'path', path }, environment });
  await bench.put(parked);
  await settled(bench);
  assert.ok(!bench.dispatcher.results.some(({ sessionId }) => sessionId === parked.sessionId));
  bench.dispatcher.onEnvironment = () => ({ kind: 'without', why: 'It is missing.' });
  const without = bench.order({ repository: { kind: 'path', path }, environment });
  await bench.put(without);
  assert.equal((await resultOf(bench, without.sessionId)).reason, 'finished');
  assert.ok(
    eventsOf(bench, without.sessionId).some(
      (event) => event.type === 'notice' && event.text === 'It is missing. The session goes on without it.',
    ),
  );
  bench.dispatcher.onEnvironment = () => ({ kind: 'failed', message: 'It could not be built: the end.' });
  const failed = bench.order({ repository: { kind: 'path', path }, environment });
  await bench.put(failed);
  const result = await resultOf(bench, failed.sessionId);
  assert.deepEqual(
    [result.reason, result.message],
    ['environment_failed', 'It could not be built: the end.'],
  );
});
