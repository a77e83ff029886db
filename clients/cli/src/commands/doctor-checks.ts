import { ask } from '@lemniscate/api/client.ts';
import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { promisify } from 'node:util';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ApiClient } from '../api-client.ts';
import { createApiClient } from '../api-client.ts';
import { readBounds } from '../bounds.ts';
import { dataFolder, findEndpoint } from '../endpoint.ts';
import { readExecution } from '../execution.ts';
import { checkEncryption } from './doctor-encryption.ts';

/** What one look found. `advice` says what to do about it. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  readonly found: string;
  readonly advice?: string;
}

/** What the looks share. */
export interface DoctorDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  readonly platform: NodeJS.Platform;
  /** Runs a program and answers its output; rejects where it is not there or fails. */
  readonly output: (program: string, args: readonly string[]) => Promise<string>;
}

type Check = (deps: DoctorDeps) => Promise<Finding[]>;

/** Every look at the installation, in the order in which one depends on the other. A new one is a line here. */
export const doctorChecks: readonly Check[] = [
  checkNode,
  checkGit,
  checkVariables,
  checkDisk,
  checkEncryption,
  checkSandbox,
  checkFleet,
];

/** Runs a program with a deadline. */
export async function programOutput(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [...args], { timeout: 10_000 });
  return stdout.trim();
}

async function checkNode(): Promise<Finding[]> {
  const major = Number(process.versions.node.split('.')[0]);
  const found = `Node ${process.versions.node}`;
  if (major >= 24) return [{ check: 'node', state: 'ok', found }];
  return [
    { check: 'node', state: 'fault', found, advice: 'Run "npm ci" in the project; it brings Node 24.' },
  ];
}

async function checkGit({ output }: DoctorDeps): Promise<Finding[]> {
  try {
    const found = await output('git', ['--version']);
    // merge-tree --write-tree, with which diffs are applied, came with 2.38.
    const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(found) ?? [];
    const old = Number(major) < 2 || (Number(major) === 2 && Number(minor) < 38);
    if (!old) return [{ check: 'git', state: 'ok', found }];
    return [{ check: 'git', state: 'fault', found, advice: 'Install git 2.38 or newer.' }];
  } catch (error) {
    return [{ check: 'git', state: 'fault', found: wordsOf(error), advice: 'Install git.' }];
  }
}

async function checkVariables({ env }: DoctorDeps): Promise<Finding[]> {
  const reads = [() => `execution: ${readExecution(env)}`, () => (readBounds(env), 'bounds can be read')];
  return reads.map((read): Finding => {
    try {
      return { check: 'variables', state: 'ok', found: read() };
    } catch (error) {
      return {
        check: 'variables',
        state: 'fault',
        found: wordsOf(error),
        advice: 'Mend the variable or unset it.',
      };
    }
  });
}

/** Below this a sandbox's disk or a bundle may not fit. */
const scarceBytes = 2 * 1024 ** 3;

async function checkDisk({ env }: DoctorDeps): Promise<Finding[]> {
  const folder = dataFolder(env);
  const { bavail, bsize } = await statfs(folder).catch(() => statfs('.'));
  const free = bavail * bsize;
  const found = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
  if (free >= scarceBytes) return [{ check: 'disk', state: 'ok', found }];
  return [{ check: 'disk', state: 'warning', found, advice: `Make room on the disk of ${folder}.` }];
}

async function checkSandbox({ env, output }: DoctorDeps): Promise<Finding[]> {
  if (env.LEMNISCATE_AGENT_EXECUTION === 'server') return [];
  const walls = ['--unshare-user', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', 'true'];
  try {
    await output('bwrap', walls);
    return [{ check: 'sandbox', state: 'ok', found: 'bubblewrap makes a sandbox without a network here' }];
  } catch (error) {
    return [
      {
        check: 'sandbox',
        state: 'warning',
        found: `bubblewrap cannot make a sandbox here: ${wordsOf(error)}`,
        advice:
          'Install bubblewrap and allow user namespaces, run a container engine, or use the pool: LEMNISCATE_AGENT_EXECUTION=server.',
      },
    ];
  }
}

/** A clock that is off by more makes leases, tokens and audit times doubtful. Milliseconds. */
const clockToleranceMs = 5_000;

async function checkFleet({ env, now }: DoctorDeps): Promise<Finding[]> {
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

async function checkServers(client: ApiClient): Promise<Finding[]> {
  const { servers } = await ask(client.api.GET('/v1/servers'));
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

function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? error.name) : String(error);
}
