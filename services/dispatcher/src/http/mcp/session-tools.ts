import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { createSessionSchema, maxWaitSeconds } from '@lemniscate/shared/api/session.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { sendMessageSchema } from '@lemniscate/shared/api/message.ts';
import { sessionHasEnded, sessionStates } from '@lemniscate/shared/session/state.ts';
import { listAgents } from '../../application/agents/agents.ts';
import { listWaitingApprovals } from '../../application/approvals/approval-row.ts';
import { projectsSeenBy } from '../../application/identity.ts';
import { sendMessage } from '../../application/messages/send-message.ts';
import { createSession } from '../../application/sessions/create-session.ts';
import { getSession, listSessions } from '../../application/sessions/read-sessions.ts';
import { stopSession } from '../../application/sessions/stop-session.ts';
import { readDiffText } from './diff-text.ts';
import type { McpCaller } from './mcp-caller.ts';
import { requireToolAccess } from './tool-access.ts';
import { answer, refusal } from './tool-answers.ts';
import { waitForSession } from './wait-for-session.ts';

const sessionId = z.string().regex(/^[\w-]{1,64}$/, 'must be a session id');
const ofSession = z.strictObject({ id: sessionId.describe('Id of the session') });

const createSchema = createSessionSchema
  .pick({
    instruction: true,
    project: true,
    agent: true,
    model: true,
    runtime: true,
    repository: true,
    interactive: true,
    followUps: true,
    bounds: true,
    priority: true,
  })
  .extend({
    wait: z
      .boolean()
      .default(false)
      .describe(
        `Block until the session has ended, at most ${maxWaitSeconds} seconds; then the answer is the session as it stands`,
      ),
    idempotency_key: z
      .string()
      .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 printable characters')
      .optional()
      .describe(
        'A call with the same key and arguments finds the session of the first instead of a second one',
      ),
  });

/** What a client is told about a session that goes on: that it is not over, and how to look again. */
export function sessionAnswer(session: SessionView): CallToolResult {
  const next = sessionHasEnded(session.state)
    ? {}
    : { note: `It goes on. Ask get_session with id ${session.id} for how it stands.` };
  return answer({ session, ...next });
}

/** The tools of the fleet for other programs. Each does what one route does, under that route's rule. */
export function registerSessionTools(server: McpServer, caller: McpCaller): void {
  const { deps, person } = caller;
  const { database } = deps;
  const refusing =
    <Input, Extra>(run: (input: Input, extra: Extra) => Promise<CallToolResult>) =>
    (input: Input, extra: Extra): Promise<CallToolResult> =>
      run(input, extra).catch((error: unknown) => caller.refused(error, refusal(error)));

  server.registerTool(
    'create_session',
    {
      title: 'Start a session',
      description:
        'Starts a coding agent on a repository, in a sandbox. Answers at once with the session, which goes on by itself; with wait: true when it has ended. The result is a diff that a person accepts.',
      inputSchema: createSchema,
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: false,
      },
    },
    refusing(async (input, extra) => {
      const { idempotency_key: _, wait, ...asked } = input;
      await requireToolAccess(database, person, 'POST /v1/sessions', {
        kind: 'project',
        project: asked.project,
      });
      const request = createSessionSchema.parse({ ...asked, surface: 'api' });
      const { ticket } = caller;
      if (ticket === null) throw new Error('a call that opens a session has no ticket');
      const { id } = await createSession(deps, person, request, ticket.key, undefined, caller.trace);
      if (!wait) return sessionAnswer(await getSession(database, id));
      const session = await waitForSession(deps, id, ticket.askedAt, extra.signal, async (progress) => {
        if (ticket.progressToken === null) return;
        const params = { progressToken: ticket.progressToken, ...progress };
        await extra.sendNotification({ method: 'notifications/progress', params });
      });
      return sessionAnswer(session ?? (await getSession(database, id)));
    }),
  );

  const reading = { readOnlyHint: true, openWorldHint: false };
  server.registerTool(
    'get_session',
    {
      title: 'Look at a session',
      description: 'One session: state, phase, reason, message, usage, cost, and whether a diff is offered.',
      inputSchema: ofSession,
      annotations: reading,
    },
    refusing(async ({ id }) => {
      await requireToolAccess(database, person, 'GET /v1/sessions/:id', { kind: 'session', session: id });
      return sessionAnswer(await getSession(database, id));
    }),
  );

  server.registerTool(
    'list_sessions',
    {
      title: 'List sessions',
      description: 'Sessions that you can see, the newest first, in pages.',
      inputSchema: z.strictObject({
        cursor: z.string().max(128).optional(),
        limit: z.int().min(1).max(50).default(20),
        state: z.enum(sessionStates).optional(),
      }),
      annotations: reading,
    },
    refusing(async (query) => {
      await requireToolAccess(database, person, 'GET /v1/sessions', { kind: 'somewhere' });
      return answer({ ...(await listSessions(database, { ...query, projects: projectsSeenBy(person) })) });
    }),
  );

  server.registerTool(
    'send_message',
    {
      title: 'Say something to a session',
      description: 'Sends the next message to a session that was opened with followUps.',
      inputSchema: ofSession.extend({ text: sendMessageSchema.shape.text }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
    },
    refusing(async ({ id, text }) => {
      await requireToolAccess(database, person, 'POST /v1/sessions/:id/messages', {
        kind: 'session',
        session: id,
      });
      const { number, state } = await sendMessage(deps, person, id, text);
      return answer({ sessionId: id, number, state });
    }),
  );

  server.registerTool(
    'stop_session',
    {
      title: 'Stop a session',
      description: 'Ends a session for good; its diff is discarded and nothing of it is remembered.',
      inputSchema: ofSession,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    },
    refusing(async ({ id }) => {
      await requireToolAccess(database, person, 'POST /v1/sessions/:id/stop', {
        kind: 'session',
        session: id,
      });
      await stopSession(deps, person, id);
      return sessionAnswer(await getSession(database, id));
    }),
  );

  server.registerTool(
    'get_diff',
    {
      title: 'Read the diff',
      description:
        'What a session changed, as a patch with its flagged files. To read: accepting or rejecting it is a person’s act.',
      inputSchema: ofSession,
      annotations: reading,
    },
    refusing(async ({ id }) => {
      await requireToolAccess(database, person, 'GET /v1/sessions/:id/diff', {
        kind: 'session',
        session: id,
      });
      return answer(await readDiffText(deps, id));
    }),
  );

  server.registerTool(
    'list_agents',
    {
      title: 'List agents',
      description: 'The agents that a session can run as.',
      inputSchema: z.strictObject({}),
      annotations: reading,
    },
    refusing(async () => {
      await requireToolAccess(database, person, 'GET /v1/agents', { kind: 'somewhere' });
      const agents = await listAgents(database, person);
      return answer({
        agents: agents.map(({ id, project, version, definition }) => ({
          id,
          project,
          version,
          model: definition.model ?? null,
          runtime: definition.runtime ?? null,
          skills: definition.skills.map(({ name }) => name),
          disabled: definition.disabled,
        })),
      });
    }),
  );

  server.registerTool(
    'list_approvals',
    {
      title: 'See what waits for a person',
      description:
        'Tool calls of sessions that wait for a person. To see, not to decide: a program never approves for a person.',
      inputSchema: z.strictObject({}),
      annotations: reading,
    },
    refusing(async () => {
      await requireToolAccess(database, person, 'GET /v1/approvals', { kind: 'somewhere' });
      const waiting = await listWaitingApprovals(database, projectsSeenBy(person));
      return answer({
        approvals: waiting.map(({ id, sessionId, tool, title, reasons, people, createdAt, expiresAt }) => ({
          id,
          sessionId,
          tool,
          title,
          reasons,
          people,
          createdAt,
          expiresAt,
        })),
      });
    }),
  );
}
