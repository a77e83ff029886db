import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { newConsoleLink } from '@lemniscate/cli/commands/console.ts';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { z } from 'zod';
import { buildConsole } from '../console-build.ts';
import { projectRoot } from '../project-root.ts';
import { undoneAfterTests } from '../testing/undone-after.ts';
import {
  browserMissing,
  coloursAreThere,
  openBrowser,
  seriousBarriers,
  takePicture,
  untilDrawn,
  watchFaults,
} from './browser.ts';
import { endFleet, sampleRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

const options = browserMissing === undefined ? {} : { skip: browserMissing };

let site: TestFleet;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let folder: string;
let faults: string[];

const undo = undoneAfterTests();

before(async () => {
  if (browserMissing !== undefined) return;
  assert.equal(await buildConsole(projectRoot, console.error), true);
  site = undo.adopt(await startTestFleet(), endFleet);
  folder = sampleRepository(site.scratch, 'shop');
  browser = undo.adopt(await openBrowser(), (one) => one.close());
  context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(15_000);
  page = await context.newPage();
  faults = watchFaults(page);
});

const open = (path: string) => page.goto(new URL(`/console${path}`, site.fleet.apiUrl).href);
const policy = `
tools: {read_file: allow, list_files: allow, search_files: allow, write_file: allow, edit_file: allow, run_command: ask}
`;

/** Nothing keeps people out, in both colours, and nothing threw. */
async function looksRight(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await coloursAreThere(page, colorScheme);
    assert.deepEqual(await seriousBarriers(page), [], `${name} in ${colorScheme}`);
    await takePicture(page, `${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  assert.deepEqual(faults, [], name);
}

test('without a login there is the login page, and a link logs in once', options, async () => {
  await open('/');
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  await looksRight('login');
  const { url } = await newConsoleLink(site.client);
  await page.goto(url);
  await page.getByRole('heading', { name: 'No session yet' }).waitFor();
  assert.equal(new URL(page.url()).hash, '', 'the code is not left in the address');
  await looksRight('sessions-empty');
  const other = await browser.newContext();
  const second = await other.newPage();
  await second.goto(url);
  await second.getByText('This link was used already').waitFor();
  await other.close();
});

test('no script can read the cookie, and only the console’s own pages may use it', options, async () => {
  assert.equal(await page.evaluate('document.cookie'), '');
  const [cookie] = await context.cookies();
  assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Lax']);
  const send = (headers: Record<string, string>, method = 'POST') =>
    fetch(new URL('/v1/login/links', site.fleet.apiUrl), {
      method,
      headers: { cookie: `${cookie?.name}=${cookie?.value}`, 'content-type': 'application/json', ...headers },
      body: '{}',
    });
  // First that it can succeed: what is refused below is refused for its origin.
  assert.equal((await send({ origin: site.fleet.apiUrl, 'sec-fetch-site': 'same-origin' })).status, 201);
  assert.equal((await send({ origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' })).status, 403);
  assert.equal(
    (await send({ origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' })).status,
    403,
  );
  assert.equal((await send({})).status, 403, 'a change without an origin comes from no browser');
});

test(
  'the policy of the page lets no inline script, no markup from text and no other host in',
  options,
  async () => {
    const answer = await fetch(new URL('/console/', site.fleet.apiUrl));
    const rules = answer.headers.get('content-security-policy') ?? '';
    assert.match(rules, /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.doesNotMatch(rules, /unsafe/);
    assert.doesNotMatch(await answer.text(), /<script(?![^>]*src=)|\son\w+=|style=/);
    const other = await context.newPage();
    await other.goto(new URL('/console/', site.fleet.apiUrl).href);
    const attempt = (script: string) => other.evaluate(script).then(String, (error: Error) => error.message);
    assert.match(await attempt("document.body.innerHTML = '<b>x</b>'"), /TrustedHTML/);
    assert.match(await attempt("fetch('https://elsewhere.example/')"), /Failed to fetch|violates/);
    await attempt(
      "const s = document.createElement('script'); s.text = 'window.hit = 1'; document.body.append(s)",
    );
    assert.equal(await other.evaluate('window.hit === undefined'), true);
    await other.close();
  },
);

test('the first page is small and answers fast', options, async () => {
  // Nothing of it is in this browser's cache yet.
  const stranger = await browser.newContext();
  await stranger.addCookies(await context.cookies());
  const other = await stranger.newPage();
  await other.addInitScript("localStorage.setItem('lemniscate-logged-in', 'yes')");
  let received = 0;
  const session = await stranger.newCDPSession(other);
  await session.send('Network.enable');
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    received += encodedDataLength;
  });
  await other.goto(new URL('/console/', site.fleet.apiUrl).href);
  await other.getByRole('heading', { name: 'No session yet' }).waitFor();
  await other.evaluate('document.fonts.ready');
  assert.ok(received > 50_000 && received < 250_000, `${received} bytes`);
  await stranger.close();
});

test(
  'a session is started, asks, is approved, ends, is reviewed and accepted, and its cost is read',
  options,
  async () => {
    await site.client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id: 'shop', policy } });
    await page.reload();
    await page.getByRole('heading', { name: 'No session yet' }).waitFor();
    await page.keyboard.press('c');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Instruction').fill('Fix the failing test.');
    await dialog.getByRole('button', { name: 'Folder on the server' }).click();
    await dialog.getByRole('textbox', { name: 'Repository' }).fill(folder);
    await dialog.getByLabel('Project').selectOption('shop');
    await looksRight('new-session');
    await dialog.getByRole('button', { name: 'Start session' }).click();

    await page.getByRole('region', { name: /^Approval of/ }).waitFor({ timeout: 60_000 });
    await looksRight('session-approval');
    await open('/inbox');
    await page.getByRole('region', { name: /^Approval of/ }).waitFor();
    await looksRight('inbox');
    await page.goBack();
    const approval = page.getByRole('region', { name: /^Approval of/ });
    const end = page.locator('.page-head').getByText('Completed');
    await approval.waitFor();
    await page.keyboard.press('s');
    while (!(await end.isVisible())) {
      await approval.or(end).first().waitFor({ timeout: 60_000 });
      if (await approval.isVisible()) await page.keyboard.press('s');
      await untilDrawn(page, 'document.querySelector(".approval") === null');
    }
    const cost = await page.getByTestId('cost').innerText();
    assert.match(cost, /^\$0\.\d*[1-9]/);
    await looksRight('session-completed');

    await page.getByRole('link', { name: 'Review diff' }).click();
    await page.getByRole('region', { name: 'Changes' }).waitFor();
    await page.getByRole('table').first().waitFor();
    await looksRight('review');
    await page.keyboard.press('u');
    await takePicture(page, 'review-unified');
    await page.keyboard.press('a');
    await page.getByText('Accepted', { exact: true }).waitFor();
    await takePicture(page, 'review-accepted');
    await open('/');
    await page.getByText('Completed').first().waitFor();
    await looksRight('sessions');
  },
);

test('a session that runs is revoked', options, async () => {
  await site.client.json('/v1/sessions', z.unknown(), {
    method: 'POST',
    body: {
      instruction: 'run `sleep 60`',
      project: 'shop',
      interactive: true,
      repository: { kind: 'path', path: folder },
    },
  });
  await page.getByRole('link', { name: /sleep 60/ }).click();
  await page.getByRole('region', { name: /^Approval of/ }).waitFor({ timeout: 60_000 });
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByLabel('What its person is told').fill('Not on this machine');
  await looksRight('revoke');
  await page.getByRole('button', { name: 'Revoke session' }).click();
  await page.locator('.page-head').getByText('Stopped').waitFor();
  await page.getByText('Exit code').waitFor();
  await looksRight('session-revoked');
});

test(
  'a page that does not exist, a session that does not exist, a dispatcher that does not answer',
  options,
  async () => {
    await open('/nowhere');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    const expected = watchFaults(page);
    await open('/sessions/s_0000000000000000000000000a');
    await page.getByRole('heading', { name: 'Unknown session' }).waitFor();
    await takePicture(page, 'error');
    await page.route('**/v1/session-rows?*', (route) => route.abort());
    await open('/');
    await page.getByRole('heading', { name: 'No answer' }).waitFor({ timeout: 30_000 });
    await takePicture(page, 'unreachable');
    await page.unroute('**/v1/session-rows?*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Completed').first().waitFor();
    assert.ok(expected.length > 0, 'the browser has noted the failures');
    faults.length = 0;
  },
);

test('logging out takes the login out of the browser', options, async () => {
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  assert.deepEqual(await context.cookies(), []);
});
