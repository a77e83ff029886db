import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';

/**
 * `lemniscate completion bash|zsh|fish|powershell` prints the script that the shell sources. To be registered last: it
 * reads the commands and options that are there.
 */
export function registerCompletion(program: Command): void {
  tab(program, { completionCommandName: 'completion' });
}
