import { ask } from '@lemniscate/api/client.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ApiClient } from '../api-client.ts';
import { createApiClient } from '../api-client.ts';
import { findEndpoint } from '../endpoint.ts';
import { wordsOf } from './doctor-finding.ts';
import type { DoctorDeps, Finding } from './doctor-finding.ts';

/** A clock that is off by more makes leases, tokens and audit times doubtful. Milliseconds. */
const clockToleranceMs = 5_000;

/** Whether the fleet answers, who we are there, whether its clock is ours, and whether it has room. */
export async function checkFleet({ env, now }: DoctorDeps): Promise<Finding[]> {
  try {
    const endpoint = await findEndpoint(env);
    if (endpoint === null)
      return [
        {
          check: 'fleet',
          state: 'fault',
          found: 'no fleet is named or running here',
          advice: 'Run "npm start", or set LEMNISCATE_URL and LEMNISCATE_TOKEN.',
        },
      ];
    const client = createApiClient(endpoint);
    const ready = await client.open('/readyz');
    const date = Date.parse(ready.headers.get('date') ?? '');
    await ready.body?.cancel();
    return [
      { check: 'fleet', state: 'ok', found: `${client.url} is ready` },
      ...(Number.isNaN(date) ? [] : [clockFinding(Math.abs(now() - date))]),
      ...(await checkLogin(client)),
      ...(await checkServers(client)),
    ];
  } catch (error) {
    const advice = isCodedError(error, 'unauthenticated')
      ? 'Log in again, or set LEMNISCATE_TOKEN.'
      : 'Look at the dispatcher’s log; docs/operations/failures.md lists what it says.';
    return [{ check: 'fleet', state: 'fault', found: wordsOf(error), advice }];
  }
}

function clockFinding(offMs: number): Finding {
  const found = `the clocks differ by less than ${Math.ceil(offMs / 1000)} s`;
  if (offMs <= clockToleranceMs) return { check: 'clock', state: 'ok', found };
  return {
    check: 'clock',
    state: 'warning',
    found: `this clock and the fleet’s differ by ${Math.round(offMs / 1000)} s`,
    advice: 'Set the clock (NTP).',
  };
}

async function checkLogin(client: ApiClient): Promise<Finding[]> {
  const me = await ask(client.api.GET('/v1/me'));
  const roles = [...me.roles, ...Object.keys(me.projects).map((project) => `of ${project}`)];
  const found = `${me.name} (${me.subject})`;
  if (roles.length > 0) return [{ check: 'login', state: 'ok', found: `${found}: ${roles.join(', ')}` }];
  const advice = 'Ask an administrator for a role: lemniscate roles bind.';
  return [{ check: 'login', state: 'fault', found: `${found} has no role`, advice }];
}

async function checkServers(client: ApiClient): Promise<Finding[]> {
  const servers = await ask(client.api.GET('/v1/servers')).then(
    (answer) => answer.servers,
    (error: unknown) => {
      // Not everybody may see them, and for such a person nothing is wrong.
      if (isCodedError(error, 'forbidden')) return null;
      throw error;
    },
  );
  if (servers === null) return [];
  const usable = servers.filter((server) => server.usable > 0).length;
  const found = `${usable} of ${servers.length} agent servers have a free slot`;
  if (usable > 0) return [{ check: 'servers', state: 'ok', found }];
  return [
    {
      check: 'servers',
      state: 'warning',
      found,
      advice: 'Sessions will wait. Add agent servers, or look at why they are out of rotation.',
    },
  ];
}
