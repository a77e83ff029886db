import { execFile } from 'node:child_process';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { ModelProvider } from '../../../../application/ports/model-provider.ts';
import { scriptedModel } from '../scripted-provider.ts';
import { assembleStream, readText } from './read-message.ts';
import type { Message } from './read-message.ts';

interface Outcome {
  readonly text: string;
  readonly isError: boolean;
}
type Tool = (folder: string, input: Readonly<Record<string, unknown>>) => Promise<Outcome>;

const done = (text: string): Outcome => ({ text, isError: false });
const failed = (text: string): Outcome => ({ text, isError: true });

function run(folder: string, command: string, timeoutSeconds: number): Promise<Outcome> {
  // A test runner inside a test runner would report to the outer one through this variable.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const PATH = `${dirname(process.execPath)}:${env['PATH'] ?? ''}`;
  return new Promise((resolve) => {
    execFile(
      'bash',
      ['--noprofile', '--norc', '-c', command],
      { cwd: folder, env: { ...env, PATH }, timeout: timeoutSeconds * 1000, killSignal: 'SIGKILL' },
      (error, stdout, stderr) =>
        resolve({
          text: `${stdout}${stderr}\n[exit code ${error?.code ?? 0}]`,
          isError: error !== null,
        }),
    );
  });
}

const tools: Readonly<Record<string, Tool>> = {
  list_files: async (folder) => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return done(
      entries
        .map(
          (entry) => relative(folder, join(entry.parentPath, entry.name)) + (entry.isDirectory() ? '/' : ''),
        )
        .sort()
        .join('\n'),
    );
  },
  read_file: async (folder, input) => {
    const text = await readFile(join(folder, String(input['path'])), 'utf8');
    return done(
      text
        .replace(/\n$/, '')
        .split('\n')
        .map((line, index) => `${String(index + 1).padStart(6)}\t${line}`)
        .join('\n'),
    );
  },
  write_file: async (folder, input) => {
    const path = join(folder, String(input['path']));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, String(input['content']));
    return done('written');
  },
  edit_file: async (folder, input) => {
    const path = join(folder, String(input['path']));
    const text = await readFile(path, 'utf8');
    const parts = text.split(String(input['old_text']));
    if (parts.length !== 2) return failed(`old_text occurs ${parts.length - 1} times`);
    await writeFile(path, parts.join(String(input['new_text'])));
    return done('edited');
  },
  search_files: async () => done(''),
  run_command: (folder, input) =>
    run(folder, String(input['command']), Math.min(30, Number(input['timeout_seconds'] ?? 30))),
};

/** How a session of the loop went. */
export interface LoopResult {
  readonly calls: readonly { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }[];
  readonly closing: string;
  readonly messages: readonly Message[];
}

/** Drives a provider against real files and real commands until it ends its turn, at most `most` exchanges. */
export async function runAgentLoop(
  provider: ModelProvider,
  folder: string,
  instruction: string,
  most = 200,
): Promise<LoopResult> {
  const history: unknown[] = [{ role: 'user', content: instruction }];
  const calls: { tool: string; input: Readonly<Record<string, unknown>> }[] = [];
  const messages: Message[] = [];
  for (let exchange = 0; exchange < most; exchange += 1) {
    const response = await provider.send({
      endpoint: 'anthropic-messages',
      body: {
        model: scriptedModel,
        max_tokens: 4096,
        stream: true,
        system: 'You mend code.',
        tools: Object.keys(tools).map((name) => ({ name, input_schema: { type: 'object' } })),
        messages: history,
      },
      headers: {},
      signal: new AbortController().signal,
    });
    const { message } = assembleStream(await readText(response));
    messages.push(message);
    history.push({ role: 'assistant', content: message.content });
    const uses = message.content.filter((block) => block.type === 'tool_use');
    if (uses.length === 0) {
      const closing = message.content.map((block) => String(block['text'] ?? '')).join('\n');
      return { calls, closing, messages };
    }
    const results: unknown[] = [];
    for (const use of uses) {
      const tool = String(use['name']);
      const input = use['input'] as Readonly<Record<string, unknown>>;
      calls.push({ tool, input });
      const outcome = await tools[tool]?.(folder, input).catch((error: Error) => failed(error.message));
      results.push({
        type: 'tool_result',
        tool_use_id: use['id'],
        content: [{ type: 'text', text: outcome?.text ?? 'no such tool' }],
        is_error: outcome?.isError ?? true,
      });
    }
    history.push({ role: 'user', content: results });
  }
  throw new Error(`The loop did not end within ${most} exchanges.`);
}
