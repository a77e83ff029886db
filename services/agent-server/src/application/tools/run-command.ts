import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SandboxCommandEnd } from '../ports/sandbox-driver.ts';
import { createHeadAndTail } from './head-and-tail.ts';
import type { Tool, ToolContext, ToolResult } from './tool.ts';

/** The model gets the first and the last of this many characters. */
const shownCharacters = 16 * 1024;

/** bash without profiles; output goes to the person as it comes and to the model at the end, cut in the middle. */
export const runCommand: Tool<'run_command'> = {
  title: (input) => input.command,
  run: async ({ command, timeout_seconds }, context) => {
    const seconds = Math.min(timeout_seconds ?? context.commandMaxSeconds, context.commandMaxSeconds);
    const execution = context.sandbox.run({
      argv: ['bash', '--noprofile', '--norc', '-c', command],
      cwd: '/workspace',
      timeoutMs: seconds * 1000,
      maxOutputBytes: context.commandMaxOutputBytes,
      signal: context.signal,
    });
    const shown = createHeadAndTail(shownCharacters);
    await forward(execution.output, context, (text) => shown.add(text));
    const end = await execution.end;
    context.signal.throwIfAborted();
    if (end.cause === 'sandbox_lost')
      throw new CodedError('sandbox_lost', 'The sandbox ended while a command ran in it.');
    return result(shown.toString(), end, seconds);
  },
};

type Piece = { readonly stream: 'stdout' | 'stderr'; readonly bytes: Uint8Array };

/** Decodes each stream across the borders of its pieces. */
async function forward(
  output: AsyncIterable<Piece>,
  context: ToolContext,
  add: (text: string) => void,
): Promise<void> {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const pass = async (stream: 'stdout' | 'stderr', text: string) => {
    if (text === '') return;
    add(text);
    await context.output(stream, text);
  };
  for await (const { stream, bytes } of output)
    await pass(stream, decoders[stream].decode(bytes, { stream: true }));
  for (const stream of ['stdout', 'stderr'] as const) await pass(stream, decoders[stream].decode());
}

function result(text: string, end: SandboxCommandEnd, seconds: number): ToolResult {
  const notes: string[] = [];
  if (end.droppedBytes > 0)
    notes.push(`(${end.droppedBytes} bytes of output beyond the bound were dropped.)`);
  if (end.cause === 'timeout') notes.push(`(Ended after ${seconds} s, its time bound.)`);
  if (end.signal !== null && end.cause !== 'timeout') notes.push(`(Ended by signal ${end.signal}.)`);
  if (end.exitCode !== null) notes.push(`(Exit code ${end.exitCode}.)`);
  const separator = text === '' || text.endsWith('\n') ? '' : '\n';
  return {
    isError: end.cause === 'timeout',
    text: `${text}${separator}${notes.join('\n')}`,
    exitCode: end.exitCode,
    outputBytes: end.outputBytes,
    droppedBytes: end.droppedBytes,
  };
}
