import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { openSession } from '@lemniscate/cli/open-session.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { entriesPageSchema } from '@lemniscate/shared/audit/stored-entry.ts';
import { projectRoot } from '../project-root.ts';
import { until } from '../testing/until.ts';
import { assertNothingRuns, sampleRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

// Commands that change what others change too: each reads what there is and names its version.

let site: TestFleet;
before(async () => {
  site = await startTestFleet();
});
after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

/** Runs the terminal client. @returns its output; for one that fails, what it says of the fault */
async function cli(args: readonly string[], input = ''): Promise<{ code: number; said: string }> {
  const bin = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const { NODE_TEST_CONTEXT: _context, ...env } = site.environment;
  const running = promisify(execFile)(process.execPath, [bin, ...args], { env });
  running.child.stdin?.end(input);
  try {
    return { code: 0, said: (await running).stdout };
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr: string };
    if (typeof code !== 'number') throw error;
    return { code, said: stderr };
  }
}

async function says(expected: RegExp, ...args: string[]): Promise<void> {
  const { code, said } = await cli(args);
  assert.equal(code, 0, `${args.join(' ')}: ${said}`);
  assert.match(said, expected, args.join(' '));
}

async function refuses(expected: RegExp, ...args: string[]): Promise<void> {
  const { code, said } = await cli(args);
  assert.notEqual(code, 0, args.join(' '));
  assert.match(said, expected, args.join(' '));
}

test('roles are bound and taken away; to bind what is bound already changes nothing', async () => {
  await says(/Bound/, 'roles', 'bind', 'operator', '--group', 'platform');
  await says(/Bound/, 'roles', 'bind', 'operator', '--group', 'platform');
  await says(/operator {2}every project {2}group platform\n/, 'roles', 'list');
  await says(/No longer bound/, 'roles', 'unbind', 'operator', '--group', 'platform');
  await refuses(/is not bound to operator/, 'roles', 'unbind', 'operator', '--group', 'platform');
});

test('intake is paused and resumed, a server drained and used again, a queue weighed', async () => {
  await says(/fleet +paused by .*: disks/, 'intake', 'pause', 'fleet', '--note', 'disks');
  await says(/Everything takes sessions/, 'intake', 'resume', 'fleet');
  await says(/Everything takes sessions/, 'intake', 'resume', 'fleet');
  const listed = await cli(['servers', '--json']);
  const [server] = JSON.parse(listed.said) as { id: string }[];
  assert.ok(server);
  await says(/gets no more sessions/, 'servers', 'drain', server.id);
  await says(/gets no more sessions/, 'servers', 'drain', server.id, '--deadline', '600');
  await says(/out: .*drained/, 'servers');
  await says(/is in use again/, 'servers', 'undrain', server.id);
  await says(/is approved/, 'servers', 'approve', server.id);
  await refuses(/There is no agent server "nowhere"/, 'servers', 'drain', 'nowhere');
  await says(/weight +3\n/, 'queue', 'local', '--weight', '3');
  await says(/weight +3\n[^]*maxConcurrent +4\n/, 'queue', 'local', '--max-concurrent', '4');
});

/** Entries of the fleet's own chain that are of the type and name the text. */
async function audited(type: string, names: string): Promise<number> {
  const path = `/v1/audit/chains/${encodeURIComponent(fleetChain)}/entries?limit=1000`;
  const { entries } = await site.client.json(path, entriesPageSchema);
  return entries.filter(
    (entry) => entry.type === type && Buffer.from(entry.body, 'base64').toString('utf8').includes(names),
  ).length;
}

const view = (id: string) => site.client.json(`/v1/sessions/${id}`, sessionViewSchema);

async function open(repositoryFolder: string): Promise<string> {
  const { session } = await openSession(
    site.client,
    { repositoryFolder, instruction: 'Fix the failing test.', execution: 'server' },
    AbortSignal.timeout(60_000),
  );
  return session.id;
}

test('intake of a pool and of a project is paused and resumed: a session waits, and then starts', async () => {
  const folder = sampleRepository(site.scratch, 'waits');
  await refuses(/scope/, 'intake', 'pause', 'pools:default');
  for (const [kind, name] of [
    ['pool', 'default'],
    ['project', 'local'],
  ] as const) {
    const scope = `${kind}:${name}`;
    await says(new RegExp(`${scope} +paused by .*: a look`), 'intake', 'pause', scope, '--note', 'a look');
    const id = await open(folder);
    await until('it knows that it waits for us', async () => (await view(id)).queue?.paused === kind);
    assert.equal((await view(id)).state, 'pending');
    await says(/Everything takes sessions/, 'intake', 'resume', scope);
    await until('it starts', async () => (await view(id)).state !== 'pending');
    for (const type of ['intake.paused', 'intake.resumed'])
      assert.equal(await audited(type, `"scope":"${scope}"`), 1, `${type} of ${scope}`);
    await says(/./, 'stop', id);
  }
});

test('everything is stopped by one command, and nothing starts until intake is resumed', async () => {
  const folder = sampleRepository(site.scratch, 'stopped');
  await says(/paused by/, 'intake', 'pause', 'pool:default');
  const waiting = await open(folder);
  await refuses(/Confirm with "stop everything"/, 'stop-everything', '--confirm', 'yes');
  assert.equal((await view(waiting)).state, 'pending');
  await says(/^1 sessions ended\. None starts/, 'stop-everything', '--confirm', 'stop everything');
  assert.equal((await view(waiting)).state, 'user_stopped');
  await says(/fleet +paused by/, 'intake', 'resume', 'pool:default');
  const later = await open(folder);
  await until('it knows that nothing starts', async () => (await view(later)).queue?.paused === 'fleet');
  assert.equal((await view(later)).state, 'pending');
  assert.equal(await audited('fleet.stopped', '"sessions":1'), 1);
  await says(/Everything takes sessions/, 'intake', 'resume', 'fleet');
  await until('sessions start again', async () => (await view(later)).state !== 'pending');
  await says(/./, 'stop', later);
});

test('access is taken and given back', async () => {
  await says(/The access is revoked/, 'revoke', '--user', 'somebody@example.org');
  await says(/The access is given back/, 'revoke', '--user', 'somebody@example.org', '--lift');
  await says(/The access is given back/, 'revoke', '--user', 'somebody@example.org', '--lift');
});

test('a skill is pushed onto the version that it is based on, and pulled', async () => {
  const folder = join(site.scratch, 'skills', 'tidy');
  mkdirSync(folder, { recursive: true });
  const write = (text: string) =>
    writeFileSync(join(folder, 'SKILL.md'), `---\nname: tidy\ndescription: Tidies.\n---\n${text}\n`);
  write('one');
  await says(/tidy is at version 1/, 'skills', 'push', folder);
  write('two');
  await refuses(/is at version 1, not 0/, 'skills', 'push', folder, '--onto', '0');
  await refuses(/--onto must be a version/, 'skills', 'push', folder, '--onto', 'newest');
  await says(/tidy is at version 2/, 'skills', 'push', folder, '--onto', '1');
  write('three');
  await says(/tidy is at version 3/, 'skills', 'push', folder);
  const into = join(site.scratch, 'pulled');
  await says(/version 2 is in/, 'skills', 'pull', 'tidy', '--version', '2', '--into', into);
  assert.match(readFileSync(join(into, 'tidy', 'SKILL.md'), 'utf8'), /\ntwo\n/);
});
