import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { secret } from '@lemniscate/shared/config/secret.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { directory, noSlapd, startTestDirectory } from '../../testing/test-directory.ts';
import type { TestDirectory } from '../../testing/test-directory.ts';
import { createLdapGroups } from './group-look-up.ts';

const person = (uid: string, mail: string): string => `dn: uid=${uid},${directory.userBase}
objectClass: inetOrgPerson
uid: ${uid}
cn: ${uid}
sn: ${uid}
mail: ${mail}
`;
const group = (cn: string, ...members: string[]): string => `dn: cn=${cn},${directory.groupBase}
objectClass: groupOfNames
cn: ${cn}
${members.map((uid) => `member: uid=${uid},${directory.userBase}`).join('\n')}
`;

describe('groups of an LDAP directory', { skip: noSlapd }, () => {
  let running: TestDirectory;
  before(async () => {
    running = await startTestDirectory(
      [
        person('ada', 'ada@example.org'),
        person('twin1', 'twin@example.org'),
        person('twin2', 'twin@example.org'),
        group('platform', 'ada', 'twin1'),
        group('shop', 'ada'),
      ].join('\n'),
    );
  });
  after(() => running.stop());

  const look = (email: string | null, extra: { url?: string; password?: string } = {}) =>
    createLdapGroups({
      url: extra.url ?? running.url,
      bindDn: directory.bindDn,
      bindPassword: secret(extra.password ?? directory.password),
      userBase: directory.userBase,
      userAttribute: 'mail',
      userClaim: 'email',
      groupBase: directory.groupBase,
      memberAttribute: 'member',
      groupNameAttribute: 'cn',
    })({ subject: 'x', name: 'X', email, groups: [] });

  test('a person has the groups that list them', async () => {
    assert.deepEqual([...(await look('ada@example.org'))].sort(), ['platform', 'shop']);
  });

  test('nobody else has any: unknown, ambiguous, without an address, or with one that is a filter', async () => {
    for (const email of [
      null,
      'eve@example.org',
      'twin@example.org',
      '*',
      'ada*',
      '*)(uid=ada',
      'ada@example.org)(cn=*',
    ])
      assert.deepEqual(await look(email), [], String(email));
  });

  test('a directory that is away or refuses us lets nobody in', async () => {
    const away = (error: unknown) => isCodedError(error, 'service_unreachable');
    await assert.rejects(look('ada@example.org', { url: 'ldap://127.0.0.1:1' }), away);
    await assert.rejects(look('ada@example.org', { password: 'wrong' }), away);
  });
});
