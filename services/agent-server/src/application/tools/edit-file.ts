import type { ToolArguments } from '@lemniscate/shared/tools/catalogue.ts';
import { editableBytes, readText, writeText } from './file-content.ts';
import { failure } from './tool.ts';
import type { Tool } from './tool.ts';

export const editFile: Tool<'edit_file'> = {
  title: (input) => input.path,
  run: async (input, context) => {
    const file = await readText(context, input.path);
    if (!file.ok) return failure(file.message);
    const edit = replaceText(file.text, input);
    if (!edit.ok) return failure(edit.message);
    if (Buffer.byteLength(edit.text) > editableBytes) {
      return failure(
        `${input.path} would become larger than ${editableBytes} bytes; change it with a command.`,
      );
    }
    const fault = await writeText(context, input.path, edit.text);
    if (fault !== null) return failure(fault);
    return {
      isError: false,
      text: `Replaced ${edit.count} occurrence${edit.count === 1 ? '' : 's'} in ${input.path}.`,
    };
  },
};

export type Replacement =
  | { readonly ok: true; readonly text: string; readonly count: number }
  | { readonly ok: false; readonly message: string };

/**
 * Replaces text that occurs exactly once, or everywhere where `replace_all` asks for it. The model sees lines without
 * carriage returns: in a file whose lines end in CR LF, its line feeds stand for CR LF.
 */
export function replaceText(content: string, input: ToolArguments<'edit_file'>): Replacement {
  if (input.old_text === input.new_text)
    return { ok: false, message: 'old_text and new_text are the same; nothing was changed.' };
  const [oldText, newText] = adaptLineEnds(content, input.old_text, input.new_text);
  const pieces = content.split(oldText);
  const count = pieces.length - 1;
  if (count === 0) {
    return {
      ok: false,
      message: `old_text does not occur in ${input.path}; read the file again and give the text exactly.`,
    };
  }
  if (count > 1 && input.replace_all !== true) {
    return {
      ok: false,
      message: `old_text occurs ${count} times in ${input.path}; give more of its surroundings or set replace_all.`,
    };
  }
  return { ok: true, text: pieces.join(newText), count };
}

function adaptLineEnds(content: string, oldText: string, newText: string): [string, string] {
  if (!content.includes('\r\n')) return [oldText, newText];
  const toCrLf = (text: string) => text.replace(/\r?\n/g, '\r\n');
  // A file with both kinds of line ends: where the text occurs as given, it is meant as given.
  if (content.includes(oldText)) return [oldText, oldText.includes('\n') ? newText : toCrLf(newText)];
  return [toCrLf(oldText), toCrLf(newText)];
}
