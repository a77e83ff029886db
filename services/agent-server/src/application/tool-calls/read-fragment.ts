/**
 * What a request is about, read from the part of its arguments that has arrived: the beginning of the command, the path.
 * For display only: nothing is decided, proposed or run by it; the whole arguments are parsed once, strictly, for that.
 * @returns null where nothing of it can be read yet
 */
export function subjectSoFar(fragment: string): string | null {
  const member = /"(?:command|path|pattern|task|text)"\s*:\s*"((?:[^"\\]|\\.)*)/s.exec(fragment)?.[1];
  if (member === undefined) return null;
  const whole = member.replace(/\\u[0-9a-f]{0,3}$/i, '');
  try {
    return (JSON.parse(`"${whole}"`) as string).toWellFormed();
  } catch {
    // Cut inside an escape, or no JSON at all; the next piece may tell more.
    return null;
  }
}
