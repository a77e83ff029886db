import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { projectRoles } from '@lemniscate/shared/identity/roles.ts';
import type { ProjectRole } from '@lemniscate/shared/identity/roles.ts';
import type { TestDispatcher, TestFleet } from './test-fleet.ts';

/** One person for each role of a project, bound there and nowhere else: the tokens of their logins. */
export async function logInByRole(
  fleet: TestFleet,
  dispatcher: TestDispatcher,
  project: string,
): Promise<ReadonlyMap<ProjectRole, string>> {
  const logins = new Map<ProjectRole, string>();
  for (const role of projectRoles) {
    const token = `lml_${randomBytes(32).toString('base64url')}`;
    await fleet.sql(`INSERT INTO people (subject, name, groups) VALUES ($1, $1, '[]')`, [role]);
    await fleet.sql(
      `INSERT INTO logins (token_hash, subject, how, expires_at) VALUES ($1, $2, 'browser', now() + interval '1 hour')`,
      [createHash('sha256').update(token).digest(), role],
    );
    const binding = { kind: 'person', principal: role, role, project };
    const bound = await dispatcher.call('PUT', '/v1/role-bindings', binding, { 'if-match': '"0"' });
    assert.equal(bound.status, 204);
    logins.set(role, token);
  }
  return logins;
}
