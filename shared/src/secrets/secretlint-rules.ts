import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import type { SecretLintSourceCode } from '@secretlint/types';

/** Where a secret is in a text, in UTF-16 units. */
export interface FoundSecret {
  readonly kind: string;
  readonly from: number;
  readonly to: number;
}

/** Rules that speak of comments that switch secretlint off: a hostile text must not switch it off. */
const left: readonly string[] = ['@secretlint/secretlint-rule-filter-comments'];
const prefix = '@secretlint/secretlint-rule-';

let found: FoundSecret[] = [];

/**
 * Secretlint's recommended rules, run in this thread: its own engine is asynchronous, and a log line cannot wait. The rules
 * themselves are not (a test asserts it).
 */
const handlers = rules
  .filter((rule) => !left.includes(rule.meta.id))
  .map((rule) => {
    const kind = rule.meta.id.slice(prefix.length);
    return rule.create(
      {
        createTranslator: () => (messageId: string) => ({ message: messageId, messageId, data: {} }),
        ignore: () => undefined,
        report: ({ range }: { range: readonly number[] }) => {
          const [from = 0, to = 0] = range;
          found.push({ kind, from, to });
        },
      } as never,
      {},
    );
  });

/** Secrets that secretlint finds. */
export function findBySecretlint(text: string): readonly FoundSecret[] {
  found = [];
  const source = sourceOf(text);
  for (const handler of handlers) {
    const pending = handler.file?.(source);
    if (pending instanceof Promise) throw new TypeError('a rule of secretlint became asynchronous');
  }
  return found;
}

function sourceOf(content: string): SecretLintSourceCode {
  const place = { line: 1, column: 0 };
  const source: Partial<SecretLintSourceCode> = {
    filePath: 'text',
    content,
    ext: '',
    contentType: 'text',
    hasBOM: false,
    indexToPosition: () => place,
    positionToIndex: () => 0,
    rangeToLocation: () => ({ start: place, end: place }),
    locationToRange: () => [0, 0],
  };
  return source as SecretLintSourceCode;
}
