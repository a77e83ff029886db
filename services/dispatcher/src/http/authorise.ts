import type { FastifyRequest } from 'fastify';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { checkAccess } from '../application/access/access-rule.ts';
import type { AccessPlace } from '../application/access/access-rule.ts';
import { hasRole } from '../application/identity.ts';
import type { Transaction } from '../application/ports/transaction.ts';
import { localProject } from '../application/projects/project.ts';
import { rowOf } from './access-table.ts';
import type { AccessRow } from './access-table.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';

/** Every route that is registered behind this needs a row, and every request has to fit it. */
export function requireAccess(app: App, database: Transaction): void {
  app.addHook('onRoute', ({ method, path }) => {
    for (const name of [method].flat()) rowOf(name, path);
  });
  app.addHook('onRequest', async (request) => {
    const row = rowOfRequest(request);
    if (row !== null && !ofBody(row)) await check(database, request, row);
  });
  // What the body says is known only now; nothing of it was read before the login was.
  app.addHook('preValidation', async (request) => {
    const row = rowOfRequest(request);
    if (row !== null && ofBody(row)) await check(database, request, row);
  });
}

type RuledRow = Exclude<AccessRow, string>;

function ofBody(row: RuledRow): boolean {
  return row.of === 'body' || row.of === 'bodyOrDefault';
}

function rowOfRequest(request: FastifyRequest): RuledRow | null {
  const path = request.routeOptions.url;
  if (path === undefined) return null;
  const row = rowOf(request.method, path);
  return row === 'open' || row === 'anybody' ? null : row;
}

async function check(database: Transaction, request: FastifyRequest, row: RuledRow): Promise<void> {
  const person = personOf(request);
  const decidesEverywhere = hasRole(person, null, ...row.who);
  const place = decidesEverywhere ? fleet : await placeOf(database, request, row);
  checkAccess(person, row, request.method, place);
}

const fleet: AccessPlace = { kind: 'fleet' };

function text(holder: unknown, member: string): string | undefined {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, member)) return undefined;
  const value: unknown = (holder as Record<string, unknown>)[member];
  // Something else than one text fits no schema; until validation says so it is about nothing that anybody has.
  return typeof value === 'string' ? value : '';
}

async function placeOf(
  database: Transaction,
  request: FastifyRequest,
  { of }: RuledRow,
): Promise<AccessPlace> {
  const project = (name: string | undefined): AccessPlace =>
    name === undefined || name === '*' ? fleet : { kind: 'project', project: name };
  switch (of) {
    case 'fleet':
      return fleet;
    case 'somewhere':
      return { kind: 'somewhere' };
    case 'session':
      return sessionPlace(database, text(request.params, 'id') ?? '');
    case 'project':
      return project(text(request.params, 'id') ?? text(request.params, 'project') ?? '');
    case 'body':
      return project(text(request.body, 'project'));
    case 'bodyOrDefault':
      return project(text(request.body, 'project') ?? localProject);
    case 'query':
      return project(text(request.query, 'project'));
    case 'queryOrDefault':
      return project(text(request.query, 'project') ?? localProject);
    case 'chain':
      return chainPlace(database, text(request.params, 'chain') ?? text(request.query, 'chain') ?? '');
  }
}

/** A session as the thing that a request is about. */
export async function sessionPlace(database: Transaction, session: string): Promise<AccessPlace> {
  const [row] = await database.query<{ project_id: string; opened_by: string }>(
    'SELECT project_id, opened_by FROM sessions WHERE id = $1',
    [harmlessId(session)],
  );
  const found = row === undefined ? null : { project: row.project_id, openedBy: row.opened_by };
  return { kind: 'session', session, found };
}

/** `session:…` belongs to its session, `review:…` to its project, every other chain to the fleet. */
function chainPlace(database: Transaction, chain: string): AccessPlace | Promise<AccessPlace> {
  const [kind, ...rest] = chain.split(':');
  const of = rest.join(':');
  if (kind === 'session') return sessionPlace(database, of);
  return kind === 'review' ? { kind: 'project', project: of } : fleet;
}

/** Postgres refuses NUL in a text; such a name belongs to nothing. */
function harmlessId(id: string): string {
  if (id.includes('\0')) throw new CodedError('request_invalid', 'An id has no NUL in it.');
  return id;
}
