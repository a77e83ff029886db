import { writeText } from './file-content.ts';
import { failure } from './tool.ts';
import type { Tool } from './tool.ts';

export const writeFile: Tool<'write_file'> = {
  title: (input) => input.path,
  run: async ({ path, content }, context) => {
    const fault = await writeText(context, path, content);
    if (fault !== null) return failure(fault);
    return { isError: false, text: `Wrote ${Buffer.byteLength(content)} bytes to ${path}.` };
  },
};
