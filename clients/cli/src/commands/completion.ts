import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';

/** The library's script calls a helper of the package bash-completion, which a bare bash does not have. */
const bareBash = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
    words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
    cur=\${words[cword]} prev=\${words[cword-1]}
}`;

/**
 * `lemniscate completion bash|zsh|fish|powershell` prints the script that the shell sources. To be registered last: it
 * reads the commands and options that are there.
 */
export function registerCompletion(program: Command): void {
  tab(program, { completionCommandName: 'completion' });
  const completion = program.commands.find((command) => command.name() === 'completion');
  completion?.hook('preAction', (_program, { args: [shell] }) => {
    if (shell === 'bash') console.log(bareBash);
  });
}
