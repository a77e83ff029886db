import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { environmentListSchema } from '@lemniscate/shared/api/environment.ts';
import { policyVersionSchema } from '@lemniscate/shared/api/project.ts';
import { projectRoot } from '../project-root.ts';
import { runSession, sampleRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

let site: TestFleet;

before(async () => {
  site = await startTestFleet();
});
after(() => site.stop());

const usual = readFileSync(join(import.meta.dirname, '../../policy.yaml'), 'utf8');

async function project(id: string, prepare: string): Promise<void> {
  const policy = `${usual}\nenvironment:\n  prepare: ${JSON.stringify(prepare)}\n  lockfiles: [package.json]\n`;
  await site.client.json('/v1/projects', policyVersionSchema, { method: 'POST', body: { id, policy } });
}

const environmentsOf = async (id: string) =>
  (await site.client.json(`/v1/projects/${id}/environments`, environmentListSchema)).environments;

const cli = async (...args: string[]): Promise<string> => {
  const main = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  return (await promisify(execFile)(process.execPath, [main, ...args], { env: site.environment })).stdout;
};

test('the first session of a project waits for its environment, the second finds it, and both mend the sample', async () => {
  await project(
    'prepared',
    'mkdir -p node_modules/tool; echo x > node_modules/tool/index.js; echo it is prepared',
  );
  for (const name of ['first', 'second']) {
    const repositoryFolder = sampleRepository(site.scratch, name);
    const { session, events, patch } = await runSession(site, { repositoryFolder, project: 'prepared' });
    assert.equal(session.reason, 'finished', session.message ?? '');
    assert.ok(patch !== '' && !patch.includes('node_modules'), 'the diff has the work and nothing else');
    const told = events.flatMap(({ event }) =>
      event.type === 'notice' ? [event.text] : event.type === 'state' ? [event.message ?? ''] : [],
    );
    assert.ok(
      told.some((text) => /The environment env_\w+ lies under/.test(text)),
      told.join('\n'),
    );
    assert.equal(
      told.some((text) => /It waits for env_/.test(text)),
      name === 'first',
      told.join('\n'),
    );
  }
  const [built, ...others] = await environmentsOf('prepared');
  assert.deepEqual([built?.state, others.length], ['ready', 0], 'one build for both');
  assert.match(await cli('environments', 'list', '--project', 'prepared'), /ready/);
  assert.match(await cli('environments', 'log', '--project', 'prepared', built?.id ?? ''), /it is prepared/);
});

test('a prepare that fails ends the session that needs it, with its last lines', async () => {
  await project('broken', 'echo no such package >&2; exit 7');
  const repositoryFolder = sampleRepository(site.scratch, 'third');
  const { session } = await runSession(site, { repositoryFolder, project: 'broken' });
  assert.deepEqual([session.state, session.reason], ['failed', 'environment_failed']);
  assert.match(session.message ?? '', /exit code 7[^]*no such package/);
});
