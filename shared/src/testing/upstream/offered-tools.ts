import type { ScriptedBlock, ScriptedTurn } from './turn.ts';

type Input = Readonly<Record<string, unknown>>;

/** How a client's own tool is asked for what one of ours does. */
interface Equivalent {
  readonly name: string;
  readonly input: (input: Input) => Input;
}

const inWorkspace = (path: unknown): string =>
  String(path).startsWith('/') ? String(path) : `/workspace/${String(path)}`;

/** A patch in the format of Codex that makes a file. */
const addition = ({ path, content }: Input): string =>
  [
    '*** Begin Patch',
    `*** Add File: ${String(path)}`,
    ...String(content)
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => `+${line}`),
    '*** End Patch',
    '',
  ].join('\n');

/** Writes a file by a shell command, for clients that have nothing else. */
const writing = ({ path, content }: Input): string =>
  `apply_patch <<'LEMNISCATE'\n${addition({ path, content })}LEMNISCATE`;

/** Scripts speak of our tools; what a client calls the same is data. First match wins. */
const equivalents: Readonly<Record<string, readonly Equivalent[]>> = {
  run_command: [
    { name: 'Bash', input: ({ command }) => ({ command, description: 'Run it' }) },
    { name: 'exec_command', input: ({ command }) => ({ cmd: command }) },
    { name: 'shell_command', input: ({ command }) => ({ command }) },
    { name: 'shell', input: ({ command }) => ({ command: ['bash', '-c', command] }) },
  ],
  write_file: [
    { name: 'Write', input: ({ path, content }) => ({ file_path: inWorkspace(path), content }) },
    { name: 'exec_command', input: (input) => ({ cmd: writing(input) }) },
    { name: 'shell_command', input: (input) => ({ command: writing(input) }) },
    { name: 'shell', input: (input) => ({ command: ['bash', '-c', writing(input)] }) },
  ],
  edit_file: [
    {
      name: 'Edit',
      input: ({ path, old_text, new_text }) => ({
        file_path: inWorkspace(path),
        old_string: old_text,
        new_string: new_text,
      }),
    },
  ],
  read_file: [
    { name: 'Read', input: ({ path }) => ({ file_path: inWorkspace(path) }) },
    { name: 'exec_command', input: ({ path }) => ({ cmd: `cat ${String(path)}` }) },
    { name: 'shell_command', input: ({ path }) => ({ command: `cat ${String(path)}` }) },
  ],
  list_files: [{ name: 'Glob', input: () => ({ pattern: '**/*' }) }],
  search_files: [{ name: 'Grep', input: ({ pattern }) => ({ pattern }) }],
};

/** A tool that is ours under another server's prefix, as clients name tools of MCP servers. */
const hosted = (offered: string, name: string): boolean =>
  offered.endsWith(`__${name}`) || offered.endsWith(`.${name}`);

/**
 * The turn with each request for one of our tools put as the client offers it: under the same name, under an MCP
 * prefix, or as the client's own tool. What it does not offer in any way stays as it is.
 */
export function asOffered(turn: ScriptedTurn, offered: readonly string[]): ScriptedTurn {
  return { ...turn, blocks: turn.blocks.map((block) => blockAsOffered(block, offered)) };
}

function blockAsOffered(block: ScriptedBlock, offered: readonly string[]): ScriptedBlock {
  if ('text' in block || offered.includes(block.tool)) return block;
  const ours = offered.find((name) => hosted(name, block.tool));
  if (ours !== undefined) return { ...block, tool: ours };
  const own = equivalents[block.tool]?.find(({ name }) => offered.includes(name));
  if (own === undefined || 'rawArguments' in block) return block;
  return { ...block, tool: own.name, input: own.input(block.input as Input) };
}
