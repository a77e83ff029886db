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
/** What the fleet does with a logout. */
let onLogout: 'ends' | 'fails' | 'hangs up' = 'ends';
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
  if (onLogout === 'fails') return problem(503, 'service_unavailable');
  if (onLogout === 'hangs up') return request.socket.destroy();
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

/** A person's commands, each in a process of its own: what they printed and the exit code that they asked for. */
function person(folder: string) {
  const env = { HOME: folder, LEMNISCATE_DATA: join(folder, 'none') };
  const run = async (...words: string[]) => {
    const out = new PassThrough();
    let code = 0;
    await createProgram({
      stdin: new PassThrough(),
      stdout: out,
      stderr: out,
      env,
      interactive: false,
      colour: false,
      signal: new AbortController().signal,
      setExitCode: (asked) => (code = asked),
    }).parseAsync(['node', 'lemniscate', ...words]);
    return { code, said: String(out.read() ?? '') };
  };
  return { env, run, file: join(folder, '.config/lemniscate/logins.json') };
}

test('login keeps a token that later commands find, readable by its person alone; logout ends it', async () => {
  const { env, run, file } = person(home);
  assert.equal(await findEndpoint(env), null);
  const { said } = await run('login', url);
  assert.match(said, /confirm the code ABCD-EFGH[^]*as Ada until 2030/);
  assert.equal(polls, 2);
  assert.deepEqual(await findEndpoint(env), { url, token: 'lml_secret' });
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  // A login belongs to its fleet: it is not sent to another one.
  await assert.rejects(
    findEndpoint({ ...env, LEMNISCATE_URL: 'http://other.example' }),
    /no login for http:\/\/other/,
  );

  assert.deepEqual(await run('logout'), { code: 0, said: `Logged out of ${url}.\n` });
  assert.equal(loggedOut, 'Bearer lml_secret');
  assert.ok(!(await readFile(file, 'utf8')).includes('lml_secret'));
  assert.equal(await findEndpoint(env), null);
});

test('a logout forgets the login also when the fleet cannot be told, and says what that means', async (t) => {
  t.after(() => (onLogout = 'ends'));
  const { env, run, file } = person(join(home, 'away'));
  for (const how of ['fails', 'hangs up'] as const) {
    onLogout = how;
    await run('login', url);
    assert.deepEqual(await findEndpoint(env), { url, token: 'lml_secret' });
    const { code, said } = await run('logout', url);
    assert.equal(code, 1, how);
    assert.match(said, /has forgotten its login.*could not be told/);
    assert.match(said, /Until 2030-01-01.*revoke --user ada/);
    assert.ok(!(await readFile(file, 'utf8')).includes('lml_secret'), how);
    assert.equal(await findEndpoint(env), null);
  }
});

test('as JSON login and logout say a line a thing, and never the token', async (t) => {
  t.after(() => (onLogout = 'ends'));
  const { run } = person(join(home, 'json'));
  const lines = (said: string): unknown[] =>
    said
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  const login = await run('login', url, '--json');
  assert.ok(!login.said.includes('lml_secret'));
  const [begun, done, ...rest] = lines(login.said) as [{ until?: string }, object];
  assert.ok(Date.parse(begun.until ?? '') > Date.now());
  assert.deepEqual(
    [{ ...begun, until: '' }, done, rest],
    [
      { confirmAt: 'https://issuer.example/device', code: 'ABCD-EFGH', until: '' },
      { url, subject: 'ada', name: 'Ada', expiresAt: '2030-01-01T00:00:00Z' },
      [],
    ],
  );
  assert.deepEqual(lines((await run('logout', '--json')).said), [
    { url, wasLoggedIn: true, endedAtFleet: true },
  ]);
  assert.deepEqual(lines((await run('logout', url, '--json')).said), [{ url, wasLoggedIn: false }]);
  await run('login', url);
  onLogout = 'fails';
  const [away] = lines((await run('logout', '--json')).said) as [Record<string, unknown>];
  assert.deepEqual(Object.keys(away), ['url', 'wasLoggedIn', 'endedAtFleet', 'why', 'expiresAt']);
});
