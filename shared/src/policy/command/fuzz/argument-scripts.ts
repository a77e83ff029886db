import { grammarScript, spelled } from './grammar-scripts.ts';
import type { Random } from './random.ts';

/**
 * Calls that are refused by what stands behind the name, and their harmless twins. None could do harm if a real program
 * were reached: the run is unprivileged, and the paths do not exist.
 */
const calls: readonly {
  readonly name: string;
  readonly refused: readonly string[];
  readonly plain: readonly string[];
}[] = [
  {
    name: 'chmod',
    refused: ['777', '0777', 'a+w', 'o=rwx', 'u+s', '4755'],
    plain: ['755', 'u+x', 'o-w', '644'],
  },
  { name: 'chown', refused: ['root', '0', 'root:root', ':0'], plain: ['nobody', 'a:b', '1000'] },
  { name: 'mkdir', refused: ['-m777', '--mode=0777'], plain: ['-p', '-m755'] },
  {
    name: 'rm',
    refused: ['/etc/absent-fuzz', '/usr/absent-fuzz', '/etc/../usr/absent-fuzz'],
    plain: ['absent', './a/b'],
  },
  { name: 'tee', refused: ['/dev/absent-fuzz'], plain: ['absent', '/dev/null'] },
];

/** Names whose stubs note their arguments too. */
export const argumentNames: readonly string[] = calls.map(({ name }) => name);

/** Stands between name and arguments in the notes of the stubs. */
export const separator = '\u0001';

/** Whether a call that really happened is one that is refused. */
export function isRefusedCall(noted: string): boolean {
  const [name, ...given] = noted.split(separator);
  const known = calls.find((call) => call.name === name);
  if (known === undefined) return false;
  // the first operand decides for modes and owners; a path is refused wherever it stands
  const operands = name === 'chmod' || name === 'chown' ? given.slice(0, 1) : given;
  return operands.some((word) => known.refused.includes(word));
}

/** A script of the grammar in which some harmless calls became calls that their arguments decide on. */
export function argumentScript(random: Random): string {
  return grammarScript(random).replace(/(?<![\w'"\\$}./-])(ls|wc|sort)(?=[ \n;)]|$)/g, (name: string) =>
    random.chance(60) ? argumentCall(random) : name,
  );
}

function argumentCall(random: Random): string {
  const { name, refused, plain } = random.pick(calls);
  const argument = random.pick(random.chance(40) ? refused : plain);
  if (random.chance(25)) return handedOver(random, name, argument);
  const [before, written] = writtenAs(random, argument);
  return `${before}${random.chance(30) ? spelled(random, name) : name} ${written} zz`;
}

/** The argument reaches the call through a parameter, a builtin that reads, or `IFS`. */
function handedOver(random: Random, name: string, text: string): string {
  const forms = [
    `set -- ${text}; ${name} "$1" zz`,
    `set -- ${text} zz; ${name} "$@"`,
    `fz() { ${name} "$1" zz; }; fz ${text}`,
    `fz() { ${name} "$@"; }; fz ${text} zz`,
    `read -r V <<< ${text}; ${name} "$V" zz`,
    `read -r V U <<< "${text} zz"; ${name} $V $U`,
    `echo ${text} | while read -r V; do ${name} "$V" zz; done`,
    `while read -r V; do ${name} "$V" zz; done < <(printf '%s\\n' ${text})`,
    `IFS=_; V=${text}_zz; ${name} $V`,
    `V=(${text} zz); ${name} "\${V[@]}"`,
  ];
  return random.pick(forms);
}

/** The argument in other writing: through quotes, a variable, a default, braces, a substitution. */
function writtenAs(random: Random, text: string): readonly [before: string, written: string] {
  switch (random.below(9)) {
    case 0:
      return [`V=${text}; `, '$V'];
    case 1:
      return [`V='${text}'; `, '"${V}"'];
    case 2:
      return ['', `\${Q:-${text}}`];
    case 3:
      return ['', `"$(echo ${text})"`];
    case 4:
      return ['', `{${text},${text}}`];
    case 5:
      return ['', `${text.slice(0, 1)}"${text.slice(1)}"`];
    case 6:
      return [`V=${text.slice(1)}; `, `${text.slice(0, 1)}$V`];
    default:
      return ['', random.chance(50) ? text : `'${text}'`];
  }
}
