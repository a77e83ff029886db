import { makeVisible, makeVisibleLine } from '@lemniscate/shared/text/visible.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { OutgoingNotice } from '../../application/ports/notifier.ts';

/** An agent's comment on its way to the thing that its object is a picture of. */
export interface CarriedComment {
  /** Id of the comment here. */
  readonly id: string;
  readonly by: string;
  readonly body: string;
  /** Name of the thing in its own system, such as `owner/repository#12`. */
  readonly key: string;
  /** Name of the thread there; empty: none. */
  readonly thread: string;
}

/** The comment of a message; null for one that holds none. */
export function carriedComment({ data }: OutgoingNotice): CarriedComment | null {
  const text = (name: string): string => {
    const value: JsonValue | undefined = Object.hasOwn(data, name) ? data[name] : undefined;
    return typeof value === 'string' ? value : '';
  };
  const [id, key] = [text('comment'), text('sourceKey')];
  if (id === '' || key === '') return null;
  return {
    id,
    key,
    by: makeVisibleLine(text('by')),
    body: makeVisible(text('body')),
    thread: text('thread'),
  };
}

/** Stands between `@` and a name, and before `/`, and is seen by nobody. */
const gap = '\u200B';

/**
 * An agent's words as words: programs that read comments take `@dependabot merge` or `/approve` for the command of the
 * account that writes them, in code too, and GitLab carries lines out that begin with `/`.
 */
export function withoutCommands(text: string): string {
  return text.replaceAll(/(?<!\w)@(?=\w)/g, `@${gap}`).replaceAll(/^([^\S\n]*)\/(?=\w)/gm, `$1${gap}/`);
}

/** As Markdown, with a mark that is not shown: the comment is known by it when the system's webhook tells of it. */
export function commentMarkdown({ by, body, id }: CarriedComment): string {
  return `**${withoutCommands(by)}**\n\n${withoutCommands(body)}\n\n<!-- lemniscate:${id} -->`;
}
