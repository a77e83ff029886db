import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { answerOf, readWork } from './work.ts';

/** What the model's provider knows of one exchange: the truth that the fleet's usage is checked against. */
export interface ProvidedAnswer {
  readonly responseId: string;
  readonly seed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface ChaosProvider {
  readonly port: number;
  readonly answers: readonly ProvidedAnswer[];
  /** From now on requests fail, or are answered again. */
  setOutage(outage: boolean): void;
  close(): void;
}

const event = (data: object & { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

/**
 * A model behind Anthropic's API: it has the real agent write the answer with one tool call, and says a word to
 * simulated ones. Every answer that it gave, it remembers.
 */
export async function startProvider(): Promise<ChaosProvider> {
  const answers: ProvidedAnswer[] = [];
  let outage = false;
  const server = createServer((request, reply) => {
    // Whoever looks for something else at a port that was theirs before gets no answer that has to be on record.
    if (request.method !== 'POST' || request.url?.endsWith('/messages') !== true) {
      reply.writeHead(404).end();
      return;
    }
    text(request).then(
      (body) => (outage ? fail(reply) : answer(answers, body, reply)),
      () => reply.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    answers,
    setOutage: (wanted) => {
      outage = wanted;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const requestSchema = z.object({
  messages: z.array(
    z.object({ content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]) }),
  ),
});

/**
 * Whether the last call was carried out. One that a pause stopped was not, and its result says so: a model that took it for done
 * ended three sessions of a storm without their answer.
 */
function hasWritten(body: string): boolean {
  const blocks = requestSchema
    .parse(JSON.parse(body))
    .messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const last = blocks.findLast(({ type }) => type === 'tool_result');
  return last !== undefined && last['is_error'] !== true;
}

function fail(reply: ServerResponse): void {
  reply
    .writeHead(529, { 'content-type': 'application/json' })
    .end(JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'chaos' } }));
}

function answer(answers: ProvidedAnswer[], body: string, reply: ServerResponse): void {
  const work = readWork(body);
  const seed = work?.seed ?? 0;
  const given: ProvidedAnswer = {
    responseId: `msg_chaos_${answers.length + 1}`,
    seed,
    inputTokens: 10 + (seed % 90),
    outputTokens: 5 + (seed % 7),
  };
  answers.push(given);
  const writes = work !== null && !body.includes('simulated') && !hasWritten(body);
  const block = writes
    ? [
        { type: 'tool_use', id: `toolu_${seed}_${answers.length}`, name: 'write_file', input: {} },
        {
          type: 'input_json_delta',
          partial_json: JSON.stringify({ path: 'answer.txt', content: `${answerOf(work)}\n` }),
        },
      ]
    : [
        { type: 'text', text: '' },
        { type: 'text_delta', text: 'The answer is written.' },
      ];
  const usage = { input_tokens: given.inputTokens, output_tokens: 1 };
  const message = {
    id: given.responseId,
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'claude-sonnet-4-6',
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  reply.writeHead(200, { 'content-type': 'text/event-stream' });
  reply.write(event({ type: 'message_start', message } as never));
  reply.write(event({ type: 'content_block_start', index: 0, content_block: block[0] } as never));
  reply.write(event({ type: 'content_block_delta', index: 0, delta: block[1] } as never));
  reply.write(event({ type: 'content_block_stop', index: 0 } as never));
  const delta = { stop_reason: writes ? 'tool_use' : 'end_turn', stop_sequence: null };
  reply.write(event({ type: 'message_delta', delta, usage: { output_tokens: given.outputTokens } } as never));
  reply.end(event({ type: 'message_stop' }));
}
