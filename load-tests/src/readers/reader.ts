import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';

/** A reader of one session's event stream, as a client is one: it remembers the last id and resumes behind it. */
export interface Reader {
  /** From `Date.now()` in the text to its arrival. Milliseconds. */
  readonly delays: readonly number[];
  /** Positions that it never got, and positions that it got twice. */
  missing(): number;
  repeated(): number;
  last(): number;
  /** Comes back after the last event that it has. */
  resume(): Promise<void>;
  /** Takes nothing more from its connection; what is on the way stays there. */
  stall(): void;
  /** Delays so far are forgotten. */
  restart(): void;
  close(): void;
}

// No pool: each reader is a connection, as browsers and terminals have one each.
const agent = new Agent({ keepAlive: false, maxSockets: Infinity });

/** Connects; resolves when the stream is open. */
export async function openReader(url: string, token: string): Promise<Reader> {
  let delays: number[] = [];
  let last = 0;
  let missing = 0;
  let repeated = 0;
  let answer: IncomingMessage | null = null;

  const take = (message: string): void => {
    const id = Number(/^id: (\d+)$/m.exec(message)?.[1] ?? 0);
    if (id === 0) return;
    if (id <= last) repeated += 1;
    else if (last > 0) missing += id - last - 1;
    last = Math.max(last, id);
    const said = /"text":"(\d{13}) /.exec(message)?.[1];
    if (said !== undefined) delays.push(Date.now() - Number(said));
  };
  const connect = (): Promise<void> =>
    new Promise((open, fail) => {
      const call = request(url, {
        agent,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'text/event-stream',
          ...(last === 0 ? {} : { 'last-event-id': String(last) }),
        },
      });
      call.on('error', fail);
      call.on('response', (given) => {
        if (given.statusCode !== 200) {
          fail(new Error(`${url} answered ${given.statusCode}`));
          given.destroy();
          return;
        }
        answer = given;
        let rest = '';
        given.setEncoding('utf8').on('data', (text: string) => {
          const messages = (rest + text).split('\n\n');
          rest = messages.pop() ?? '';
          for (const message of messages) take(message);
        });
        given.on('error', () => undefined);
        open();
      });
      call.end();
    });
  await connect();
  return {
    get delays() {
      return delays;
    },
    missing: () => missing,
    repeated: () => repeated,
    last: () => last,
    resume: async () => {
      answer?.destroy();
      await connect();
    },
    stall: () => void answer?.pause(),
    restart: () => {
      delays = [];
    },
    close: () => void answer?.destroy(),
  };
}
