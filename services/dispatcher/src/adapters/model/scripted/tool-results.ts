const numbered = /^\s*(\d+)(?:\t|→| *\| |: )(.*)$/s;

/**
 * The file's own text out of a `read_file` result. Lines are numbered there; the numbers must run, or the text is
 * taken as it stands. Anything before the first or after the last numbered line is the tool's own remark.
 */
export function readFileText(result: string): string {
  const lines = result.split('\n').map((line) => numbered.exec(line));
  const first = lines.findIndex((line) => line !== null);
  const last = lines.findLastIndex((line) => line !== null);
  if (first < 0) return result;
  const body = lines.slice(first, last + 1);
  const start = Number(body[0]?.[1]);
  const runs = body.every((line, index) => line !== null && Number(line[1]) === start + index);
  return runs ? body.map((line) => line?.[2] ?? '').join('\n') : result;
}

/** Relative file paths out of a `list_files` result: one a line; folders end with `/`, links with `@`. */
export function listedFiles(result: string): string[] {
  return result
    .split('\n')
    .map((line) => (line.trim().split(/\t| {2,}| \(/)[0] ?? '').replace(/^(?:\.\/|\/workspace\/)/, ''))
    .filter((path) => path !== '' && !/[/@]$/.test(path) && /^[^\s:]+$/.test(path));
}

/** Whether a short error says that a person or a policy did not allow the call. */
export function saysRefused(result: string): boolean {
  return (
    result.length < 600 &&
    /\b(?:reject|refus|denied|forbidden|disabled|not (?:permitted|allowed))/i.test(result)
  );
}
