import { agent, methods, RequestError, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import type { AgentApp, AgentContext } from '@agentclientprotocol/sdk';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { isAbsolute } from 'node:path';
import { inspectRepository } from '../repository/inspect.ts';
import { createConversation, finishCommand } from './conversation.ts';
import type { Conversation, ConversationDeps } from './conversation.ts';
import { promptText } from './prompt-text.ts';

export interface AcpAgentDeps extends ConversationDeps {
  readonly version: string;
  readonly newId: () => string;
}

const commands = [
  {
    name: finishCommand.slice(1),
    description: 'Finish the session and review its changes',
  },
];

/** The Agent Client Protocol's side of a fleet: an editor's conversations become sessions of surface `ide`. */
export function createAcpAgent(deps: AcpAgentDeps): AgentApp {
  const conversations = new Map<string, Conversation>();

  const find = (id: string): Conversation => {
    const conversation = conversations.get(id);
    if (conversation !== undefined) return conversation;
    throw new CodedError('session_unknown', `There is no conversation ${JSON.stringify(id)}.`);
  };

  const announceCommands = (editor: AgentContext, sessionId: string): void => {
    // After the answer that makes the id known to the editor.
    setImmediate(() => {
      void editor.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate: 'available_commands_update', availableCommands: commands },
      });
    });
  };

  return agent({ name: 'lemniscate' })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: 'lemniscate', title: 'Lemniscate', version: deps.version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { embeddedContext: true, image: false, audio: false },
        sessionCapabilities: { close: {} },
      },
      authMethods: [],
    }))
    .onRequest(methods.agent.session.new, ({ params, client }) =>
      answering(async () => {
        const folder = await repositoryFolder(params.cwd);
        const sessionId = deps.newId();
        const stored = { folder, fleetSessionId: null };
        await deps.store.write(sessionId, stored);
        conversations.set(sessionId, createConversation(deps, sessionId, stored));
        announceCommands(client, sessionId);
        return { sessionId };
      }),
    )
    .onRequest(methods.agent.session.load, ({ params, client }) =>
      answering(async () => {
        const stored = await deps.store.read(params.sessionId);
        const conversation = createConversation(deps, params.sessionId, stored);
        conversations.set(params.sessionId, conversation);
        await conversation.replay(client);
        announceCommands(client, params.sessionId);
        return {};
      }),
    )
    .onRequest(methods.agent.session.prompt, ({ params, client }) =>
      answering(async () => ({
        stopReason: await find(params.sessionId).prompt(client, promptText(params.prompt)),
      })),
    )
    .onNotification(methods.agent.session.cancel, ({ params }) =>
      answering(() => find(params.sessionId).cancel()),
    )
    .onRequest(methods.agent.session.close, ({ params }) =>
      answering(async () => {
        await find(params.sessionId).close();
        conversations.delete(params.sessionId);
        return {};
      }),
    );
}

async function repositoryFolder(cwd: string): Promise<string> {
  if (isAbsolute(cwd)) return (await inspectRepository(cwd)).folder;
  throw new CodedError('request_invalid', `The folder ${JSON.stringify(cwd)} must be an absolute path.`);
}

/** Our errors in the protocol's shape, so that the editor shows the sentence and not "internal error". */
async function answering<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (!isCodedError(error)) throw error;
    const { code, message } = error;
    const jsonRpcCode = code === 'request_invalid' ? -32602 : code === 'session_unknown' ? -32002 : -32603;
    throw new RequestError(jsonRpcCode, `${message} [${code}]`, { code });
  }
}
