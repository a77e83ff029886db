import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { TestContext } from 'node:test';
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
  const rest = 'freeCommands: [echo, printf, sleep]\ncontinueAfterToolRejection: true\n';
  for (const [id, write] of [
    ['words', 'allow'],
    ['asks', 'ask'],
  ] as const)
    await site.client.json('/v1/projects', z.unknown(), {
      method: 'POST',
      body: { id, policy: `tools: {write_file: ${write}, run_command: allow}\n${rest}` },
    });
});

const says = (text: string): ScriptedTurn => ({ blocks: [{ text }] });
const runs = (id: string, command: string): ScriptedTurn => ({
  blocks: [{ id, tool: 'run_command', input: { command } }],
});

const program = `'${process.execPath}' '${join(projectRoot, 'clients/cli/bin/lemniscate.mjs')}'`;

/** A person types lines of a shell in a terminal of their own; `lemniscate` is on their path. */
function person(
  t: TestContext,
  line: string,
  environment: Readonly<Record<string, string>> = {},
): TmuxScreen {
  const screen = startTmux(site.scratch, line.replaceAll('lemniscate ', `${program} `), {
    LEMNISCATE_DATA: String(site.environment['LEMNISCATE_DATA']),
    LEMNISCATE_AGENT_EXECUTION: 'server',
    LC_ALL: 'C.UTF-8',
    HOME: site.scratch,
    PATH: String(process.env['PATH']),
    ...environment,
  });
  t.after(screen.end);
  return screen;
}

test('a tool call is seen in each of its six states', { skip: noTmux }, async (t) => {
  upstream.play([
    runs('toolu_done', 'echo fine'),
    { blocks: [{ id: 'toolu_errored', tool: 'run_command', rawArguments: 'no JSON' }] },
    runs('toolu_canceled', 'sudo ls'),
    says('That was all.'),
  ]);
  const folder = makeRepository(site.scratch, 'states', { 'a.txt': 'one\n' });
  const screen = person(t, `lemniscate run "go" --project words --repo '${folder}'`);
  const end = await screen.shows(/exit code \d+/);
  assert.match(end, /exit code 0/);
  for (const [mark, state] of [
    ['○', 'generating'],
    ['◔', 'generated'],
    ['◑', 'calling'],
    ['●', 'done'],
    ['●', 'errored'],
    ['●', 'canceled'],
  ])
    assert.match(end, new RegExp(`${mark} run_command .*${state}`), state);
  assert.match(end, /● run_command sudo ls canceled/, 'what the policy forbids');
});

test(
  'a change is asked for in colours; a terminal without colours gets none',
  { skip: noTmux },
  async (t) => {
    const colours = /\u001b\[[\d;]*(3[0-7]|4[0-7]|9[0-7])[\d;]*m/;
    const folder = makeRepository(site.scratch, 'colours', { 'a.txt': 'one\n' });
    const screenOf = async (environment: Readonly<Record<string, string>>) => {
      upstream.play([
        { blocks: [{ id: 'toolu_w', tool: 'write_file', input: { path: 'b.txt', content: 'two\n' } }] },
        says('Fine.'),
      ]);
      const screen = person(t, `lemniscate run "go" --project asks --repo '${folder}'`, environment);
      await screen.shows(/Let it run\?/);
      const asked = screen.readPainted();
      screen.press('y');
      await screen.shows(/exit code 0/);
      const ended = screen.readPainted();
      assert.match(screen.read(), /^\+two$/m, 'the diff is shown');
      screen.end();
      return { asked, ended };
    };
    const painted = await screenOf({});
    assert.match(painted.asked, /\u001b\[32m\+ two/, 'what comes is green');
    assert.match(painted.ended, /\u001b\[32m\+two/);
    const plain = await screenOf({ NO_COLOR: '1' });
    assert.match(plain.asked, /\+ two/);
    assert.doesNotMatch(`${plain.asked}\n${plain.ended}`, colours);
  },
);

const title = '\u001b]0;owned\u0007';
/** Sets the title, clears the screen, goes home, takes another screen, hides what was written, turns text around. */
const hostile = `${title}\u001b[2J\u001b[H\u001b[?1049h\u001b[8m\u009b2J\u202ehidden\r`;
/** The same as a command of the sandbox prints it. */
const printsHostile = String.raw`printf '\033]0;owned\007\033[2J\033[H\033[?1049h\033[8mhidden\r\n'`;

test(
  'nothing that a model, a command, a file or a name says acts on the terminal',
  { skip: noTmux },
  async (t) => {
    upstream.play([
      {
        blocks: [
          { text: `I say ${hostile}` },
          {
            id: 'toolu_file',
            tool: 'write_file',
            input: { path: `a${title}.txt`, content: `${hostile}\n` },
          },
        ],
      },
      runs('toolu_prints', printsHostile),
      runs('toolu_asks', `uname # ${hostile}`),
      says(`The end ${hostile}`),
    ]);
    const folder = makeRepository(site.scratch, 'hostile', { 'a.txt': 'one\n' });
    const instruction = `"$(printf 'look \\033]0;owned\\007\\033[2J')"`;
    const screen = person(
      t,
      [
        'printf "\\033]0;mine\\007"',
        `lemniscate run ${instruction} --project words --repo '${folder}'`,
        'echo "run ended with $?"',
        `lemniscate sessions --limit 1`,
        `for what in show logs diff; do lemniscate $what $(lemniscate sessions --limit 1 --json | grep -o 's_[0-9a-z]*' | head -1); done`,
        `lemniscate sessions --limit 1 --json`,
        'echo whole',
      ].join('; '),
    );
    const asked = await screen.shows(/Let it run\?/);
    assert.match(asked, /uname # \\x1b\]0;owned\\x07/, 'the question shows every character');
    screen.press('Enter');
    const end = await screen.shows(/whole\n/);
    assert.match(end, /approval rejected/, 'Enter alone lets nothing run');
    assert.match(end, /run ended with 0/);
    assert.equal(screen.ask('#{pane_title} #{alternate_on}'), 'mine 0');
    assert.match(end, /session s_\w+ on/, 'nothing was cleared');
    assert.match(end, /I say \\x1b\]0;owned\\x07\\x1b\[2J/);
    assert.match(end, /│ \\x1b\]0;owned\\x07.*hidden\\x0d/);
    assert.doesNotMatch(end, /[\u202e\u009b]/);
    assert.match(end, /^instruction +look \\x1b\]0;owned/m);
    assert.ok(end.split('│ \\x1b]0;owned').length > 2, 'the log shows it as well');
    // That this can fail: the same bytes, not made visible.
    screen.end();
    const bare = person(t, printsHostile);
    await bare.shows(/exit code/);
    assert.equal(bare.ask('#{pane_title} #{alternate_on}'), 'owned 1');
  },
);
