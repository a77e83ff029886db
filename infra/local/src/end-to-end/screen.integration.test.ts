import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import { z } from 'zod';
import { projectRoot } from '../project-root.ts';
import { makeRepository, sampleRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';
import { noTmux, startTmux } from './tmux.ts';
import type { TmuxScreen } from './tmux.ts';

let site: TestFleet;

before(async () => {
  site = await startTestFleet();
});

after(() => site.stop());

/** A person types `lemniscate …` in a terminal. */
function person(t: TestContext, args: string, size?: { columns: number; rows: number }): TmuxScreen {
  const program = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const screen = startTmux(
    site.scratch,
    `'${process.execPath}' '${program}' ${args}`,
    {
      LEMNISCATE_DATA: String(site.environment['LEMNISCATE_DATA']),
      LEMNISCATE_AGENT_EXECUTION: 'server',
      LC_ALL: 'C.UTF-8',
      HOME: site.scratch,
      PATH: String(process.env['PATH']),
    },
    size,
  );
  t.after(screen.end);
  return screen;
}

test('a run from the first line to the diff, with its foot gone at the end', { skip: noTmux }, async (t) => {
  const folder = sampleRepository(site.scratch, 'screen');
  const screen = person(t, `run "fix the failing test" --repo '${folder}'`);
  await screen.shows(/\d+\/150 actions · \d:\d\d\/45 min .*s stops · Ctrl-C interrupts/);
  const end = await screen.shows(/exit code \d+/);
  assert.match(end, /exit code 0/);
  assert.match(end, /run_command .*done/);
  assert.match(end, /completed \(finished\)/);
  assert.match(end, /verified/);
  assert.doesNotMatch(end, /s stops/, 'nothing that moved is left');
});

test('Ctrl-C interrupts the turn and asks what next; s stops at any time', { skip: noTmux }, async (t) => {
  const folder = makeRepository(site.scratch, 'keys', { 'a.txt': 'one\n' });
  const screen = person(t, `run "Run \\\`sleep 300\\\`." --repo '${folder}'`);
  await screen.shows(/Let it run\?|calling/);
  if (/Let it run\?/.test(screen.read())) {
    screen.press('y');
  }
  await screen.shows(/run_command · calling/);
  screen.press('C-c');
  await screen.shows(/canceled/);
  await screen.shows(/What next\?/);
  screen.press('Enter');
  assert.match(await screen.shows(/exit code \d+/), /exit code 0/);

  screen.end();

  const other = person(t, `run "Run \\\`sleep 300\\\`." --repo '${folder}'`);
  await other.shows(/Let it run\?|calling/);
  if (/Let it run\?/.test(other.read())) other.press('y');
  await other.shows(/run_command · calling/);
  other.press('s');
  assert.match(await other.shows(/exit code \d+/), /exit code 130/);
});

test(
  'a reader goes on through a kill -9 of the dispatcher and loses no line',
  { skip: noTmux },
  async (t) => {
    const lines = 40;
    await site.client.json('/v1/projects', z.unknown(), {
      method: 'POST',
      body: { id: 'lines', policy: 'tools: {run_command: allow}\nfreeCommands: [echo, sleep, seq]\n' },
    });
    const path = makeRepository(site.scratch, 'lines', { 'a.txt': 'one\n' });
    const command = `for i in $(seq 1 ${lines}); do echo "line $i"; sleep 0.2; done`;
    const { id } = await site.client.json('/v1/sessions', sessionViewSchema, {
      method: 'POST',
      body: { instruction: `run \`${command}\``, project: 'lines', repository: { kind: 'path', path } },
    });
    const screen = person(t, `logs -f ${id}`);
    await screen.shows(/│ line 3\n/);
    const pid = site.fleet.services.find(({ name }) => name === 'dispatcher')?.pid();
    assert.ok(pid !== undefined);
    process.kill(pid, 'SIGKILL');
    const end = await screen.shows(/exit code \d+/);
    assert.match(end, /exit code 0/);
    assert.deepEqual(
      [...end.matchAll(/│ line (\d+)\n/g)].map(([, number]) => Number(number)),
      Array.from({ length: lines }, (_, index) => index + 1),
    );
  },
);

test('a narrow terminal and letters of another width break nothing', { skip: noTmux }, async (t) => {
  const folder = makeRepository(site.scratch, 'narrow', { 'README.md': '# 日本語のプロジェクト\n' });
  const screen = person(t, `run "look around" --repo '${folder}'`, { columns: 40, rows: 20 });
  const end = await screen.shows(/exit code \d+/);
  assert.match(end, /exit code 0/);
  assert.match(end.replaceAll('\n', ''), /日本語のプロジェクト/);
  assert.doesNotMatch(end, /s stops/);
});
