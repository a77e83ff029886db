import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { roles } from '@lemniscate/shared/identity/roles.ts';
import { createLocalLogin } from './local-login.ts';

describe('the local login', () => {
  let folder = '';
  let file = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-login-'));
    file = join(folder, 'login.json');
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const write = (token: string, expiresAt = '2030-01-01T00:00:00Z'): Promise<void> =>
    writeFile(file, JSON.stringify({ token, subject: 'p', name: 'Pat', expiresAt }));
  const token = 'a'.repeat(40);
  const refused = (error: unknown): boolean => isCodedError(error, 'unauthenticated');

  test('lets its token in as a person, and nothing else', async () => {
    await write(token);
    let ms = 0;
    const login = await createLocalLogin(file, {
      now: () => new Date('2029-01-01T00:00:00Z'),
      monotonicMs: () => ms,
    });
    assert.deepEqual(await login.authenticate(token), {
      subject: 'p',
      name: 'Pat',
      kind: 'human',
      roles,
    });
    for (const wrong of [null, '', `${token}a`, token.slice(1), token.toUpperCase()])
      await assert.rejects(login.authenticate(wrong), refused);
    // The fleet renews the login: the old one ends with the next look at the file.
    await write('b'.repeat(41));
    ms = 2_000;
    await assert.rejects(login.authenticate(token), refused);
    assert.ok(await login.authenticate('b'.repeat(41)));
  });

  test('an expired one is refused with what to do', async () => {
    await write(token, '2020-01-01T00:00:00Z');
    const login = await createLocalLogin(file, { now: () => new Date('2029-01-01'), monotonicMs: () => 0 });
    await assert.rejects(login.authenticate(token), /expired at 2020/);
  });

  test('a file that is no login stops the start', async () => {
    await writeFile(file, '{"token":"short"}');
    await assert.rejects(
      createLocalLogin(file, { now: () => new Date(), monotonicMs: () => 0 }),
      (error) => isCodedError(error, 'configuration_invalid') && error.message.includes(file),
    );
  });
});
