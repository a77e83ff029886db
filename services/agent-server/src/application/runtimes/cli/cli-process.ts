import { PassThrough } from 'node:stream';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import { jsonObjectSchema } from '@lemniscate/shared/json.ts';
import { makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import { settledWithin } from '../../abortable.ts';
import type { SandboxCommandEnd } from '../../ports/sandbox-driver.ts';
import type { RuntimeContext } from '../runtime.ts';

/** How a command-line agent is started. */
export interface CliStart {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A command-line agent that runs in the sandbox and speaks lines of JSON. */
export interface CliProcess {
  send(message: JsonObject): void;
  /** What it says, each line parsed; ends with its output. @throws CodedError `runtime_failed` for an endless line */
  readonly messages: AsyncIterableIterator<JsonObject>;
  /** Closes its input and gives it a moment to leave; then it is killed. */
  leave(): Promise<SandboxCommandEnd>;
  kill(): void;
  readonly end: Promise<SandboxCommandEnd>;
  /** The last of what it wrote to its standard error, for a person. */
  lastWords(): string;
}

/** A session's time is bounded by its budget; this is only so that a timer exists. */
const longestMs = 7 * 86_400_000;
const maxOutputBytes = 4 * 1024 ** 3;

/** A line holds a whole tool result at most. Characters. */
const longestLine = 32 * 1024 * 1024;
const lastWordsLength = 2000;

/** A program that stays after its input has ended hangs. */
const leaveMs = 5000;

export function startCli(
  { sandbox, log, order, signal }: Pick<RuntimeContext, 'sandbox' | 'log' | 'order' | 'signal'>,
  { argv, env }: CliStart,
): CliProcess {
  const input = new PassThrough();
  const killed = new AbortController();
  const execution = sandbox.run({
    argv,
    env,
    cwd: '/workspace',
    input,
    timeoutMs: longestMs,
    maxOutputBytes,
    signal: AbortSignal.any([killed.signal, signal]),
  });
  let words = '';

  async function* read(): AsyncGenerator<JsonObject> {
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    let held = '';
    for await (const { stream, bytes } of execution.output) {
      const text = decoders[stream].decode(bytes, { stream: true });
      if (stream === 'stderr') {
        words = (words + text).slice(-lastWordsLength);
        continue;
      }
      const lines = (held + text).split('\n');
      held = lines.pop() ?? '';
      if (held.length > longestLine)
        throw new CodedError('runtime_failed', 'The agent’s program wrote a line without an end.');
      for (const line of lines) {
        const message = parse(line);
        if (message !== null) yield message;
        else if (line.trim() !== '')
          // its words may be the customer's: only how many there are is told
          log.warn({ sessionId: order.sessionId, characters: line.length }, 'not a message of the program');
      }
    }
  }

  return {
    send: (message) => {
      if (input.writable) input.write(`${JSON.stringify(message)}\n`);
    },
    messages: read(),
    leave: async () => {
      input.end();
      if (!(await settledWithin(execution.end, leaveMs))) killed.abort();
      return execution.end;
    },
    kill: () => killed.abort(),
    end: execution.end,
    lastWords: () => makeVisibleLine(words.trim().replaceAll('\n', ' ')),
  };
}

function parse(line: string): JsonObject | null {
  try {
    const parsed = jsonObjectSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
