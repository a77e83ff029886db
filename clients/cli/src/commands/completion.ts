import root from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { printJson } from './context.ts';

interface JsonOption {
  readonly json?: boolean;
}

/** The library's script calls a helper of the package bash-completion, which a bare bash does not have. */
const bareBash = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
    words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
    cur=\${words[cword]} prev=\${words[cword-1]}
}`;

/**
 * `lemniscate completion bash|zsh|fish|powershell` prints the script that the shell sources; `complete` is what that
 * script asks. To be registered last: it reads the commands and options that are there.
 */
export function registerCompletion(program: Command, io: CommandIo): void {
  tab(program, { completionCommandName: 'completion' });
  const name = program.name();
  for (const command of program.commands) {
    if (command.name() === 'completion')
      command
        .option('--json', 'the script as JSON')
        .action((shell: string, { json }: JsonOption) => printScript(io, name, shell, json === true));
    if (command.name() === 'complete')
      command
        .option('--json', 'the completions as JSON')
        .action((words: string[], { json }: JsonOption) => printCompletions(io, words, json === true));
  }
}

function printScript(io: CommandIo, name: string, shell: string, json: boolean): void {
  const lines = printedBy(() => root.setup(name, name, shell));
  const script = `${[...(shell === 'bash' ? [bareBash] : []), ...lines].join('\n')}\n`;
  if (json) printJson(io, { shell, script });
  else io.stdout.write(script);
}

/** A line a completion, `value<TAB>description`, and last a line that says what the shell may add: `:4`. */
function printCompletions(io: CommandIo, words: readonly string[], json: boolean): void {
  const [word = '', ...others] = words;
  if (others.length === 0 && ['bash', 'zsh', 'fish', 'powershell'].includes(word))
    throw new CodedError(
      'request_invalid',
      `"complete" is what the script of a shell asks. The script itself: lemniscate completion ${word}.`,
    );
  const lines = printedBy(() => root.parse([...words]));
  if (!json) {
    io.stdout.write(`${lines.join('\n')}\n`);
    return;
  }
  const completions = lines
    .filter((line) => line.includes('\t'))
    .map((line) => {
      const [value = '', description = ''] = line.split('\t');
      return { value, description };
    });
  printJson(io, { completions });
}

/** What the library prints; it knows no other place than the console. */
function printedBy(work: () => void): string[] {
  const lines: string[] = [];
  const { log } = console;
  console.log = (line: unknown) => void lines.push(String(line));
  try {
    work();
  } finally {
    console.log = log;
  }
  return lines;
}
