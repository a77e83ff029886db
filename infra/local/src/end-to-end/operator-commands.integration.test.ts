import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { projectRoot } from '../project-root.ts';
import { assertNothingRuns, startTestFleet } from './test-fleet.ts';
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
