import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { createTestAuthority } from '@lemniscate/agent-server/testing/certificates.ts';
import { startLfsServer } from '@lemniscate/agent-server/testing/lfs-server.ts';
import type { LfsServer } from '@lemniscate/agent-server/testing/lfs-server.ts';
import { policyVersionSchema } from '@lemniscate/shared/api/project.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import {
  endFleet,
  followToEnd,
  makeRepository,
  runSession,
  startTestFleet,
} from '@lemniscate/local/end-to-end/test-fleet.ts';
import type { FollowedSession, TestFleet } from '@lemniscate/local/end-to-end/test-fleet.ts';
import { undoneAfterTests } from '@lemniscate/local/testing/undone-after.ts';

let hostFolder: string;
let gitHost: LfsServer;
let site: TestFleet;

/** Tells what the agent's commands find, and changes it. */
const work = `#!/bin/sh
echo "found $(sha256sum <model.bin | cut -c -64)"
echo more >>model.bin
`;
const instruction = 'run `sh work.sh`';
const contents = 'weights\n'.repeat(50_000);
const digest = (bytes: string): string => createHash('sha256').update(bytes).digest('hex');

const undo = undoneAfterTests();
before(async () => {
  hostFolder = undo.adopt(mkdtempSync(join(tmpdir(), 'lemniscate-git-host-')), (folder) =>
    rmSync(folder, { recursive: true, force: true }),
  );
  const authority = await createTestAuthority(hostFolder);
  gitHost = undo.adopt(
    await startLfsServer(hostFolder, await authority.issue('git', 'https://git.invalid')),
    (host) => host.close(),
  );
  site = undo.adopt(
    await startTestFleet({
      LEMNISCATE_FETCH_CA: authority.caFile,
      LEMNISCATE_FETCH_PRIVATE_HOSTS: 'localhost',
    }),
    endFleet,
  );
  for (const [id, repository] of [
    ['as-they-are', ''],
    ['with-contents', 'repository: {lfs: required}\n'],
  ] as const) {
    const policy = `tools: {run_command: allow}\nfreeCommands: [sh]\n${repository}`;
    await site.client.json('/v1/projects', policyVersionSchema, { method: 'POST', body: { id, policy } });
  }
});

const filesWith = (pointer: string): Record<string, string> => ({
  '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
  'model.bin': pointer,
  'work.sh': work,
});

/** @returns the address of a repository of the git host */
function publish(pointer: string): string {
  const folder = makeRepository(hostFolder, `source-${randomUUID()}`, filesWith(pointer));
  const bare = `${randomUUID()}.git`;
  execFileSync('git', ['clone', '-q', '--bare', folder, join(hostFolder, bare)]);
  execFileSync('git', ['update-server-info'], { cwd: join(hostFolder, bare) });
  return `https://${gitHost.host}/${bare}`;
}

/** Opens a session on an address, as a program does over the API, and follows it to its end. */
async function sessionOn(url: string, project: string): Promise<FollowedSession> {
  const { id } = await site.client.json('/v1/sessions', sessionViewSchema, {
    method: 'POST',
    body: {
      project,
      instruction,
      execution: 'server',
      repository: { kind: 'git', url },
    },
  });
  return followToEnd(site, id);
}

const foundBy = ({ events }: FollowedSession): string[] =>
  events.flatMap(({ event }) =>
    event.type === 'output'
      ? [...event.text.matchAll(/found ([0-9a-f]{64})/g)].map(([, oid = '']) => oid)
      : [],
  );

test('a project that asks for large files has their contents in its sessions, and a diff that applies to the pointer', async () => {
  const pointer = gitHost.put(contents);
  const url = publish(pointer);
  const followed = await sessionOn(url, 'with-contents');
  const { session, patch, audit } = followed;
  assert.deepEqual([session.state, session.reason], ['completed', 'finished'], session.message ?? '');
  assert.deepEqual(foundBy(followed), [digest(contents)]);
  assert.equal(audit.fault, null);
  assert.deepEqual(
    session.diff?.files.map(({ path }) => path),
    ['model.bin'],
  );
  const target = makeRepository(hostFolder, `target-${randomUUID()}`, filesWith(pointer));
  const patchFile = join(hostFolder, 'patch');
  writeFileSync(patchFile, patch);
  execFileSync('git', ['apply', patchFile], { cwd: target });
  assert.equal(readFileSync(join(target, 'model.bin'), 'utf8'), `${contents}more\n`);
});

test('a project that does not ask has the pointers, and nobody asks the git host for contents', async () => {
  const pointer = gitHost.put(`${contents}other\n`);
  const followed = await sessionOn(publish(pointer), 'as-they-are');
  assert.deepEqual(foundBy(followed), [digest(pointer)]);
  assert.ok(!gitHost.asked.some((line) => line.includes(digest(`${contents}other\n`))));
});

test('contents that are nowhere end the session before it begins, and say what to do', async () => {
  const pointer = gitHost.put(`${contents}gone\n`).replace(/[0-9a-f]{64}/, 'e'.repeat(64));
  const { session } = await sessionOn(publish(pointer), 'with-contents');
  assert.equal(session.state, 'failed');
  assert.match(
    session.message ?? '',
    /model\.bin \(sha256:e{64}: Object does not exist\).*git lfs push --all/,
  );
  assert.equal(session.usage.inputTokens, 0);
});

test('an upload brings the large files that are on the person’s machine, where the project asks for them', async () => {
  const body = `${contents}uploaded\n`;
  const oid = digest(body);
  const repositoryFolder = makeRepository(hostFolder, 'uploaded', filesWith(gitHost.put(body)));
  const missing = await runSession(site, { repositoryFolder, project: 'with-contents', instruction });
  assert.equal(missing.session.state, 'failed');
  assert.match(missing.session.message ?? '', /model\.bin .*the upload does not have it.*git lfs pull/);
  const stored = join(repositoryFolder, '.git/lfs/objects', oid.slice(0, 2), oid.slice(2, 4));
  mkdirSync(stored, { recursive: true });
  writeFileSync(join(stored, oid), body);
  const followed = await runSession(site, { repositoryFolder, project: 'with-contents', instruction });
  assert.deepEqual(
    [followed.session.reason, foundBy(followed)],
    ['finished', [oid]],
    followed.session.message ?? '',
  );
  assert.ok(!gitHost.asked.some((line) => line.includes(oid)));
});
