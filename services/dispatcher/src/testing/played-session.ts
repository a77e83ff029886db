import { argumentsDigest } from '@lemniscate/shared/tools/arguments-digest.ts';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { SimulatedAgentServer } from './simulated-agent-server.ts';
import { within } from './within.ts';

/** The order of a session, as soon as it has come. */
export async function orderOf(server: SimulatedAgentServer, session: string): Promise<SessionOrder> {
  const find = () => server.orders.find(({ order }) => order.sessionId === session)?.order;
  await within(30_000, `session ${session} is ordered`, () => find() !== undefined);
  const order = find();
  if (order === undefined) throw new Error('an order that was there is gone');
  return order;
}

const baseOf = ({ sessionId, attempt }: SessionOrder): string =>
  `/internal/sessions/${sessionId}/attempts/${attempt}`;

/** Says that the session runs. */
export async function beginSession(server: SimulatedAgentServer, order: SessionOrder): Promise<void> {
  const event = { type: 'running', driver: 'simulated', warm: true, timingsMs: {} };
  await server.post(`${baseOf(order)}/events`, {
    firstSeq: 1,
    events: [{ at: new Date().toISOString(), event }],
  });
}

let calls = 0;

/** Asks for one tool call. */
export async function callTool(
  server: SimulatedAgentServer,
  order: SessionOrder,
  tool: string,
  args: JsonObject,
  callId = `call-${(calls += 1)}`,
): Promise<PermitAnswer> {
  const answer = await server.post(`${baseOf(order)}/permits`, {
    callId,
    turn: 1,
    tool,
    arguments: args,
    argumentsDigest: argumentsDigest(args),
    waitMs: 0,
  });
  return answer.body as PermitAnswer;
}

/** Ends the session with closing words. */
export async function finishSession(
  server: SimulatedAgentServer,
  order: SessionOrder,
  message: string,
  reason = 'finished',
  collected: object = {},
): Promise<void> {
  const answer = await server.post(`${baseOf(order)}/result`, {
    reason,
    message,
    diff: null,
    patch: null,
    collected,
    timingsMs: {},
  });
  if (answer.status !== 200) throw new Error(`the result was refused: ${JSON.stringify(answer.body)}`);
  server.drop(order.sessionId);
}
