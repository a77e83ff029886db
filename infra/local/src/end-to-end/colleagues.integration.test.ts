import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { before, test } from 'node:test';
import { z } from 'zod';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import { deliveryPageSchema } from '@lemniscate/shared/api/delivery.ts';
import { inboxPageSchema } from '@lemniscate/shared/api/inbox.ts';
import { commentPageSchema, objectViewSchema, objectWithFilesSchema } from '@lemniscate/shared/api/object.ts';
import { triggerViewSchema } from '@lemniscate/shared/api/trigger.ts';
import { startScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import type { ScriptedUpstream } from '@lemniscate/shared/testing/upstream/upstream.ts';
import { projectRoot } from '../project-root.ts';
import { undoneAfterTests } from '../testing/undone-after.ts';
import { endFleet, makeRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

let site: TestFleet;
let upstream: ScriptedUpstream;

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
  const path = makeRepository(site.scratch, 'plain', { 'main.py': 'print(3)\n' });
  await site.client.json('/v1/projects/local/workspace', z.unknown(), {
    method: 'PUT',
    body: { repository: { kind: 'path', path } },
    headers: { 'if-match': '"0"' },
  });
  await site.client.json('/v1/agents', z.unknown(), {
    method: 'POST',
    body: { id: 'fixer', project: '*', definition: {} },
  });
});

/** Runs the command line as a person would. */
const lemniscate = (...words: string[]): Promise<string> => lemniscateWith('', ...words);

/** The same with something on standard input. */
async function lemniscateWith(input: string, ...words: string[]): Promise<string> {
  const child = spawn(process.execPath, [join(projectRoot, 'clients/cli/bin/lemniscate.mjs'), ...words], {
    env: { ...site.environment, TMPDIR: site.scratch },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(input);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.on('close', resolve)),
  ]);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function until<Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> {
  const deadline = Date.now() + 90_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    assert.ok(Date.now() < deadline, `not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const comments = async (object: string) =>
  (await site.client.json(`/v1/objects/${object}/comments`, commentPageSchema)).comments;

test('an agent that is given an object works in a sandbox, reads, comments, sets the status and answers', async () => {
  upstream.play([
    { blocks: [{ id: 't1', tool: 'read_object', input: {} }] },
    { blocks: [{ id: 't2', tool: 'comment_object', input: { text: 'I am at it.' } }] },
    { blocks: [{ id: 't4', tool: 'set_object_status', input: { status: 'done' } }] },
    { blocks: [{ text: 'It prints three.' }] },
  ]);
  const shown = await lemniscate('objects', 'create', 'What does it print?', '--agent', 'fixer');
  const id = /obj_\w+/.exec(shown)?.[0] ?? '';
  const thread = await until('the answer', async () => {
    const said = await comments(id);
    return said.length >= 2 ? said : undefined;
  });
  assert.equal(thread[0]?.body, 'I am at it.');
  assert.match(thread[1]?.body ?? '', /^It prints three\./);
  const object = await site.client.json(`/v1/objects/${id}`, objectWithFilesSchema);
  assert.equal(object.status, 'done');
  const [told] = upstream.requests.filter(({ body }) => JSON.stringify(body).includes('What does it print?'));
  assert.ok(told !== undefined, 'the model was told of the object');
  const session = thread[1]?.session ?? '';
  assert.equal((await verifySessionChain(site.client, session)).fault, null);
  const inbox = await site.client.json('/v1/inbox?kind=result', inboxPageSchema);
  assert.equal(inbox.items[0]?.session, session);
  assert.match(await lemniscate('inbox'), /result/);
  assert.match(await lemniscate('objects', 'show', id), /agent fixer[^]*It prints three/);
  assert.match(await lemniscate('objects', 'history', id), /changed\s+agent fixer/);
});

test('a schedule starts a session that runs to its end, and the deliveries say so', async () => {
  upstream.play([{ blocks: [{ text: 'All is well.' }] }]);
  const definition = {
    name: 'every minute',
    agent: 'fixer',
    task: 'Say how it is.',
    when: { kind: 'cron', pattern: '* * * * *' },
  };
  const made = await site.client.json('/v1/triggers', triggerViewSchema, {
    method: 'POST',
    body: { project: 'local', definition },
  });
  const session = await until('the schedule has fired', async () => {
    const path = `/v1/deliveries?trigger=${made.id}`;
    const { deliveries } = await site.client.json(path, deliveryPageSchema);
    return deliveries.find(({ state }) => state === 'started')?.session ?? undefined;
  });
  await until('its result is in the inbox', async () => {
    const { items } = await site.client.json('/v1/inbox?kind=result', inboxPageSchema);
    return items.find((item) => item.session === session);
  });
  await lemniscate('triggers', 'remove', made.id);
  assert.match(await lemniscate('triggers', 'deliveries'), /cron\s+fixer\s+started/);
});

test('a skill is pushed, listed and pulled; an agent reads it, remembers, and leaves a file', async () => {
  const skill = join(site.scratch, 'release-notes');
  await mkdir(skill);
  const write = (text: string) =>
    writeFile(
      join(skill, 'SKILL.md'),
      `---\nname: release-notes\ndescription: Writes release notes.\n---\n${text} See [more](more.md).\n`,
    );
  await write('Keep it short.');
  await writeFile(join(skill, 'more.md'), 'More of it.\n');
  assert.match(await lemniscate('skills', 'push', skill), /at version 1 \(2 files\)/);
  assert.match(await lemniscate('skills', 'push', skill), /at version 1/);
  await write('Keep it very short.');
  assert.match(await lemniscate('skills', 'push', skill), /at version 2/);
  assert.match(await lemniscate('skills', 'list'), /release-notes\s+version 2\s+Writes release notes/);
  const into = join(site.scratch, 'pulled');
  await lemniscate('skills', 'pull', 'release-notes', '--version', '1', '--into', into);
  assert.match(await readFile(join(into, 'release-notes', 'SKILL.md'), 'utf8'), /Keep it short\./);
  assert.equal(await readFile(join(into, 'release-notes', 'more.md'), 'utf8'), 'More of it.\n');

  const definition = join(site.scratch, 'writer.yaml');
  await writeFile(definition, 'skills: [{ name: release-notes }]\nmemory: auto\n');
  await lemniscate('agents', 'define', 'writer', definition, '--project', 'local');
  const home = '/home/agent';
  upstream.play([
    { blocks: [{ id: 's1', tool: 'read_file', input: { path: `${home}/skills/release-notes/SKILL.md` } }] },
    {
      blocks: [
        {
          id: 's2',
          tool: 'write_file',
          input: { path: `${home}/memory/style.md`, content: 'sparrow-word\n' },
        },
        { id: 's3', tool: 'write_file', input: { path: `${home}/files/notes.md`, content: '# Notes\n' } },
      ],
    },
    { blocks: [{ text: 'Written.' }] },
    { blocks: [{ id: 's4', tool: 'read_file', input: { path: `${home}/memory/style.md` } }] },
    { blocks: [{ text: 'As before.' }] },
  ]);
  const asked = async (title: string): Promise<string> => {
    const shown = await lemniscate('objects', 'create', title, '--agent', 'writer');
    const id = /obj_\w+/.exec(shown)?.[0] ?? '';
    const [answer] = await until('the answer', async () => {
      const said = await comments(id);
      return said.length > 0 ? said : undefined;
    });
    return answer?.session ?? '';
  };
  const toldWith = (words: string) =>
    upstream.requests.filter(({ body }) => JSON.stringify(body).includes(words));
  const session = await asked('Write them');
  assert.ok(toldWith('Keep it very short.').length > 0, 'the model has read the newest version');
  assert.match(await lemniscate('files', session), /notes\.md/);
  assert.equal(await lemniscate('files', session, 'notes.md'), '# Notes\n');
  assert.match(await lemniscate('memory', 'show', 'writer'), /style\.md/);
  await asked('Write them again');
  assert.match(
    JSON.stringify(upstream.requests.at(-1)?.body),
    /sparrow-word/,
    'what one wrote the next has read',
  );
  const { files } = await site.client.json(
    '/v1/projects/local/agents/writer/memory',
    z.object({ files: z.array(z.object({ path: z.string(), session: z.string() })) }),
  );
  assert.deepEqual(files, [{ path: 'style.md', session }]);
});

test('hooks, accounts and who is told are handled over the command line', async () => {
  const file = join(site.scratch, 'definition.yaml');
  await writeFile(file, 'name: our issues\n');
  const made = await lemniscate('hooks', 'create', 'github', file);
  const hook = /hook_\w+/.exec(made)?.[0] ?? '';
  const secret = made.trim().split('\n').at(-1) ?? '';
  assert.ok(secret.length >= 32);
  assert.match(await lemniscate('hooks', 'list'), new RegExp(`${hook}.*/v1/hooks/${hook}.*our issues`));
  await writeFile(file, 'name: our issues\nagent: fixer\nenabled: false\n');
  const changed = await lemniscateWith('a-secret-of-mine\n', 'hooks', 'change', hook, file, '--secret');
  assert.match(changed, /out of use/);
  assert.doesNotMatch(changed, /a-secret-of-mine/);
  assert.equal(await lemniscate('hooks', 'remove', hook), 'Removed.\n');

  const { subject } = await site.client.json('/v1/me', z.object({ subject: z.string() }));
  await lemniscate('accounts', 'link', 'gitlab', 'lab.pat', subject);
  assert.match(await lemniscate('accounts', 'list'), new RegExp(`gitlab\\s+lab\\.pat\\s+${subject}`));
  await lemniscate('accounts', 'unlink', 'gitlab', 'lab.pat');
  assert.equal(await lemniscate('accounts', 'list'), '');

  const place = 'place: { kind: webhook, url: "https://bridge.example.invalid/in" }';
  await writeFile(file, `name: a bridge\n${place}\nevents: [test]\n`);
  const target = /tgt_\w+/.exec(await lemniscate('notify', 'create', file))?.[0] ?? '';
  const message = (await lemniscate('notify', 'test', target)).trim();
  await until('it was tried', async () => {
    const log = await lemniscate('notify', 'log', target);
    return /name is not known|could not be reached/.test(log) ? log : undefined;
  });
  await lemniscate('notify', 'resend', target, message);
  await writeFile(file, `name: comments\nplace: { kind: github }\nevents: [object.commented]\n`);
  const carried = await lemniscateWith('a-token-of-a-bot', 'notify', 'create', file, '--secret');
  assert.match(carried, /github\s+local\s+enabled/);
  assert.doesNotMatch(carried, /a-token-of-a-bot/);
  await lemniscate('notify', 'remove', /tgt_\w+/.exec(carried)?.[0] ?? '');
  await lemniscate('notify', 'remove', target);
  assert.equal(await lemniscate('notify', 'list'), '');
});

test('a change over the command line is guarded by the version that it saw', async () => {
  const shown = await lemniscate('objects', 'create', 'Another');
  const id = /obj_\w+/.exec(shown)?.[0] ?? '';
  assert.match(await lemniscate('objects', 'status', id, 'doing'), /doing/);
  assert.match(await lemniscate('objects', 'comment', id, 'Hello.'), /cmt_/);
  const object = await site.client.json(`/v1/objects/${id}`, objectViewSchema);
  assert.equal(object.version, 2);
});
