import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { newConsoleLink } from '@lemniscate/cli/commands/console.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import { startScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { ScriptedTurn } from '@lemniscate/shared/testing/upstream/turn.ts';
import type { ScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { buildConsole } from '../console-build.ts';
import { projectRoot } from '../project-root.ts';
import { undoneAfterTests } from '../testing/undone-after.ts';
import { browserMissing, openBrowser, seriousBarriers, takePicture, watchFaults } from './browser.ts';
import { endFleet, makeRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

const options = browserMissing === undefined ? {} : { skip: browserMissing };
/** Until a session that the test opened has done its work, on a machine that does much else. */
const workMs = 120_000;

let upstream: ScriptedUpstream;
let site: TestFleet;
let browser: Browser;
let page: Page;
let faults: string[];

const undo = undoneAfterTests();

before(async () => {
  if (browserMissing !== undefined) return;
  assert.equal(await buildConsole(projectRoot, console.error), true);
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
    body: {
      id: 'talks',
      policy: 'tools: {write_file: allow, run_command: allow}\nfreeCommands: [echo, printf, sleep, seq]\n',
    },
  });
  browser = undo.adopt(await openBrowser(), (one) => one.close());
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(30_000);
  page = await context.newPage();
  faults = watchFaults(page, [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE/]);
  await page.goto((await newConsoleLink(site.client)).url);
  await page.getByRole('heading', { name: 'No session yet' }).waitFor();
});

const end = () => page.locator('.page-head').getByText('Completed');
const says = (text: string): ScriptedTurn => ({ blocks: [{ text }] });
const writes = (path: string, content = `${path}\n`): ScriptedTurn => ({
  blocks: [{ id: `toolu_${path.replaceAll(/\W/g, '_')}`, tool: 'write_file', input: { path, content } }],
});
const runs = (id: string, command: string): ScriptedTurn => ({
  blocks: [{ id, tool: 'run_command', input: { command } }],
});

/** Opens a session whose model plays the turns, and looks at it. */
async function look(name: string, turns: readonly ScriptedTurn[], extra: object = {}): Promise<string> {
  upstream.play([...turns]);
  const path = makeRepository(site.scratch, name, { 'README.md': '# Talks\n' });
  const { id } = await site.client.json('/v1/sessions', sessionViewSchema, {
    method: 'POST',
    body: {
      instruction: name,
      project: 'talks',
      repository: { kind: 'path', path },
      interactive: true,
      ...extra,
    },
  });
  await page.goto(new URL(`/console/sessions/${id}`, site.fleet.apiUrl).href);
  return id;
}

async function noBarriers(name: string): Promise<void> {
  assert.deepEqual(await seriousBarriers(page), [], name);
  await takePicture(page, name);
}

test('a session that stays open takes the next message and is finished by its person', options, async () => {
  await look('stays-open', [says('What shall I write?'), writes('answer.txt'), says('Written.')], {
    followUps: true,
  });
  await page.getByText('What shall I write?').first().waitFor({ timeout: workMs });
  const message = page.getByRole('textbox', { name: 'Next message' });
  await message.fill('Write the answer.');
  await noBarriers('session-follow-up');
  await message.press('Enter');
  await page.getByText('Write the answer.').first().waitFor();
  await page.getByText('Written.').first().waitFor({ timeout: workMs });
  await page.getByRole('button', { name: 'Finish' }).click();
  await end().waitFor({ timeout: workMs });
  await page.getByRole('link', { name: 'Review diff' }).waitFor();
});

test('a budget that is used up is extended where it is asked', options, async () => {
  await look('budget', [writes('one'), writes('two'), says('Both are there.')], {
    bounds: { maxActions: 1 },
  });
  await page.getByText('The budget is used up').waitFor({ timeout: workMs });
  const facts = page.getByLabel('Facts');
  await facts.getByText('1 of 1', { exact: true }).waitFor();
  await noBarriers('session-extension');
  await page.getByRole('button', { name: 'Extend', exact: true }).click();
  await end().or(page.getByText('The budget is used up')).first().waitFor({ timeout: workMs });
  await end().waitFor({ timeout: workMs });
  // with the extension there is room for fifty more
  await facts.getByText('2 of 51', { exact: true }).waitFor();
});

test('a tool call is seen in each of its six states', options, async () => {
  const id = await look(
    'six-states',
    [
      // slow enough that a person, and so this test, sees it being written
      { ...runs('toolu_asks', 'uname -a; echo so much to write down here'), pauseMs: 200 },
      { blocks: [{ id: 'toolu_bad', tool: 'run_command', rawArguments: 'no JSON' }] },
      runs('toolu_long', 'sleep 300'),
      says('Stopped.'),
    ],
    { followUps: true },
  );
  const call = (which: number, state: string, word: string) =>
    page
      .locator('.t-call')
      .nth(which)
      .and(page.locator(`[data-state="${state}"]`))
      .getByText(word, { exact: true })
      .waitFor({ timeout: workMs });
  await call(0, 'generating', 'writing');
  await call(0, 'generated', 'asks');
  await page.getByRole('button', { name: 'Approve once' }).click();
  await call(0, 'done', 'done');
  await call(1, 'errored', 'errored');
  await call(2, 'calling', 'running');
  await noBarriers('session-states');
  await site.client.json(`/v1/sessions/${id}/interrupt`, z.unknown(), { method: 'POST' });
  await call(2, 'canceled', 'canceled');
  await page.getByRole('button', { name: 'Finish' }).click();
  await end().waitFor({ timeout: workMs });
});

test('of a diff some files are accepted, and the others are not', options, async () => {
  const id = await look('some-files', [writes('keep.txt'), writes('leave.txt'), says('Two files.')]);
  await end().waitFor({ timeout: workMs });
  await page.getByRole('link', { name: 'Review diff' }).click();
  await page.getByRole('region', { name: 'leave.txt' }).getByRole('button', { name: 'Leave out' }).click();
  await noBarriers('review-some-files');
  await page.keyboard.press('a');
  await page.getByText('Accepted', { exact: true }).waitFor();
  const { diff } = await site.client.json(`/v1/sessions/${id}`, sessionViewSchema);
  assert.deepEqual(diff?.files.map(({ path }) => path).toSorted(), ['keep.txt', 'leave.txt']);
  assert.deepEqual(diff?.acceptedFiles, ['keep.txt']);
});

test(
  'the timeline goes on through a kill -9 of the dispatcher, and no line is missing or twice',
  options,
  async () => {
    const lines = 40;
    await look('restart', [
      runs('toolu_lines', `for i in $(seq 1 ${lines}); do echo "line $i"; sleep 0.2; done`),
      says('Counted.'),
    ]);
    await page.getByText('line 3', { exact: true }).waitFor({ timeout: workMs });
    const dispatcher = site.fleet.services.find(({ name }) => name === 'dispatcher');
    const pid = dispatcher?.pid();
    assert.ok(pid !== undefined);
    process.kill(pid, 'SIGKILL');
    await page.getByText('Reconnecting').waitFor();
    await end().waitFor({ timeout: workMs });
    await page.getByText('Counted.').first().waitFor();
    const more = page.getByRole('button', { name: /more lines? above/ });
    if (await more.isVisible()) await more.click();
    await page.getByText('line 1', { exact: true }).waitFor();
    const shown = await page.evaluate<string[]>(
      '[...document.querySelectorAll(".t-lines > div")].map((line) => line.textContent)',
    );
    assert.deepEqual(
      shown.filter((line) => line.startsWith('line ')),
      Array.from({ length: lines }, (_, index) => `line ${index + 1}`),
    );
  },
);

const markup = '<img src=x onerror="window.hit=1"><script>window.hit=1</script><b class="planted">bold</b>';

test('markup of a model, a command, a file and its name is shown as what it is: text', options, async () => {
  await look(markup, [
    writes('<b class="planted">.html', `${markup}\n`),
    runs('toolu_says', `printf '%s\\n' '${markup}'`),
    says(`# ${markup}\n\n[x](javascript:window.hit=1)`),
  ]);
  await end().waitFor({ timeout: workMs });
  const untouched = async (where: string): Promise<void> => {
    assert.equal(await page.evaluate('window.hit === undefined'), true, where);
    assert.equal(
      await page.locator('main .planted, main img, main script, main a[href^="javascript"]').count(),
      0,
    );
  };
  assert.ok(
    (await page.getByText('onerror="window.hit=1"').count()) >= 3,
    'said, printed and asked: all are shown',
  );
  await untouched('timeline');
  await page.getByRole('link', { name: 'Review diff' }).click();
  await page.getByText('onerror="window.hit=1"').first().waitFor();
  await untouched('review');
  await page.goto(new URL('/console/', site.fleet.apiUrl).href);
  await page.getByText('onerror="window.hit=1"').first().waitFor();
  await untouched('list');
  // That this can fail: markup that got in would be seen.
  await page.evaluate(
    `document.querySelector('main').append(Object.assign(document.createElement('b'), { className: 'planted' }))`,
  );
  await assert.rejects(untouched('planted'));
  assert.deepEqual(faults, []);
});
