import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { doctorChecks } from './doctor-checks.ts';
import type { Finding } from './doctor-finding.ts';

const nowhere = join(import.meta.dirname, 'there-is-no-such-folder');

/** What the doctor finds about this machine, with programs of which only the named ones work. */
async function findings(
  env: Readonly<Record<string, string>>,
  works: Readonly<Record<string, string>>,
): Promise<Finding[]> {
  const deps = {
    env: { LEMNISCATE_DATA: nowhere, XDG_CONFIG_HOME: nowhere, ...env },
    now: Date.now,
    platform: 'linux' as const,
    output: (program: string) => {
      const answer = works[program];
      return answer === undefined
        ? Promise.reject(new Error(`spawn ${program} ENOENT`))
        : Promise.resolve(answer);
    },
  };
  return (await Promise.all(doctorChecks.map((check) => check(deps)))).flat();
}

const of = (found: readonly Finding[], check: string): string[] =>
  found.filter((finding) => finding.check === check).map(({ state, found }) => `${state}: ${found}`);

test('the sandbox is looked for where a run would look', async () => {
  const look = async (env: Readonly<Record<string, string>>, works: Readonly<Record<string, string>>) =>
    of(await findings(env, works), 'sandbox');
  const engine = { docker: '28.2.2' };
  const bubblewrap = { bwrap: '' };
  assert.deepEqual(await look({}, engine), ['ok: a container engine answers (28.2.2)']);
  assert.deepEqual(await look({}, bubblewrap), ['ok: bubblewrap makes a sandbox without a network here']);
  assert.match((await look({}, {}))[0] ?? '', /^warning: no container engine .*; bubblewrap cannot/);
  assert.match(
    (await look({ LEMNISCATE_SANDBOX_DRIVER: 'docker' }, bubblewrap))[0] ?? '',
    /^fault: no container engine answers: spawn docker ENOENT$/,
  );
  assert.match(
    (await look({ LEMNISCATE_SANDBOX_DRIVER: 'bubblewrap' }, engine))[0] ?? '',
    /^fault: bubblewrap/,
  );
  assert.deepEqual(await look({ LEMNISCATE_AGENT_EXECUTION: 'server' }, {}), []);
});

test('what cannot be read is a fault that names it, and says what to do', async () => {
  const found = await findings(
    {
      LEMNISCATE_SANDBOX_PROFILES: join(nowhere, 'profiles.yaml'),
      LEMNISCATE_AGENT_EXECUTION: 'moon',
      LEMNISCATE_SESSION_MAX_ACTIONS: 'many',
    },
    { git: 'git version 2.30.0' },
  );
  assert.match(of(found, 'profiles')[0] ?? '', /^fault: .*profiles\.yaml/);
  assert.match(of(found, 'variables').join('\n'), /moon[\s\S]*LEMNISCATE_SESSION_MAX_ACTIONS/);
  assert.deepEqual(of(found, 'git'), ['fault: git version 2.30.0']);
  assert.deepEqual(of(found, 'fleet'), ['fault: no fleet is named or running here']);
  for (const { check, state, advice } of found)
    assert.ok(state === 'ok' || (advice ?? '') !== '', `${check} says what to do`);
});
