/** A line without its end; `text` is absent when it was longer than the bound, whose rest is skipped. */
export interface Line {
  readonly number: number;
  readonly text: string | undefined;
}

/** Reads lines of UTF-8 one by one and holds no more than one of the longest allowed length, in UTF-16 units. */
export async function* readLines(
  input: AsyncIterable<string | Uint8Array>,
  maxLength: number,
): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let held = '';
  let skipping = false;
  let number = 0;
  for await (const chunk of input) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = held + text.slice(from, end);
      number += 1;
      yield { number, text: skipping || line.length > maxLength ? undefined : line };
      held = '';
      skipping = false;
      from = end + 1;
    }
    if (!skipping) held += text.slice(from);
    if (held.length > maxLength) {
      held = '';
      skipping = true;
    }
  }
  held += decoder.decode();
  if (held !== '' || skipping) yield { number: number + 1, text: skipping ? undefined : held };
}
