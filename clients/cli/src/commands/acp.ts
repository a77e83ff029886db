import { randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import type { Command } from 'commander';
import { createAcpAgent } from '../acp/agent.ts';
import { createConversationStore } from '../acp/conversation-store.ts';
import { readBounds } from '../bounds.ts';
import { readExecution } from '../execution.ts';
import type { CommandIo } from '../io.ts';
import { startWorkstation } from '../workstation.ts';
import type { Workstation } from '../workstation.ts';
import { connectFleet } from './context.ts';

interface AcpOptions {
  readonly project?: string;
  readonly model?: string;
  readonly runtime?: string;
  readonly json?: boolean;
}

/** `lemniscate acp`: an agent for editors, on standard input and output. */
export function registerAcp(program: Command, io: CommandIo): void {
  program
    .command('acp')
    .description(
      'Speaks the Agent Client Protocol on stdio, so that an editor can use the fleet as its agent.',
    )
    .option('--project <name>', 'the project whose policy and budgets apply')
    .option('--model <id>', 'the model')
    .option('--runtime <name>', 'who drives the loop')
    .option('--json', 'nothing changes: the protocol is JSON-RPC 2.0 already, a message a line')
    .addHelpText(
      'after',
      `
Editors start this themselves; see docs/ide.md for Zed, JetBrains and Neovim. Standard output belongs to the
protocol, messages for people go to standard error.`,
    )
    .action(async ({ json: _json, ...options }: AcpOptions) => {
      const execution = readExecution(io.env);
      const bounds = readBounds(io.env);
      const client = await connectFleet(io);
      let workstation: Promise<Workstation> | null = null;
      const gone = new AbortController();
      const signal = AbortSignal.any([io.signal, gone.signal]);
      const begin = (): Promise<Workstation> =>
        startWorkstation(client, io.env, signal).catch((error: unknown) => {
          // What was missing may be there the next time.
          workstation = null;
          throw error;
        });
      const order = async () => ({
        execution,
        bounds,
        ...options,
        ...(execution === 'workstation' ? { server: (await (workstation ??= begin())).serverId } : {}),
      });
      const app = createAcpAgent({
        client,
        store: createConversationStore(io.env),
        order,
        signal,
        version: program.version() ?? '',
        newId: () => `acp_${randomUUID()}`,
      });
      const connection = app.connect(
        ndJsonStream(Writable.toWeb(io.stdout), Readable.toWeb(io.stdin) as ReadableStream<Uint8Array>),
      );
      io.signal.addEventListener('abort', () => connection.close(), { once: true });
      try {
        await connection.closed;
      } finally {
        gone.abort();
        await (workstation as Promise<Workstation> | null)?.then((started) => started.stop());
      }
    });
}
