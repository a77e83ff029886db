import type { ApprovalView } from '@lemniscate/shared/api/session.ts';

/**
 * What exactly would be done, for the person who decides: the whole command; a change of a file as the lines that go and
 * the lines that come; of any other tool the whole arguments. Nothing is cut: what is approved is what was shown.
 */
export function describeChange({ arguments: args }: Pick<ApprovalView, 'arguments'>): string {
  const { command, path, old_text: before, new_text: after, content, ...rest } = args;
  if (typeof command === 'string' && Object.keys(args).length === 1) return command;
  if (typeof path !== 'string') return JSON.stringify(args, null, 2);
  const others = Object.keys(rest).length === 0 ? [] : [JSON.stringify(rest, null, 2)];
  if (typeof before === 'string' && typeof after === 'string')
    return [path, ...marked('-', before), ...marked('+', after), ...others].join('\n');
  if (typeof content === 'string')
    return [`${path} (the whole file)`, ...marked('+', content), ...others].join('\n');
  return JSON.stringify(args, null, 2);
}

function marked(sign: '-' | '+', text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  // a line feed at the end begins no line
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => `${sign} ${line}`);
}
