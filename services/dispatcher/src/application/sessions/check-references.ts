import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Person } from '../identity.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { SessionRequest } from '@lemniscate/shared/session/check-order.ts';

/**
 * A workstation takes sessions of the person who joined it and of nobody else, and only those that ask for it.
 * @throws CodedError `server_unknown`, `forbidden`, `execution_refused`
 */
export async function checkPinnedServer(
  tx: Transaction,
  request: SessionRequest,
  person: Person,
): Promise<void> {
  if (request.server === undefined) return;
  const [server] = await tx.query<{ pinned_to: string | null }>(
    'SELECT pinned_to FROM agent_servers WHERE id = $1',
    [request.server],
  );
  if (server === undefined)
    throw new CodedError(
      'server_unknown',
      `There is no agent server "${request.server}". GET /v1/servers lists them; a workstation joins with POST /v1/servers.`,
      { server: request.server },
    );
  if (server.pinned_to !== null && server.pinned_to !== person.subject)
    throw new CodedError(
      'forbidden',
      `Agent server "${request.server}" is somebody else's workstation. Join your own.`,
      { server: request.server },
    );
  const isWorkstation = server.pinned_to !== null;
  if (isWorkstation !== (request.execution === 'workstation'))
    throw new CodedError(
      'execution_refused',
      isWorkstation
        ? `Agent server "${request.server}" is a workstation: set execution to workstation.`
        : `Agent server "${request.server}" belongs to the pool: execution workstation needs a joined workstation.`,
      { server: request.server, execution: request.execution },
    );
}

/**
 * A bundle must have been uploaded to the project before a session can name it.
 * @throws CodedError `repository_missing`
 */
export async function checkStoredBundle(
  tx: Transaction,
  request: Pick<SessionRequest, 'repository' | 'project'>,
): Promise<void> {
  if (request.repository.kind !== 'bundle') return;
  const stored = await tx.query(
    `SELECT 1 FROM uploads WHERE project_id = $1 AND sha256 = $2 AND state = 'stored' LIMIT 1`,
    [request.project, request.repository.sha256],
  );
  if (stored.length > 0) return;
  throw new CodedError(
    'repository_missing',
    `The bundle ${request.repository.sha256} has not been uploaded to project "${request.project}". POST /v1/uploads first.`,
    { sha256: request.repository.sha256 },
  );
}
