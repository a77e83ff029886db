import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import { findEndpoint } from '../endpoint.ts';
import { createProgram } from '../program.ts';

let home = '';
let polls = 0;
let loggedOut = '';
const server = createServer((request, response) => {
  const answer = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const problem = (status: number, code: string): void =>
    answer(status, { type: code, title: code, status, detail: code, code });
  if (request.url === '/v1/login/options') return answer(200, { kind: 'oidc' });
  if (request.url === '/v1/login/device')
    return answer(200, {
      handle: 'h',
      userCode: 'ABCD-EFGH',
      verificationUri: 'https://issuer.example/device',
      verificationUriComplete: null,
      intervalSeconds: 0,
      expiresInSeconds: 60,
    });
  if (request.url === '/v1/login/device/finish') {
    polls += 1;
    if (polls < 2) return problem(425, 'login_pending');
    return answer(200, {
      token: 'lml_secret',
      expiresAt: '2030-01-01T00:00:00Z',
      subject: 'ada',
      name: 'Ada',
    });
  }
  loggedOut = request.headers.authorization ?? '';
  return response.writeHead(204).end();
});
let url = '';
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'lemniscate-home-'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await rm(home, { recursive: true, force: true });
});

test('login keeps a token that later commands find, readable by its person alone; logout ends it', async () => {
  const env = { HOME: home, LEMNISCATE_DATA: join(home, 'none') };
  const out = new PassThrough();
  const said: Buffer[] = [];
  out.on('data', (chunk: Buffer) => said.push(chunk));
  const run = (...words: string[]) =>
    createProgram({
      stdin: new PassThrough(),
      stdout: out,
      stderr: out,
      env,
      interactive: false,
      colour: false,
      signal: new AbortController().signal,
      setExitCode: () => undefined,
    }).parseAsync(['node', 'lemniscate', ...words]);

  assert.equal(await findEndpoint(env), null);
  await run('login', url);
  assert.match(Buffer.concat(said).toString(), /confirm the code ABCD-EFGH[^]*as Ada until 2030/);
  assert.equal(polls, 2);
  assert.deepEqual(await findEndpoint(env), { url, token: 'lml_secret' });
  const file = join(home, '.config/lemniscate/logins.json');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  // A login belongs to its fleet: it is not sent to another one.
  await assert.rejects(
    findEndpoint({ ...env, LEMNISCATE_URL: 'http://other.example' }),
    /no login for http:\/\/other/,
  );

  await run('logout');
  assert.equal(loggedOut, 'Bearer lml_secret');
  assert.ok(!(await readFile(file, 'utf8')).includes('lml_secret'));
  assert.equal(await findEndpoint(env), null);
});
