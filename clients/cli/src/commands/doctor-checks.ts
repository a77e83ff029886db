import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { promisify } from 'node:util';
import { readBounds } from '../bounds.ts';
import { dataFolder } from '../endpoint.ts';
import { readExecution } from '../execution.ts';
import { checkEncryption } from './doctor-encryption.ts';
import { wordsOf } from './doctor-finding.ts';
import type { Check, DoctorDeps, Finding } from './doctor-finding.ts';
import { checkFleet } from './doctor-fleet.ts';

/** Every look at the installation, in the order in which one depends on the other. A new one is a line here. */
export const doctorChecks: readonly Check[] = [
  checkNode,
  checkGit,
  checkVariables,
  checkDisk,
  checkEncryption,
  checkSandbox,
  checkProfiles,
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

/** Asks of the drivers that a run on this machine would try. */
async function checkSandbox({ env, output }: DoctorDeps): Promise<Finding[]> {
  if (env.LEMNISCATE_AGENT_EXECUTION === 'server') return [];
  const choice = env.LEMNISCATE_SANDBOX_DRIVER ?? 'auto';
  const tried = [
    ...(choice === 'bubblewrap' ? [] : [await tryEngine(output)]),
    ...(choice === 'docker' ? [] : [await tryBubblewrap(output)]),
  ];
  const works = tried.find(({ ok }) => ok);
  if (works !== undefined) return [{ check: 'sandbox', state: 'ok', found: works.found }];
  return [
    {
      check: 'sandbox',
      state: choice === 'auto' ? 'warning' : 'fault',
      found: tried.map(({ found }) => found).join('; '),
      advice: `${sandboxAdvice[choice] ?? sandboxAdvice.auto} Or use the pool: LEMNISCATE_AGENT_EXECUTION=server.`,
    },
  ];
}

const sandboxAdvice: Readonly<Record<string, string>> & { readonly auto: string } = {
  auto: 'Install bubblewrap and allow user namespaces, or run a container engine.',
  bubblewrap: 'Install bubblewrap and allow user namespaces.',
  docker: 'Start the container engine, or set DOCKER_HOST.',
};

interface Tried {
  readonly ok: boolean;
  readonly found: string;
}

async function tryEngine(output: DoctorDeps['output']): Promise<Tried> {
  try {
    const version = await output('docker', ['version', '--format', '{{.Server.Version}}']);
    return { ok: true, found: `a container engine answers (${version})` };
  } catch (error) {
    return { ok: false, found: `no container engine answers: ${wordsOf(error)}` };
  }
}

async function tryBubblewrap(output: DoctorDeps['output']): Promise<Tried> {
  const walls = ['--unshare-user', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', 'true'];
  try {
    await output('bwrap', walls);
    return { ok: true, found: 'bubblewrap makes a sandbox without a network here' };
  } catch (error) {
    return { ok: false, found: `bubblewrap cannot make a sandbox here: ${wordsOf(error)}` };
  }
}

/** The file that says what the sandboxes of this machine are made of. */
async function checkProfiles({ env }: DoctorDeps): Promise<Finding[]> {
  const file = env.LEMNISCATE_SANDBOX_PROFILES;
  if (file === undefined || env.LEMNISCATE_AGENT_EXECUTION === 'server') return [];
  try {
    await access(file, constants.R_OK);
    return [{ check: 'profiles', state: 'ok', found: file }];
  } catch (error) {
    const advice = 'Mend LEMNISCATE_SANDBOX_PROFILES or unset it.';
    return [{ check: 'profiles', state: 'fault', found: wordsOf(error), advice }];
  }
}
