import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { projectRoot } from '../project-root.ts';
import {
  assertNothingRuns,
  makeRepository,
  sampleRepository,
  startTestFleet,
  testsPass,
} from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

let site: TestFleet;

before(async () => {
  site = await startTestFleet();
});

after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the real program in a process of its own, as a script would: no terminal, output into pipes. */
function lemniscate(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  onOutput: () => void = () => undefined,
): Promise<Ended> {
  const child = spawn(process.execPath, [join(projectRoot, 'clients/cli/bin/lemniscate.mjs'), ...args], {
    env: { ...site.environment, TMPDIR: site.scratch, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString('utf8');
    onOutput();
  });
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** Pids of the agent servers of this test's fleet and workstations, by the variables they were started with. */
function agentServers(): string[] {
  return pids().filter((pid) => {
    const isServer = fileOf(pid, 'cmdline').includes('agent-server/src/main.ts');
    return isServer && fileOf(pid, 'environ').includes(site.scratch);
  });
}

/** TCP ports at which a process listens, read from the kernel's tables. */
function listeningPorts(pid: string): number[] {
  const sockets = new Set(
    linksOf(`/proc/${pid}/fd`).flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []),
  );
  const lines = `${fileOf(pid, 'net/tcp')}\n${fileOf(pid, 'net/tcp6')}`.split('\n');
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    return state === '0A' && sockets.has(inode) ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : [];
  });
}

const pids = (): string[] => readdirSync('/proc').filter((name) => /^\d+$/.test(name));

/** A process may end while it is looked at: it then has nothing. */
function fileOf(pid: string, name: string): string {
  return unlessGone(() => readFileSync(`/proc/${pid}/${name}`, 'utf8')) ?? '';
}
function linksOf(folder: string): string[] {
  const names = unlessGone(() => readdirSync(folder)) ?? [];
  return names.flatMap((name) => unlessGone(() => readlinkSync(join(folder, name))) ?? []);
}
function unlessGone<Found>(look: () => Found): Found | undefined {
  try {
    return look();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

const server = { LEMNISCATE_AGENT_EXECUTION: 'server' };

for (const [place, env] of [
  ['the pool', server],
  ['this workstation', {}],
] as const)
  test(`run, diff and apply on ${place}`, async () => {
    const folder = sampleRepository(site.scratch, `terminal-${place.replaceAll(' ', '-')}`);
    const run = await lemniscate(['run', 'fix the failing test', '--repo', folder, '--json'], env);
    assert.equal(run.code, 0, run.stderr);
    const summary = JSON.parse(run.stdout) as Record<string, never> & { sessionId: string; state: string };
    assert.equal(summary.state, 'completed');
    assert.deepEqual(
      Object.keys(summary).filter((name) => !['message'].includes(name)),
      [
        'sessionId',
        'state',
        'reason',
        'repository',
        'diff',
        'usage',
        'totalCostUsd',
        'toolCalls',
        'audit',
        'timingsMs',
        'sandbox',
      ],
    );
    assert.equal(testsPass(folder), false, 'nothing reaches the repository by itself');
    const raw = await lemniscate(['diff', summary.sessionId, '--raw']);
    assert.match(raw.stdout, /^diff --git /);
    const applied = await lemniscate(['apply', summary.sessionId, '--repo', folder]);
    assert.equal(applied.code, 0, applied.stderr);
    assert.equal(testsPass(folder), true);
    const verified = await lemniscate(['audit', 'verify', '--session', summary.sessionId]);
    assert.equal(verified.code, 0, verified.stdout + verified.stderr);
    const late = await lemniscate(['reject', summary.sessionId]);
    assert.equal(late.code, 1);
    assert.match(late.stderr, /diff_decided/);
  });

test('the runner of a workstation listens nowhere: it works behind walls that let it out', async () => {
  const folder = makeRepository(site.scratch, 'behind-walls', { 'a.txt': 'one\n' });
  const ports = { runner: new Map<string, number>(), pool: new Map<string, number>() };
  const run = await lemniscate(['run', 'look around', '--repo', folder], {}, () => {
    for (const pid of agentServers()) {
      const isCalled = fileOf(pid, 'environ').includes('LEMNISCATE_SERVER_PORT=');
      ports[isCalled ? 'pool' : 'runner'].set(pid, listeningPorts(pid).length);
    }
  });
  assert.equal(run.code, 0, run.stderr);
  // A process that it starts is it for a moment, between fork and exec: then there are two.
  assert.deepEqual(new Set(ports.runner.values()), new Set([0]));
  assert.ok([...ports.pool.values()].includes(1), 'a port that is open would not be seen');
});

test('no variable of the workstation is inside, and its toolchains are', async () => {
  const folder = makeRepository(site.scratch, 'variables', { 'a.txt': 'one\n' });
  const planted = `planted-${process.pid}`;
  await site.client.json('/v1/projects', z.unknown(), {
    method: 'POST',
    body: { id: 'variables', policy: 'tools: {run_command: allow}\nfreeCommands: [env, git]\n' },
  });
  const inside = async (command: string): Promise<string> => {
    const args = ['run', `run \`${command}\``, '--repo', folder, '--project', 'variables'];
    const run = await lemniscate(args, { LEMNISCATE_PLANTED: planted, AWS_SECRET_ACCESS_KEY: planted });
    assert.equal(run.code, 0, run.stderr);
    return run.stdout;
  };
  const variables = await inside('env');
  assert.match(variables, /│ PATH=/, 'the variables are shown');
  assert.doesNotMatch(variables, new RegExp(planted));
  assert.doesNotMatch(variables, /│ (LEMNISCATE_TOKEN|LEMNISCATE_DATA|LEMNISCATE_TLS_KEY|AWS_)/);
  assert.match(await inside('git --version'), /│ git version/);
});

test('toolchains of the person’s home are inside, and nothing else of that home', async (t) => {
  const folder = makeRepository(site.scratch, 'home-toolchains', { 'a.txt': 'one\n' });
  // Below the real home: nobody else can pass through it, and /tmp is a sandbox's own.
  const home = mkdtempSync(join(homedir(), 'lemniscate-home-'));
  t.after(() => rmSync(home, { recursive: true }));
  const node = join(home, '.nvm/versions/node/v99.0.0');
  for (const [name, text] of [
    ['bin/node', '#!/bin/sh\necho v99.0.0\n'],
    ['include/node/node.h', ''],
    ['../../../../.npmrc', '//registry.example/:_authToken=secret-of-the-home\n'],
    ['../../../alias/default', 'secret-of-the-home\n'],
  ] as const) {
    mkdirSync(dirname(join(node, name)), { recursive: true });
    writeFileSync(join(node, name), text, { mode: 0o755 });
  }
  await site.client.json('/v1/projects', z.unknown(), {
    method: 'POST',
    body: { id: 'toolchains', policy: 'tools: {run_command: allow}\nfreeCommands: [node, find]\n' },
  });
  const inside = async (command: string): Promise<string> => {
    const args = ['run', `run \`${command}\``, '--repo', folder, '--project', 'toolchains'];
    const run = await lemniscate(args, { HOME: home, PATH: `${node}/bin:${process.env['PATH'] ?? ''}` });
    assert.equal(run.code, 0, run.stdout + run.stderr);
    return run.stdout;
  };
  assert.match(await inside('node --version'), /│ v99\.0\.0/);
  const seen = await inside(`find ${home}`);
  assert.match(seen, /│ .*v99\.0\.0\/include\/node\/node\.h/);
  assert.doesNotMatch(seen, /npmrc|alias/);
});

test('a reader that goes away is no fault, and ends what only it was watching', async () => {
  const folder = makeRepository(site.scratch, 'reader', { 'a.txt': 'one\n' });
  await site.client.json('/v1/projects', z.unknown(), {
    method: 'POST',
    body: { id: 'reader', policy: 'tools: {run_command: allow}\nfreeCommands: [sleep]\n' },
  });
  const program = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const piped = (args: string): { readonly line: string; readonly code: string; readonly stderr: string } => {
    const script = `'${process.execPath}' '${program}' ${args} | head -1; echo "\${PIPESTATUS[0]}"`;
    const ended = spawnSync('bash', ['-c', script], {
      env: { ...site.environment, TMPDIR: site.scratch, ...server },
      encoding: 'utf8',
      timeout: 60_000,
    });
    const [line = '', code = ''] = ended.stdout.split('\n');
    return { line, code, stderr: ended.stderr };
  };
  const run = piped(`run 'run \`sleep 300\`' --project reader --repo '${folder}'`);
  const id = /session (s_\w+)/.exec(run.line)?.[1] ?? '';
  assert.equal(run.code, '130', run.stderr);
  const show = await lemniscate(['show', id, '--json']);
  assert.equal((JSON.parse(show.stdout) as { state: string }).state, 'user_stopped');
  for (const args of [`logs ${id}`, `logs -f ${id}`, 'sessions', `show ${id}`, '--help']) {
    const { line, code, stderr } = piped(args);
    assert.notEqual(line, '', args);
    assert.deepEqual({ code, stderr }, { code: '0', stderr: '' }, args);
  }
});

test('plain output tells the whole story and exits with the session’s code', async () => {
  const folder = makeRepository(site.scratch, 'plain', { 'a.txt': 'one\n' });
  const run = await lemniscate(['run', 'look around', '--repo', folder], server);
  assert.equal(run.code, 0, run.stderr);
  assert.match(run.stdout, /list_files/);
  assert.match(run.stdout, /No file was changed/);
  assert.match(run.stdout, /verified/);
  assert.doesNotMatch(run.stdout, /\u001b/, 'no colour in a pipe');
});

test('wrong words are usage errors: exit 2, named', async () => {
  const folder = makeRepository(site.scratch, 'usage', { 'a.txt': 'one\n' });
  for (const [args, env, says] of [
    [['run'], server, /instruction/],
    [['run', 'x', '--nonsense'], server, /nonsense/],
    [['frobnicate'], server, /frobnicate/],
    [['run', 'x', '--repo', folder], { LEMNISCATE_AGENT_EXECUTION: 'moon' }, /moon.*server.*workstation/],
    [['run', 'x', '--repo', folder], { LEMNISCATE_AGENT_EXECUTION: '' }, /LEMNISCATE_AGENT_EXECUTION/],
  ] as const) {
    const ended = await lemniscate(args, env);
    assert.equal(ended.code, 2, `${args.join(' ')}: ${ended.stderr}`);
    assert.match(ended.stderr, says);
  }
});

test('what cannot work is named, and nothing is left behind', async () => {
  const folder = makeRepository(site.scratch, 'bad', { 'a.txt': 'one\n' });
  const empty = join(site.scratch, 'empty');
  mkdirSync(empty);
  for (const [args, says] of [
    [['run', 'x', '--repo', join(site.scratch, 'nowhere')], /repository_missing/],
    [['run', 'x', '--repo', empty], /repository_missing/],
    [['run', 'x', '--repo', join(folder, '.git')], /repository_bare/],
    [['run', 'x', '--repo', folder, '--model', 'gpt-unheard-of'], /gpt-unheard-of.*model_unknown/],
    [['run', 'x', '--repo', folder, '--project', 'nobody'], /nobody.*project_unknown/],
    [['run', 'x', '--repo', folder, '--runtime', 'magic'], /magic.*runtime_unknown/],
    [['show', 's_00000000000000000000000000'], /session_unknown/],
  ] as const) {
    const ended = await lemniscate(args, server);
    assert.equal(ended.code, 1, `${args.join(' ')}: ${ended.stderr}`);
    assert.match(ended.stderr, says);
    assert.doesNotMatch(ended.stderr, /\n {4}at /, 'no stack for a person');
  }
  const away = await lemniscate(['sessions'], {
    LEMNISCATE_URL: 'http://127.0.0.1:9',
    LEMNISCATE_TOKEN: 'x',
  });
  assert.equal(away.code, 1);
  assert.match(away.stderr, /npm start/);
  const stranger = await lemniscate(['sessions'], { LEMNISCATE_TOKEN: 'wrong' });
  assert.match(stranger.stderr, /unauthenticated/);
});

test('Ctrl-C stops the session: exit 130, nothing offered', async () => {
  const folder = sampleRepository(site.scratch, 'stopped');
  const child = spawn(
    process.execPath,
    [join(projectRoot, 'clients/cli/bin/lemniscate.mjs'), 'run', 'fix the failing test', '--repo', folder],
    { env: { ...site.environment, TMPDIR: site.scratch, ...server }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    if (out.includes('calling')) return;
    out += chunk.toString('utf8');
    if (out.includes('calling')) child.kill('SIGINT');
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 130);
  const id = /session (s_\w+)/.exec(out)?.[1] ?? '';
  const show = await lemniscate(['show', id, '--json']);
  const session = JSON.parse(show.stdout) as { state: string; diff: unknown };
  assert.equal(session.state, 'user_stopped');
  assert.equal(session.diff, null);
});
