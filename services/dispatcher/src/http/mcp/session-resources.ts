import { ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { logPage } from '../../application/events/log-page.ts';
import { projectsSeenBy } from '../../application/identity.ts';
import { listSessions } from '../../application/sessions/read-sessions.ts';
import { readDiffText } from './diff-text.ts';
import type { McpCaller } from './mcp-caller.ts';
import { requireToolAccess } from './tool-access.ts';

/** Sessions whose logs and diffs are listed; older ones are read by their address. */
const listed = 20;
const logEvents = 200;
const logType = 'application/x-ndjson';

type Variables = Readonly<Record<string, string | string[]>>;

const one = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

/** Logs and diffs of sessions, to read. */
export function registerSessionResources(server: McpServer, caller: McpCaller): void {
  const { deps, person } = caller;
  const { database } = deps;
  const recent = async () => {
    await requireToolAccess(database, person, 'GET /v1/sessions', { kind: 'somewhere' });
    return (await listSessions(database, { limit: listed, projects: projectsSeenBy(person) })).sessions;
  };

  const readLog = (uri: URL, variables: Variables) =>
    told(async () => {
      const id = sessionOf(variables);
      await requireToolAccess(database, person, 'GET /v1/sessions/:id/log', { kind: 'session', session: id });
      const after = Number(one(variables['after']) ?? 0);
      if (!Number.isSafeInteger(after) || after < 0)
        throw new McpError(ErrorCode.InvalidParams, 'after must be a position in the log: 0, 1, 2, …');
      const { events } = await logPage(deps, id, { after }, logEvents);
      const text = events.map((event) => JSON.stringify(event)).join('\n');
      return { contents: [{ uri: uri.href, mimeType: logType, text }] };
    });

  server.registerResource(
    'session-log',
    new ResourceTemplate('lemniscate://sessions/{id}/log', {
      list: () =>
        told(async () => ({
          resources: (await recent()).map(({ id, state }) => ({
            uri: `lemniscate://sessions/${id}/log`,
            name: `log of ${id} (${state})`,
            mimeType: logType,
          })),
        })),
    }),
    {
      title: 'Log of a session',
      description: `One event a line, ${logEvents} at most; read on with ?after=POSITION of the last line.`,
      mimeType: logType,
    },
    readLog,
  );
  // The SDK's templates know no optional query.
  server.registerResource(
    'session-log-after',
    new ResourceTemplate('lemniscate://sessions/{id}/log{?after}', { list: undefined }),
    { title: 'Log of a session, from a position on', mimeType: logType },
    readLog,
  );

  server.registerResource(
    'session-diff',
    new ResourceTemplate('lemniscate://sessions/{id}/diff', {
      list: () =>
        told(async () => ({
          resources: (await recent())
            .filter(({ diff }) => diff !== null && diff.state !== 'discarded')
            .map(({ id }) => ({
              uri: `lemniscate://sessions/${id}/diff`,
              name: `diff of ${id}`,
              mimeType: 'text/x-diff',
            })),
        })),
    }),
    { title: 'Diff of a session', description: 'The patch, as text.', mimeType: 'text/x-diff' },
    (uri, variables) =>
      told(async () => {
        const id = sessionOf(variables);
        await requireToolAccess(database, person, 'GET /v1/sessions/:id/diff', {
          kind: 'session',
          session: id,
        });
        const { patch } = await readDiffText(deps, id);
        return { contents: [{ uri: uri.href, mimeType: 'text/x-diff', text: String(patch) }] };
      }),
  );
}

function sessionOf(variables: Variables): string {
  const id = one(variables['id']) ?? '';
  if (/^[\w-]{1,64}$/.test(id)) return id;
  throw new McpError(ErrorCode.InvalidParams, 'The address must name a session id.');
}

/** A resource has no place for a refusal but an error; it says the code and the sentence. */
async function told<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  try {
    return await read();
  } catch (error) {
    if (isCodedError(error) && error.status < 500)
      throw new McpError(ErrorCode.InvalidParams, `${error.code}: ${error.message}`);
    throw error;
  }
}
