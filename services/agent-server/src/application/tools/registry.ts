import { editFile } from './edit-file.ts';
import { listFiles } from './list-files.ts';
import { readFile } from './read-file.ts';
import { runCommand } from './run-command.ts';
import { searchFiles } from './search-files.ts';
import type { ToolRegistry } from './tool.ts';
import { writeFile } from './write-file.ts';

/** The built-in tools by their catalogue names; see docs/adding-a-tool.md. */
export const tools: ToolRegistry = {
  read_file: readFile,
  write_file: writeFile,
  edit_file: editFile,
  list_files: listFiles,
  search_files: searchFiles,
  run_command: runCommand,
};
