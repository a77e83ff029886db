import type { Random } from './random.ts';

/** Pieces that run a refused command wherever bash reads them as code. */
const refused: readonly string[] = [
  '$(sudo a/b)',
  '`su a`',
  ';doas a;',
  '\nsudo x\n',
  '|modprobe',
  '&&iptables a&&',
  '$(rm -rf /etc/absent-fuzz)',
  '`chmod 777 zz`',
  ';chown root zz;',
  '|tee /dev/absent-fuzz',
  '&&mkdir -m777 a&&',
];
/** Marks that shift what is code and what is text. */
const marks: readonly string[] = [
  '"',
  "'",
  '$(',
  '`',
  ')',
  '}',
  '${y/',
  '/',
  '\\',
  '#',
  ' ',
  '{',
  '<<E\n',
  '\nE\n',
  '$((',
  '))',
  '(',
  ';;',
  '&',
  '|',
  '${x:-',
  '[[ ',
  ' ]]',
  "$'",
];

/** A command with a refused one put in somewhere, and up to two marks that change how it is read. */
export function changedScript(command: string, random: Random): string {
  const put = (text: string, piece: string): string => {
    const at = random.below(text.length + 1);
    return text.slice(0, at) + piece + text.slice(at);
  };
  let text = put(command, random.pick(refused));
  for (let left = random.below(3); left > 0; left -= 1) text = put(text, random.pick(marks));
  return text;
}
