import { z } from 'zod';
import { approvalViewSchema, decideApprovalSchema } from '@lemniscate/shared/api/session.ts';
import {
  listApprovals,
  listWaitingApprovals,
  toApprovalView,
} from '../application/approvals/approval-row.ts';
import { decideApproval } from '../application/approvals/decide-approval.ts';
import type { ApprovalDeps } from '../application/approvals/decide-approval.ts';
import { followWaiting } from '../application/approvals/follow-waiting.ts';
import type { FollowWaitingDeps } from '../application/approvals/follow-waiting.ts';
import type { Log } from '../application/ports/log.ts';
import { writeEventStream } from './event-stream.ts';
import type { StreamMessage } from './event-stream.ts';
import { projectsSeenBy } from '../application/identity.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { sessionParams } from './session-routes.ts';

const listSchema = z.object({ approvals: z.array(approvalViewSchema) });

export type ApprovalRouteDeps = ApprovalDeps & FollowWaitingDeps & { readonly log: Log };

const streamOptions = { heartbeatMs: 10_000, stallMs: 60_000 } as const;

async function* lists(
  deps: FollowWaitingDeps,
  projects: readonly string[] | null,
  gone: AbortSignal,
): AsyncGenerator<StreamMessage> {
  for await (const approvals of followWaiting(deps, projects, gone))
    yield { event: 'approvals', data: { approvals } };
}

/** Public listener: what waits for a person, and the person's word. */
export function registerApprovalRoutes(app: App, deps: ApprovalRouteDeps): void {
  app.get('/v1/approvals', { schema: { response: { 200: listSchema } } }, async (request) => ({
    approvals: await listWaitingApprovals(deps.database, projectsSeenBy(personOf(request))),
  }));

  app.get('/v1/approvals/events', async (request, reply) => {
    const projects = projectsSeenBy(personOf(request));
    const gone = new AbortController();
    reply.hijack();
    await writeEventStream(reply.raw, lists(deps, projects, gone.signal), gone, streamOptions).catch(
      (error: unknown) => deps.log.warn({ err: error }, 'a stream of the waiting list was cut'),
    );
  });

  app.get(
    '/v1/sessions/:id/approvals',
    { schema: { params: sessionParams, response: { 200: listSchema } } },
    async (request) => ({ approvals: await listApprovals(deps.database, request.params.id) }),
  );

  app.post(
    '/v1/sessions/:id/approvals/:approvalId',
    {
      schema: {
        params: sessionParams.extend({
          approvalId: z.string().regex(/^[\w-]{1,64}$/, 'must be an approval id'),
        }),
        body: decideApprovalSchema,
        response: { 200: approvalViewSchema },
      },
    },
    async (request) => {
      const { id, approvalId } = request.params;
      return toApprovalView(await decideApproval(deps, personOf(request), id, approvalId, request.body));
    },
  );
}
