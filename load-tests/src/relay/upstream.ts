import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

// A model's place in a process of its own: every answer is a stream of deltas at the pace that was told last, each with
// the time at which it was written. It ends with the process that started it.

let pace = { chunks: 100, everyMs: 20 };
process.on('message', (told: typeof pace) => {
  pace = told;
});
const event = (data: { readonly type: string } & object): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
let answers = 0;
/** Its multiples are spread evenly over an interval, however many there are. */
const goldenRatio = (1 + Math.sqrt(5)) / 2;

function answer(response: ServerResponse): void {
  answers += 1;
  const { chunks, everyMs } = pace;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const usage = { input_tokens: 10, output_tokens: 1 };
  const message = { id: `msg_${process.pid}_${answers}`, model: 'claude-sonnet-4-6', usage };
  response.write(event({ type: 'message_start', message } as never));
  let written = 0;
  // Models do not speak in time with each other: each answer begins at a place of its own in the interval, and keeps it.
  let due = performance.now() + everyMs * (1 + ((answers * goldenRatio) % 1));
  const speak = (): void => {
    written += 1;
    const text = 'as long as a word or two ';
    const at = performance.timeOrigin + performance.now();
    response.write(
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text }, at } as never),
    );
    if (written === chunks) {
      response.write(event({ type: 'message_delta', usage: { output_tokens: written } } as never));
      response.end(event({ type: 'message_stop' }));
      return;
    }
    due += everyMs;
    timer = setTimeout(speak, due - performance.now());
  };
  let timer = setTimeout(speak, due - performance.now());
  response.on('close', () => clearTimeout(timer));
}

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => answer(response));
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit(0));
