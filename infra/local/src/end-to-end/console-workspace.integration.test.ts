import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newConsoleLink } from '@lemniscate/cli/commands/console.ts';
import type { Browser, Page } from 'playwright-core';
import { buildConsole } from '../console-build.ts';
import { projectRoot } from '../project-root.ts';
import { spawnSync } from 'node:child_process';
import { undoneAfterTests } from '../testing/undone-after.ts';
import {
  browserMissing,
  coloursAreThere,
  openBrowser,
  seriousBarriers,
  takePicture,
  watchFaults,
} from './browser.ts';
import { endFleet, makeRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

const options = browserMissing === undefined ? {} : { skip: browserMissing };

let site: TestFleet;
let browser: Browser;
let page: Page;
let faults: string[];

const undo = undoneAfterTests();

before(async () => {
  if (browserMissing !== undefined) return;
  assert.equal(await buildConsole(projectRoot, console.error), true);
  site = undo.adopt(await startTestFleet(), endFleet);
  browser = undo.adopt(await openBrowser(), (one) => one.close());
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(30_000);
  page = await context.newPage();
  faults = watchFaults(page);
  await page.goto((await newConsoleLink(site.client)).url);
  await page.getByRole('heading', { name: 'No session yet' }).waitFor();
});

const open = (path: string) => page.goto(new URL(`/console${path}`, site.fleet.apiUrl).href);

function lemniscate(...args: string[]): void {
  const program = join(projectRoot, 'clients/cli/bin/lemniscate.mjs');
  const { status, stderr } = spawnSync(process.execPath, [program, ...args], {
    env: { ...site.environment, TMPDIR: site.scratch },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
}

/** Nothing keeps people out, in both colours, and nothing threw. */
async function looksRight(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await coloursAreThere(page, colorScheme);
    assert.deepEqual(await seriousBarriers(page), [], `${name} in ${colorScheme}`);
    await takePicture(page, `${name}-${colorScheme}`);
  }
  assert.deepEqual(faults, [], name);
}

test(
  'agents and skills: what they are, what they log in with, and that nobody can read it back',
  options,
  async () => {
    await open('/agents');
    await page.getByText('This project has no skills').waitFor();
    await looksRight('agents-empty');
    const definition = join(site.scratch, 'reviewer.yaml');
    writeFileSync(
      definition,
      'systemPrompt: You look at changes and say what is wrong with them.\nmemory: review\nskills: [{name: release-notes}]\n',
    );
    const skill = join(site.scratch, 'release-notes');
    mkdirSync(skill);
    writeFileSync(
      join(skill, 'SKILL.md'),
      '---\nname: release-notes\ndescription: Write release notes from commits\n---\n\nList what changed.\n',
    );
    lemniscate('skills', 'push', skill);
    lemniscate('agents', 'define', 'reviewer', definition);
    await page.reload();
    await page.getByRole('cell', { name: 'release-notes', exact: true }).waitFor();
    await looksRight('agents');
    await page.getByRole('link', { name: 'reviewer' }).click();
    await page.getByText('You look at changes').waitFor();
    await page.getByText('It remembers nothing of this project').waitFor();
    await page.getByLabel('Variable').fill('TRACKER_TOKEN');
    await page.getByLabel('Value').fill('tracker-secret-0123456789');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await page.getByRole('cell', { name: 'TRACKER_TOKEN', exact: true }).waitFor();
    assert.equal(await page.getByLabel('Value').inputValue(), '');
    await looksRight('agent');
    await page.getByRole('button', { name: 'Remove TRACKER_TOKEN' }).click();
    await page.getByText('It logs in nowhere').waitFor();
  },
);

test(
  'an object is written, given to an agent, which starts a session, and talked about',
  options,
  async () => {
    const path = makeRepository(site.scratch, 'shared', { 'README.md': '# Shared\n' });
    lemniscate('objects', 'repository', 'local', `file://${path}`);
    await open('/objects');
    await page.getByText('There is no such object').waitFor();
    await looksRight('objects-empty');
    await page.keyboard.press('n');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill('The totals are wrong');
    await dialog.getByLabel('Text').fill('<img src=x onerror=alert(1)> in the totals of March');
    await looksRight('object-new');
    await dialog.getByRole('button', { name: 'Create object' }).click();
    await page.getByRole('heading', { name: 'The totals are wrong' }).waitFor();
    await page.getByText('<img src=x onerror=alert(1)>').waitFor();
    assert.equal(await page.locator('main img').count(), 0, 'text of an object is text');
    await page.getByLabel('Comment; @agent asks an agent').fill('Please look at this.');
    await page.getByRole('button', { name: 'Comment', exact: true }).click();
    await page.locator('.thread').getByText('Please look at this.').waitFor();
    await page.getByLabel('Status').selectOption('in_review');
    await page.getByText('status: open → in_review').first().waitFor();
    await page.getByLabel('Assigned agent').selectOption('reviewer');
    await page.getByText('assignee: reviewer').waitFor();
    await looksRight('object');
    await open('/triggers');
    await page.getByRole('cell', { name: 'assignment' }).waitFor();
  },
);

test('triggers, webhooks that come in, and who is told', options, async () => {
  const definition = join(site.scratch, 'nightly.yaml');
  writeFileSync(
    definition,
    'name: Nightly look\nagent: reviewer\ntask: Look at what changed today.\nwhen: {kind: cron, pattern: "0 3 * * *", timeZone: Europe/Berlin}\n',
  );
  lemniscate('triggers', 'create', definition);
  await open('/triggers');
  await page.getByRole('cell', { name: 'Nightly look', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Disable Nightly look' }).click();
  await page.getByRole('button', { name: 'Enable Nightly look' }).click();
  await page.getByRole('button', { name: 'Disable Nightly look' }).waitFor();
  await page.getByRole('button', { name: 'New webhook' }).click();
  await page.getByLabel('Name').fill('Issues of the shop');
  await page.getByRole('button', { name: 'Create webhook' }).click();
  assert.ok((await page.getByLabel('Secret').inputValue()).length >= 16);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('cell', { name: 'Issues of the shop', exact: true }).waitFor();
  await page.getByRole('button', { name: 'New target' }).click();
  await page.getByLabel('Name').fill('On call');
  await page.getByLabel('Address').fill('https://hooks.example.com/lemniscate');
  await looksRight('target-new');
  await page.getByRole('button', { name: 'Create target' }).click();
  assert.match(await page.getByLabel('Secret').inputValue(), /^whsec_/);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Log of On call' }).click();
  await page.getByText('Nothing was sent').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await looksRight('triggers');
});

test('a role is bound, and a token is shown once', options, async () => {
  await open('/access');
  await page.getByLabel('Group of the directory').fill('developers');
  await page.getByRole('button', { name: 'Bind', exact: true }).click();
  await page.getByRole('cell', { name: 'group developers' }).waitFor();
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByLabel('What it is for').fill('Nightly reports');
  await looksRight('token-new');
  await page.getByRole('button', { name: 'Create token' }).click();
  const dialog = page.getByRole('dialog', { name: 'The token is there' });
  assert.match(await dialog.getByRole('textbox').inputValue(), /^lms_/);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('cell', { name: 'Nightly reports', exact: true }).waitFor();
});

test('environments of a project, also where there is none', options, async () => {
  await open('/environments');
  await page.getByText('Nothing was built').waitFor();
  await looksRight('environments-empty');
});
