import type { MappedCall } from '../cli/reported-calls.ts';
import { insidePath } from '../cli/inside-path.ts';
import type { FileChange } from './protocol.ts';
import { unquote } from './unquote.ts';

const shellCall = /^(?:\/usr)?\/?(?:bin\/)?(?:ba|z)?sh -l?c (.+)$/s;

/**
 * A command of Codex in our words. It runs everything by a shell of its own; what is judged and shown is the script in it.
 */
export function mapCommand(command: string): MappedCall {
  const script = shellCall.exec(command)?.[1];
  return {
    tool: 'run_command',
    input: { command: (script === undefined ? null : unquote(script)) ?? command },
  };
}

/** A patch of Codex in our words: one call for each file that it touches, so that each is judged. */
export function mapChanges(changes: readonly FileChange[]): MappedCall[] {
  return changes.flatMap(({ path, kind, diff }) => {
    const moved = kind.move_path == null ? [] : [mapped(kind.move_path, kind.type, diff)];
    return [mapped(path, kind.type, diff), ...moved];
  });
}

function mapped(path: string, kind: string, diff: string): MappedCall {
  const inside = insidePath(path);
  if (kind === 'add') return { tool: 'write_file', input: { path: inside, content: diff } };
  if (kind === 'delete')
    return { tool: 'edit_file', input: { path: inside, old_text: '(the whole file)', new_text: '' } };
  const side = (dropped: string): string =>
    diff
      .split('\n')
      .filter((line) => !line.startsWith(dropped) && !line.startsWith('@@'))
      .map((line) => line.slice(1))
      .join('\n');
  const before = side('+');
  return {
    tool: 'edit_file',
    input: { path: inside, old_text: before === '' ? '(nothing)' : before, new_text: side('-') },
  };
}

/** Ids of the calls of one item: its own, and numbered ones where it touches several files. */
export function callIdsOf(itemId: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => (index === 0 ? itemId : `${itemId}.file${index + 1}`));
}
