import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { newConsoleLink } from '@lemniscate/cli/commands/console.ts';
import pg from 'pg';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { buildConsole } from '../console-build.ts';
import { arrangeProjects } from '../demo/arrange-projects.ts';
import { tellMonth } from '../demo/story.ts';
import { writeMonth } from '../demo/write-month.ts';
import { projectRoot } from '../project-root.ts';
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
/** A list of so many sessions, a log of so many lines: what the console has to work with. */
const manySessions = 10_000;
const manyLines = 50_000;

let site: TestFleet;
let browser: Browser;
let page: Page;
let faults: string[];

const undo = undoneAfterTests();

before(async () => {
  if (browserMissing !== undefined) return;
  assert.equal(await buildConsole(projectRoot, console.error), true);
  site = undo.adopt(await startTestFleet(), endFleet);
  const projects = await arrangeProjects(site.client);
  assert.equal(await writeMonth(site.fleet.stores.databaseUrl, tellMonth(new Date(), 150), projects), 150);
  browser = undo.adopt(await openBrowser(), (one) => one.close());
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(30_000);
  page = await context.newPage();
  faults = watchFaults(page);
  await page.goto((await newConsoleLink(site.client)).url);
  await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();
});

const open = (path: string) => page.goto(new URL(`/console${path}`, site.fleet.apiUrl).href);

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
  'costs: over time, by project and person, the dearest sessions, budgets, and both exports',
  options,
  async () => {
    await open('/costs');
    await page.getByRole('heading', { name: 'Cost a day' }).waitFor();
    await page.getByRole('heading', { name: 'Dearest sessions' }).waitFor();
    await page.getByRole('cell', { name: 'storefront' }).first().waitFor();
    await looksRight('costs');
    await page.getByRole('button', { name: 'Person', exact: true }).click();
    await page.getByRole('heading', { name: 'By person' }).waitFor();
    for (const [name, head] of [
      ['CSV', /^user,/],
      ['FOCUS', /BilledCost/],
    ] as const) {
      const href = await page.getByRole('link', { name }).getAttribute('href');
      const text = await page.evaluate(`fetch(${JSON.stringify(href)}).then((answer) => answer.text())`);
      assert.match(String(text), head);
    }
  },
);

test('a budget is set where it is looked at', options, async () => {
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('handbook');
  await dialog.getByLabel('US dollars').fill('75');
  await dialog.getByRole('button', { name: 'Set budget' }).click();
  await page.getByText('of $75.00').waitFor();
});

test('the fleet: servers, queue, starts and failures', options, async () => {
  await open('/fleet');
  await page.getByText('agent-server-1').first().waitFor();
  await page.getByRole('button', { name: '7 days' }).click();
  await page.getByRole('heading', { name: 'Ends by reason' }).waitFor();
  await page.getByText('takes sessions').first().waitFor();
  await looksRight('fleet');
});

test('a server is drained and put back, and intake is paused and resumed', options, async () => {
  await page.getByRole('button', { name: 'Drain agent-server-2' }).click();
  await looksRight('drain');
  await page.getByRole('button', { name: 'Drain server' }).click();
  await page
    .getByRole('row', { name: /agent-server-2/ })
    .getByText('drained', { exact: true })
    .waitFor();
  await looksRight('fleet-drained');
  await page.getByRole('button', { name: 'Put back agent-server-2' }).click();
  await page
    .getByRole('row', { name: /agent-server-2/ })
    .getByText('takes sessions', { exact: true })
    .waitFor();
  for (const scope of ['fleet', 'pool:default', 'project:local']) {
    await page.getByRole('button', { name: 'Pause intake' }).click();
    await page.getByLabel('What takes no sessions').fill(scope);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText(`${scope} is paused`).waitFor();
  }
  await looksRight('intake-paused');
  for (const scope of ['fleet', 'pool:default', 'project:local']) {
    await page.getByRole('button', { name: `Resume ${scope}` }).click();
    await page.getByText(`${scope} is paused`).waitFor({ state: 'detached' });
  }
});

test('an administrator stops everything, and not by accident', options, async () => {
  await page.getByRole('button', { name: 'Stop everything' }).click();
  const sure = page.getByRole('button', { name: 'Stop every session' });
  assert.equal(await sure.isDisabled(), true);
  await page.getByLabel('Write “stop everything” to confirm').fill('stop everythin');
  assert.equal(await sure.isDisabled(), true);
  await looksRight('stop-everything');
  await page.getByLabel('Write “stop everything” to confirm').fill('stop everything');
  await sure.click();
  await page.getByText('fleet is paused').waitFor();
  const database = new pg.Client({ connectionString: site.fleet.stores.databaseUrl });
  await database.connect();
  const { rows } = await database.query(`SELECT FROM audit_entries WHERE type = 'fleet.stopped'`);
  await database.end();
  assert.equal(rows.length, 1);
  await page.getByRole('button', { name: 'Resume fleet' }).click();
  await page.getByText('fleet is paused').waitFor({ state: 'detached' });
});

test('the audit log is searched, and a chain is verified in this browser', options, async () => {
  await open('/audit');
  await page.getByRole('button', { name: '31 days' }).click();
  await page.getByLabel('Search entries').fill('sso:amara.okafor');
  await page.getByRole('cell', { name: 'amara.okafor' }).first().waitFor();
  await looksRight('audit-search');
  await page
    .getByRole('link', { name: /^session:/ })
    .first()
    .click();
  await page.getByRole('button', { name: 'Verify chain' }).click();
  await page.getByText(/^Whole: \d+ entries, closed/).waitFor();
  await page.getByText(/^In the signed log|^Its last entry comes after/).waitFor();
  await page.getByRole('button', { name: 'Verify chain', disabled: false }).waitFor();
  await looksRight('audit-chain');
});

test('a chain whose bytes were changed is called broken', options, async () => {
  await page.route('**/v1/audit/chains/*/entries*', async (route) => {
    const answer = await route.fetch();
    const shown = z
      .looseObject({ entries: z.array(z.looseObject({ body: z.string() })) })
      .parse(await answer.json());
    const third = shown.entries[2];
    if (third !== undefined) third.body = Buffer.from('{"type":"forged"}').toString('base64');
    await route.fulfill({ response: answer, json: shown });
  });
  await page.reload();
  await page.getByRole('button', { name: 'Verify chain' }).click();
  await page.getByText(/^Broken: the bytes of entry 3/).waitFor();
  await page.unroute('**/v1/audit/chains/*/entries*');
});

test('exporters, revocations and policies', options, async () => {
  await open('/exporters');
  await page.getByRole('columnheader', { name: 'Lag' }).waitFor();
  await looksRight('exporters');
  await open('/revocations');
  await page.getByLabel('Person').fill('sso:tomas.novak');
  await page.getByLabel('Why').fill('has left');
  await page.getByRole('button', { name: 'Revoke access' }).click();
  await page.getByRole('cell', { name: 'has left' }).waitFor();
  await looksRight('revocations');
  await open('/policies');
  await page.getByLabel('Commands, one a line').fill('npm test\nrm -rf /');
  await page.getByRole('button', { name: 'Judge' }).click();
  await page.getByText('never runs').waitFor();
  await page.getByText('in force', { exact: true }).waitFor();
  await looksRight('policies');
});

test('a person without roles is told so, on every page', options, async () => {
  await page.route('**/v1/{costs,servers,fleet,audit}**', (route) =>
    route.fulfill({
      status: 403,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        status: 403,
        code: 'forbidden',
        title: 'Not allowed',
        detail: 'That takes the role finops.',
      }),
    }),
  );
  const before = faults.length;
  await open('/costs');
  await page.getByRole('heading', { name: 'You have no permission for this' }).waitFor();
  await takePicture(page, 'no-permission');
  await page.unroute('**/v1/{costs,servers,fleet,audit}**');
  faults.length = before;
});

test('fifty thousand lines of one command are read without drawing them all', options, async () => {
  const policy = 'tools: {run_command: allow}\nfreeCommands: [seq]\n';
  await site.client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id: 'long', policy } });
  const path = makeRepository(site.scratch, 'long', { 'README.md': '# Long\n' });
  const { id } = await site.client.json('/v1/sessions', z.object({ id: z.string() }), {
    method: 'POST',
    body: { instruction: `run \`seq 1 ${manyLines}\``, project: 'long', repository: { kind: 'path', path } },
  });
  await open(`/sessions/${id}`);
  await page.locator('.page-head').getByText('Completed').waitFor({ timeout: 90_000 });
  await page.getByRole('button', { name: /more lines above/ }).click();
  await page.getByText('1', { exact: true }).first().waitFor();
  const drawn = await page.evaluate('document.querySelectorAll(".t-lines > div").length');
  assert.ok(Number(drawn) > 20 && Number(drawn) < 2_000, `${String(drawn)} lines are drawn`);
  await page.getByRole('log').evaluate((log) => log.scrollTo(0, log.scrollHeight));
  await page.getByText(String(manyLines), { exact: true }).waitFor();
  await takePicture(page, 'session-long');
});

test('ten thousand sessions scroll to the last one', options, async () => {
  const client = new pg.Client({ connectionString: site.fleet.stores.databaseUrl });
  await client.connect();
  await client.query(
    `INSERT INTO sessions (id, project_id, state, phase, reason, attempt, instruction, repository, runtime, model, surface,
       interactive, execution, opened_by, policy, policy_digest, created_at, ended_at)
     SELECT 's_00' || lpad(n::text, 24, '0'), 'handbook', 'completed', 'ended', 'finished', 1, 'Old session ' || n, '{"kind": "git", "url": "https://git.example.com/old.git"}',
       'native', 'old-model', 'api', false, 'server', 'sso:archive', '{}', '', now() - interval '100 days', now() - interval '99 days'
     FROM generate_series(1, ${manySessions}) AS n`,
  );
  await client.end();
  await open('/');
  await page.getByLabel('Search instructions and ids').fill('Old session');
  await page.getByText(`Old session ${manySessions}`, { exact: true }).waitFor();
  const last = page.getByText('Old session 1', { exact: true });
  while (!(await last.isVisible()))
    await page.locator('.list').evaluate((list) => list.scrollTo(0, list.scrollHeight));
  const drawn = await page.locator('.session-row').count();
  assert.ok(drawn < 100, `${drawn} rows are drawn`);
  await takePicture(page, 'sessions-many');
  assert.deepEqual(faults, []);
});
