import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import { newConsoleLink } from '@lemniscate/cli/commands/console.ts';
import { isProjectRole, roles } from '@lemniscate/shared/identity/roles.ts';
import type { Role } from '@lemniscate/shared/identity/roles.ts';
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
  openBrowser,
  seriousBarriers,
  takePicture,
  untilDrawn,
  watchFaults,
} from './browser.ts';
import { endFleet, runSession, sampleRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

const options = browserMissing === undefined ? {} : { skip: browserMissing };

/** A phone held upright, the narrowest there is. */
const narrow = { width: 360, height: 740 } as const;
/** Everybody who may be logged in; `nobody` has no role at all. */
const people: readonly (Role | 'nobody')[] = [...roles, 'nobody'];

let site: TestFleet;
let browser: Browser;
/** Every route of the console, with an address where something is. */
let addresses: ReadonlyMap<string, string>;

const undo = undoneAfterTests();

before(async () => {
  if (browserMissing !== undefined) return;
  assert.equal(await buildConsole(projectRoot, console.error), true);
  site = undo.adopt(await startTestFleet(), endFleet);
  browser = undo.adopt(await openBrowser(), (one) => one.close());
  const projects = await arrangeProjects(site.client);
  await writeMonth(site.fleet.stores.databaseUrl, tellMonth(new Date(), 60), projects);
  addresses = await fillPages();
});

const planted = '<b class="planted">x</b>'.repeat(8);
const hostile = `${planted}\u202e\u001b[2J`;

/** Something to look at on every page, of the project that members of `local` may see. */
async function fillPages(): Promise<ReadonlyMap<string, string>> {
  const { session } = await runSession(site, {
    repositoryFolder: sampleRepository(site.scratch, 'shop'),
    instruction: `Fix the failing test. ${hostile}`,
  });
  const post = (path: string, body: object) =>
    site.client.json(path, z.looseObject({ id: z.string().optional() }), { method: 'POST', body });
  const object = await post('/v1/objects', { project: 'local', title: planted, body: hostile });
  const definition = { systemPrompt: `You look at changes. ${hostile}`, memory: 'review' };
  await post('/v1/agents', { id: 'reviewer', project: '*', definition });
  return new Map([
    ['/', '/'],
    ['/login', '/login'],
    ['/audit', '/audit'],
    ['/audit/:chain', `/audit/${encodeURIComponent(`session:${session.id}`)}`],
    ['/exporters', '/exporters'],
    ['/revocations', '/revocations'],
    ['/policies', '/policies'],
    ['/fleet', '/fleet'],
    ['/costs', '/costs'],
    ['/inbox', '/inbox'],
    ['/objects', '/objects'],
    ['/objects/:id', `/objects/${object.id ?? ''}`],
    ['/agents', '/agents'],
    ['/agents/:id', '/agents/reviewer'],
    ['/triggers', '/triggers'],
    ['/environments', '/environments'],
    ['/access', '/access'],
    ['/sessions/:id', `/sessions/${session.id}`],
    ['/sessions/:id/diff', `/sessions/${session.id}/diff`],
  ]);
}

/** A browser in which somebody of the role is logged in. */
async function logIn(role: Role | 'nobody'): Promise<{ page: Page; faults: string[] }> {
  const token = `lml_${randomBytes(32).toString('base64url')}`;
  const database = new pg.Client({ connectionString: site.fleet.stores.databaseUrl });
  await database.connect();
  await database.query(`INSERT INTO people (subject, name, groups) VALUES ($1, $1, '[]')`, [role]);
  await database.query(
    `INSERT INTO logins (token_hash, subject, how, expires_at) VALUES ($1, $2, 'browser', now() + interval '1 hour')`,
    [createHash('sha256').update(token).digest(), role],
  );
  await database.end();
  if (role !== 'nobody') {
    const project = isProjectRole(role) ? 'local' : '*';
    const body = { kind: 'person', principal: role, role, project };
    await site.client.open('/v1/role-bindings', { method: 'PUT', body, headers: { 'if-match': '"0"' } });
  }
  const context = await browser.newContext({ viewport: narrow, reducedMotion: 'reduce' });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  // The browser itself writes down every answer that is a refusal; the page then says so. What nobody may see is not there.
  const faults = watchFaults(page, role === 'administrator' ? [] : [/status of (403|404)/]);
  const client = createApiClient({ url: site.fleet.apiUrl, token });
  await page.goto((await newConsoleLink(client)).url);
  await page.locator('.shell').waitFor();
  return { page, faults };
}

/** Waits until everything that the page reads is there, or refused. */
async function settled(page: Page): Promise<void> {
  await page.locator('main').waitFor();
  const rests = 'document.querySelector(\'main [aria-label="Loading"]\') === null';
  const hasHead = `document.querySelector('main h1, main h2') !== null`;
  await untilDrawn(page, `(${rests} && ${hasHead})`);
}

/** What is wider than a narrow screen: the page itself, or a part of it; tables alone scroll within their card. */
function overflowing(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`
    [document.documentElement, ...document.querySelectorAll('.main, .page-head, .page-body, .page-inner, .card:not(:has(table))')]
      .filter((part) => part.scrollWidth > part.clientWidth + 1)
      .map((part) => {
        const right = part.getBoundingClientRect().left + part.clientWidth + 1;
        const widest = [...part.querySelectorAll('*')].find((one) => one.getBoundingClientRect().right > right);
        const name = (one) => one === undefined ? '?' : one.tagName.toLowerCase() + '.' + String(one.className);
        return name(part) + ' ' + part.scrollWidth + ' of ' + part.clientWidth + ': ' + name(widest);
      })
  `);
}

test('the table has every route of the console', options, () => {
  const source = readFileSync(join(projectRoot, 'clients/console/src/app.tsx'), 'utf8');
  const routes = [...source.matchAll(/<Route path="([^"]+)"/g)].map(([, path]) => path ?? '');
  assert.ok(routes.length > 15, `${routes.length} routes`);
  assert.deepEqual(routes.toSorted(), [...addresses.keys()].toSorted());
});

describe('every page, for everybody', options, () => {
  for (const role of people)
    test(role, async () => {
      const { page, faults } = await logIn(role);
      const wrong: string[] = [];
      for (const [route, address] of addresses) {
        const note = (what: string, found: readonly string[]): void => {
          wrong.push(...found.map((one) => `${route} ${what}: ${one}`));
        };
        await page.goto(new URL(`/console${address}`, site.fleet.apiUrl).href);
        await settled(page);
        note('keeps people out', await seriousBarriers(page));
        const broken = await page.getByRole('heading', { name: 'This page has a fault' }).count();
        if (broken > 0) note('is broken', [await page.locator('main').innerText()]);
        if ((await page.locator('.planted').count()) > 0) note('shows markup as markup', ['planted']);
        const deceives = /[\u001b\u202e]/.test(await page.locator('body').innerText());
        if (deceives) note('shows', ['characters that deceive']);
        note('is too wide', await overflowing(page));
        if (role === 'administrator') await takePicture(page, `narrow${route.replaceAll(/\W+/g, '-')}`);
        note('complains', faults.splice(0));
      }
      await page.context().close();
      assert.deepEqual(wrong, []);
    });
});

test('what would be found is found', options, async () => {
  const { page, faults } = await logInAgain();
  assert.deepEqual(await overflowing(page), []);
  await page.evaluate(
    `document.querySelector('main').append(Object.assign(document.createElement('div'), { textContent: 'x'.repeat(500) }))`,
  );
  assert.notDeepEqual(await overflowing(page), []);
  await page.evaluate(`console.error('planted')`);
  assert.match(faults.join('\n'), /planted/);
  await page.context().close();
});

/** As the administrator of the fleet itself. */
async function logInAgain(): Promise<{ page: Page; faults: string[] }> {
  const page = await (await browser.newContext({ viewport: narrow, reducedMotion: 'reduce' })).newPage();
  const faults = watchFaults(page);
  await page.goto((await newConsoleLink(site.client)).url);
  await settled(page);
  return { page, faults };
}
