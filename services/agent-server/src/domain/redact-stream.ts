/** Takes a stream's bytes piece by piece and gives them back with every secret in them replaced. */
export interface RedactedStream {
  push(bytes: Uint8Array): Buffer;
  /** What was held back because a secret might have begun in it. */
  end(): Buffer;
}

/** A text that must not be shown, and what stands in its place. */
interface Needle {
  readonly bytes: Buffer;
  readonly shown: Buffer;
  /** Of each prefix, how long its longest proper prefix is that also ends it (Knuth, Morris, Pratt). */
  readonly borders: readonly number[];
}

/** Encoded forms shorter than this would be found in ordinary text. */
const shortest = 8;

/**
 * Hides the values of credentials in output, as they are and as programs usually encode them. Who wants to get one past
 * this can; it keeps what is printed by mistake out of every log and out of the model's sight.
 * @param secrets values by name
 */
export function createRedaction(secrets: Readonly<Record<string, string>>): () => RedactedStream {
  const needles = Object.entries(secrets).flatMap(([name, value]) =>
    formsOf(value).map((form) => needleOf(form, `[credential:${name}]`)),
  );
  return () => openStream(needles);
}

function formsOf(value: string): string[] {
  const base64 = Buffer.from(value).toString('base64');
  const forms = [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    base64.replace(/=+$/, ''),
    Buffer.from(value).toString('base64url'),
  ];
  return [...new Set(forms)].filter((form) => form.length >= shortest);
}

function needleOf(text: string, shown: string): Needle {
  const bytes = Buffer.from(text);
  const borders = [0];
  for (let at = 1, length = 0; at < bytes.length; at += 1) {
    while (length > 0 && bytes[at] !== bytes[length]) length = borders[length - 1] ?? 0;
    if (bytes[at] === bytes[length]) length += 1;
    borders.push(length);
  }
  return { bytes, shown: Buffer.from(shown), borders };
}

/** Bytes at the end that may be the beginning of the needle; costs no more than the needle is long. */
function begunAtEnd(bytes: Buffer, needle: Needle): number {
  let length = 0;
  for (let at = Math.max(0, bytes.length - needle.bytes.length + 1); at < bytes.length; at += 1) {
    while (length > 0 && bytes[at] !== needle.bytes[length]) length = needle.borders[length - 1] ?? 0;
    if (bytes[at] === needle.bytes[length]) length += 1;
  }
  return length;
}

function openStream(needles: readonly Needle[]): RedactedStream {
  let held: Buffer = Buffer.alloc(0);
  return {
    push: (bytes) => {
      const { done, rest } = replaceAll(
        held.length === 0 ? Buffer.from(bytes) : Buffer.concat([held, bytes]),
      );
      const keep = Math.max(0, ...needles.map((needle) => begunAtEnd(rest, needle)));
      held = rest.subarray(rest.length - keep);
      return Buffer.concat([...done, rest.subarray(0, rest.length - keep)]);
    },
    end: () => {
      const last = held;
      held = Buffer.alloc(0);
      return last;
    },
  };

  function replaceAll(text: Buffer): { done: Buffer[]; rest: Buffer } {
    const done: Buffer[] = [];
    let rest = text;
    for (let found = first(rest); found !== null; found = first(rest)) {
      done.push(rest.subarray(0, found.at), found.needle.shown);
      rest = rest.subarray(found.at + found.needle.bytes.length);
    }
    return { done, rest };
  }

  function first(text: Buffer): { at: number; needle: Needle } | null {
    const found = needles
      .map((needle) => ({ at: text.indexOf(needle.bytes), needle }))
      .filter(({ at }) => at >= 0)
      .toSorted((one, other) => one.at - other.at || other.needle.bytes.length - one.needle.bytes.length);
    return found[0] ?? null;
  }
}
