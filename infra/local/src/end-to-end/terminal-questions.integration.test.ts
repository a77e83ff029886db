import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { pausedIntakesSchema } from '@lemniscate/shared/api/intake.ts';
import { approvalViewSchema } from '@lemniscate/shared/api/session.ts';
import { startScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';
import type { ScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import { z } from 'zod';
import { projectRoot } from '../project-root.ts';
import { undoneAfterTests } from '../testing/undone-after.ts';
import { endFleet, makeRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';
import { noTmux, startTmux } from './tmux.ts';
import type { TmuxScreen } from './tmux.ts';

let upstream: ScriptedUpstream;
let site: TestFleet;

const undo = undoneAfterTests();

before(async () => {
  upstream = undo.adopt(await startScriptedUpstream(), (one) => one.close());
  site = undo.adopt(
    await startTestFleet({
      ANTHROPIC_API_KEY: 'sk-ant-test-0123456789',
      ANTHROPIC_BASE_URL: upstream.url,
    }),
    endFleet,
  );
  await site.client.json('/v1/projects', z.unknown(), {
    method: 'POST',
    body: { id: 'asks', policy: 'tools: {run_command: ask}\ncontinueAfterToolRejection: true\n' },
  });
});

const runs = (id: string, command: string): ScriptedTurn => ({
  blocks: [{ id, tool: 'run_command', input: { command } }],
});
const says = (text: string): ScriptedTurn => ({ blocks: [{ text }] });

interface Place {
  readonly environment?: Readonly<Record<string, string>>;
  readonly columns?: number;
}

/** A person types `lemniscate …` in a terminal. */
function begun(t: TestContext, args: string, { environment, columns = 120 }: Place = {}): TmuxScreen {
  const program = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const screen = startTmux(
    site.scratch,
    `'${process.execPath}' '${program}' ${args}`,
    {
      LEMNISCATE_DATA: String(site.environment['LEMNISCATE_DATA']),
      LEMNISCATE_AGENT_EXECUTION: 'server',
      LC_ALL: 'C.UTF-8',
      HOME: site.scratch,
      TMPDIR: site.scratch,
      PATH: String(process.env['PATH']),
      ...environment,
    },
    { columns, rows: 40 },
  );
  t.after(screen.end);
  return screen;
}

/** A person runs a session whose agent asks for `uname`, and stands before the question. */
async function asked(t: TestContext, name: string, options: Place = {}): Promise<TmuxScreen> {
  const folder = makeRepository(site.scratch, name, { 'a.txt': 'one\n' });
  const screen = begun(t, `run "go" --project asks --repo '${folder}'`, options);
  await screen.shows(/Let it run\? \(Ctrl-C interrupts the\s+turn\)/);
  return screen;
}

test(
  'Ctrl-C in the middle of a message interrupts the turn, and sends nothing',
  { skip: noTmux },
  async (t) => {
    upstream.play([runs('toolu_1', 'uname')]);
    const screen = await asked(t, 'message-left');
    screen.press('m');
    await screen.shows(
      /What should it do instead\? \(Ctrl-C interrupts the turn, Ctrl-X stops the session\)/,
    );
    screen.press('half a sentence');
    await screen.shows(/half a sentence/);
    screen.press('C-c');
    await screen.shows(/run_command .*canceled/);
    await screen.shows(/What next\? \(nothing or Ctrl-C finishes the session, Ctrl-X stops it\)/);
    screen.press('C-c');
    const end = await screen.shows(/exit code \d+/);
    assert.match(end, /completed \(finished\)[^]*exit code 0/);
    assert.doesNotMatch(end, /approval rejected/, 'nothing was decided');
  },
);

test(
  'Ctrl-X stops out of every question: the choice, the message, the next message',
  { skip: noTmux },
  async (t) => {
    upstream.play([runs('toolu_1', 'uname')]);
    const choice = await asked(t, 'stop-choice');
    choice.press('C-x');
    assert.match(await choice.shows(/exit code \d+/), /user_stopped[^]*exit code 130/);
    choice.end();

    upstream.play([runs('toolu_2', 'uname')]);
    const message = await asked(t, 'stop-message');
    message.press('m');
    await message.shows(/What should it do instead/);
    message.press('letters such as s');
    await message.shows(/letters such as s/);
    message.press('C-x');
    assert.match(await message.shows(/exit code \d+/), /user_stopped[^]*exit code 130/);
    message.end();

    upstream.play([runs('toolu_3', 'uname')]);
    const next = await asked(t, 'stop-next');
    next.press('C-c');
    await next.shows(/What next\?/);
    next.press('half');
    next.press('C-x');
    assert.match(await next.shows(/exit code \d+/), /user_stopped[^]*exit code 130/);
  },
);

test('a used-up budget is asked about, and s stops there as well', { skip: noTmux }, async (t) => {
  upstream.play([runs('toolu_1', 'uname'), runs('toolu_2', 'uname -a')]);
  const screen = await asked(t, 'stop-budget', { environment: { LEMNISCATE_SESSION_MAX_ACTIONS: '1' } });
  screen.press('y');
  await screen.shows(/Extend it\? \(Ctrl-C means no, s or Ctrl-X stops the session\)/);
  screen.press('s');
  assert.match(await screen.shows(/exit code \d+/), /user_stopped[^]*exit code 130/);
});

test('a question that is decided elsewhere goes away by itself', { skip: noTmux }, async (t) => {
  upstream.play([runs('toolu_1', 'uname'), says('Linux.')]);
  const screen = await asked(t, 'elsewhere');
  screen.press('m');
  await screen.shows(/What should it do instead/);
  screen.press('half a sen');
  const { approvals } = await site.client.json(
    '/v1/approvals',
    z.object({ approvals: z.array(approvalViewSchema) }),
  );
  const [approval] = approvals;
  assert.ok(approval !== undefined);
  await site.client.json(`/v1/sessions/${approval.sessionId}/approvals/${approval.id}`, z.unknown(), {
    method: 'POST',
    body: { decision: 'approve', argumentsDigest: approval.argumentsDigest },
  });
  await screen.shows(/It was decided elsewhere; nothing is asked any more/);
  assert.match(await screen.shows(/exit code \d+/), /completed \(finished\)[^]*exit code 0/);
});

test(
  'an answer that is given while the dispatcher restarts is taken when it is back',
  { skip: noTmux },
  async (t) => {
    upstream.play([runs('toolu_1', 'uname'), says('Linux.')]);
    const screen = await asked(t, 'restart');
    const dispatcher = site.fleet.services.find(({ name }) => name === 'dispatcher');
    const pid = dispatcher?.pid();
    assert.ok(pid !== undefined);
    process.kill(pid, 'SIGKILL');
    screen.press('y');
    await screen.shows(/the fleet is away/);
    const end = await screen.shows(/exit code \d+/);
    assert.match(end, /run_command uname done/);
    assert.match(end, /completed \(finished\)[^]*exit code 0/);
    assert.doesNotMatch(end, /did not count/);
  },
);

test('Ctrl-C before a session is open opens none, and says so', { skip: noTmux }, async (t) => {
  const folder = makeRepository(site.scratch, 'before', { 'a.txt': 'one\n' });
  const screen = begun(t, `run "go" --project asks --repo '${folder}'`, {
    environment: { LEMNISCATE_AGENT_EXECUTION: 'workstation' },
  });
  await screen.shows(/making a sandbox on this machine/);
  screen.press('C-c');
  assert.match(await screen.shows(/exit code \d+/), /no session was opened[^]*exit code 130/);
  const { servers } = await site.client.json(
    '/v1/servers',
    z.object({ servers: z.array(z.object({ id: z.string() })) }),
  );
  assert.ok(
    servers.every(({ id }) => id.startsWith('agent-server-')),
    'no workstation is left on the list',
  );
});

test('a wrong folder is told before a sandbox is made', { skip: noTmux }, async (t) => {
  const screen = begun(t, `run "go" --repo '${site.scratch}'`, {
    environment: { LEMNISCATE_AGENT_EXECUTION: 'workstation' },
  });
  const end = await screen.shows(/exit code \d+/);
  assert.match(end, /repository_missing[^]*exit code 1/);
  assert.doesNotMatch(end, /making a sandbox/);
});

test('a session that waits in the queue is stopped by either key', { skip: noTmux }, async (t) => {
  const folder = makeRepository(site.scratch, 'queued', { 'a.txt': 'one\n' });
  const { paused } = await site.client.json('/v1/intake/fleet', pausedIntakesSchema, {
    method: 'PUT',
    body: {},
  });
  const version = paused.find(({ scope }) => scope === 'fleet')?.version ?? 0;
  t.after(() =>
    site.client.json('/v1/intake/fleet', pausedIntakesSchema, {
      method: 'DELETE',
      headers: { 'if-match': `"${version}"` },
    }),
  );
  for (const key of ['C-c', 's']) {
    const screen = begun(t, `run "go" --project asks --repo '${folder}'`);
    await screen.shows(/waiting for a server .*s stops · Ctrl-C interrupts/);
    screen.press(key);
    assert.match(await screen.shows(/exit code \d+/), /user_stopped \(stopped\)[^]*exit code 130/, key);
    screen.end();
  }
});

test('Ctrl-C in the middle of a text interrupts it, and the session goes on', { skip: noTmux }, async (t) => {
  upstream.play([
    { blocks: [{ text: 'this is never whole' }], stallAfter: 4 },
    says('It is the second one.'),
  ]);
  const folder = makeRepository(site.scratch, 'in-text', { 'a.txt': 'one\n' });
  const screen = begun(t, `run "go" --project asks --repo '${folder}'`);
  await screen.shows(/this is[^]*the model speaks/);
  screen.press('C-c');
  await screen.shows(/What next\?/);
  screen.press('go on', 'Enter');
  await screen.shows(/It is the second one\.[^]*What next\?/);
  screen.press('Enter');
  assert.match(await screen.shows(/exit code \d+/), /completed \(finished\)[^]*exit code 0/);
});

test(
  'forty columns, a terminal that changes its size, a locale without UTF-8',
  { skip: noTmux },
  async (t) => {
    upstream.play([
      runs('toolu_1', 'echo a line that is longer than the terminal is wide'),
      says('日本語です。'),
    ]);
    const screen = await asked(t, 'places', { columns: 40, environment: { LC_ALL: 'C' } });
    screen.resize(70, 30);
    screen.press('y');
    const end = await screen.shows(/exit code \d+/);
    assert.match(end, /● run_command echo .*done/);
    assert.match(end, /日本語です。/);
    assert.match(end, /completed \(finished\)[^]*exit code 0/);
    assert.doesNotMatch(end, /s stops|⠋|⠙|⠹/, 'nothing that moved is left');
  },
);

test(
  'a fleet that is not there and a login that is over are told with what to do',
  { skip: noTmux },
  async (t) => {
    const folder = makeRepository(site.scratch, 'away', { 'a.txt': 'one\n' });
    for (const [environment, says] of [
      [
        { LEMNISCATE_URL: 'http://127.0.0.1:9', LEMNISCATE_TOKEN: 'x' },
        /No answer from http:\/\/127\.0\.0\.1:9\. Is the fleet running/,
      ],
      [{ LEMNISCATE_TOKEN: 'lml_over' }, /Log in again: lemniscate login/],
    ] as const) {
      const screen = begun(t, `run "go" --repo '${folder}'`, { environment });
      const end = await screen.shows(/exit code \d+/);
      assert.match(end, says);
      assert.match(end, /exit code 1/);
      screen.end();
    }
  },
);
