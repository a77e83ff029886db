/** One file's part of a git patch. A file whose kind changes (a link becomes a file) has two parts. */
interface PatchPart {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

const header = new TextEncoder().encode('diff --git ');
const lineFeed = 10;

/**
 * The parts of a git patch that belong to the named files, as they stand in it. The patch must have the prefixes `a/`
 * and `b/`. A renamed file goes by its new name.
 * @throws Error for a header that cannot be read: a part that nobody can name must not travel unseen
 */
export function selectFiles(patch: Uint8Array, paths: ReadonlySet<string>): Uint8Array {
  const kept = partsOf(patch).filter((part) => paths.has(part.path));
  const whole = new Uint8Array(kept.reduce((length, part) => length + part.to - part.from, 0));
  let at = 0;
  for (const { from, to } of kept) {
    whole.set(patch.subarray(from, to), at);
    at += to - from;
  }
  return whole;
}

function partsOf(patch: Uint8Array): PatchPart[] {
  const starts: number[] = [];
  for (let at = 0; at >= 0 && at < patch.length;) {
    if (startsWith(patch, at, header)) starts.push(at);
    const end = patch.indexOf(lineFeed, at);
    at = end < 0 ? -1 : end + 1;
  }
  return starts.map((from, index) => {
    const to = starts[index + 1] ?? patch.length;
    return { from, to, path: pathOf(patch.subarray(from, to)) };
  });
}

function startsWith(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let index = 0; index < wanted.length; index += 1)
    if (bytes[at + index] !== wanted[index]) return false;
  return true;
}

/** Git's extended header lines end before the first hunk or binary part; names that are long end earlier still. */
const headLength = 64 * 1024;

function pathOf(part: Uint8Array): string {
  const lines = new TextDecoder().decode(part.subarray(0, headLength)).split('\n');
  for (const line of lines.slice(1)) {
    if (/^(@@|GIT binary patch|Binary files|--- )/.test(line)) break;
    const renamed = /^(?:rename|copy) to (.*)$/.exec(line)?.[1];
    if (renamed !== undefined) return unquote(renamed);
  }
  const names = (lines[0] ?? '').slice(header.length);
  if (names.startsWith('"')) {
    const second = /^"(?:\\.|[^"\\])*" ("(?:\\.|[^"\\])*")$/.exec(names)?.[1];
    if (second !== undefined) return unquote(second).slice(2);
  } else {
    // without a rename both names are the same: `a/PATH b/PATH`
    const length = (names.length - 5) / 2;
    const path = names.slice(2, 2 + length);
    if (Number.isInteger(length) && names === `a/${path} b/${path}`) return path;
  }
  throw new Error(`the patch has a header that cannot be read: ${JSON.stringify(lines[0]?.slice(0, 200))}`);
}

const escapes: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  '\\': 92,
};

/** Git's C-style quoting of unusual names: bytes beyond ASCII are octal. */
function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  const bytes: number[] = [];
  for (const found of text.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    const [, octal, escaped, plain] = found;
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (escaped !== undefined) bytes.push(escapes[escaped] ?? 63);
    else bytes.push(...new TextEncoder().encode(plain ?? ''));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
