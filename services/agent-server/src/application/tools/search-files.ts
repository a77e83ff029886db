import { cut } from '../text-stream.ts';
import { explain, operand, runProgram } from './sandbox-program.ts';
import { failure } from './tool.ts';
import type { Tool } from './tool.ts';

const maxBytes = 64 * 1024;
const maxMatchesOfAFile = '200';
const maxLineLength = 400;

/** grep rather than a faster searcher: it is in every root, and its extended expressions are what the catalogue promises. */
export const searchFiles: Tool<'search_files'> = {
  title: (input) => (input.path === undefined ? input.pattern : `${input.pattern} in ${input.path}`),
  run: async ({ pattern, path = '.' }, context) => {
    const argv = [
      'grep',
      '-rnIE',
      '-D',
      'skip',
      '-m',
      maxMatchesOfAFile,
      '--exclude-dir=.git',
      '--exclude-dir=.hg',
      '--exclude-dir=.svn',
      '--exclude-dir=node_modules',
      '-e',
      pattern,
      '--',
      operand(path),
    ];
    const run = await runProgram(context, argv, maxBytes);
    const lines = run.stdout
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '');
    if (lines.length === 0) {
      return run.end.exitCode === 1 ? { isError: false, text: 'No match.' } : failure(explain(run, path));
    }
    if (run.truncated) lines.pop();
    const shown = lines.map((line) => shorten(line.replace(/^(\.\/)+/, '')));
    return {
      isError: false,
      text: [...shown, ...(run.truncated ? ['(There are more matches; narrow the search.)'] : [])].join('\n'),
    };
  },
};

const shorten = (line: string) => (line.length > maxLineLength ? `${cut(line, maxLineLength)} …` : line);
