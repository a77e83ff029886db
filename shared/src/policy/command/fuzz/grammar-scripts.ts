import type { Random } from './random.ts';

/** Programs that a free list covers in the fuzz run. */
export const harmlessNames: readonly string[] = ['ls', 'cat', 'wc', 'grep', 'sort'];
/** Programs that must never run in a script that was let pass. */
export const refusedNames: readonly string[] = ['sudo', 'su', 'doas', 'modprobe', 'iptables'];
/** Real programs that run another one. */
export const wrapperNames: readonly string[] = [
  'env',
  'timeout',
  'nohup',
  'nice',
  'xargs',
  'find',
  'bash',
  'sh',
];

const maxDepth = 3;

/** A script that bash runs, of every construct that can hold a command; about every third names a refused one. */
export function grammarScript(random: Random): string {
  return lines(random, 0);
}

function lines(random: Random, depth: number): string {
  const count = 1 + random.below(depth === 0 ? 3 : 2);
  let text = '';
  for (let index = 0; index < count; index += 1) {
    const line = statement(random, depth);
    text += line.endsWith('\n')
      ? line
      : line + random.pick(['\n', '\n', ';', ' ; ', ' # sudo x\n', ' &\n', '\n\n']);
  }
  return text;
}

function statement(random: Random, depth: number): string {
  if (depth >= maxDepth) return simple(random, depth);
  const one = () => simple(random, depth + 1);
  const body = () => lines(random, depth + 1);
  switch (random.below(22)) {
    case 0:
      return chain(random, [one(), one()], ['&&', '||', ' && ', ' || ', '|', ' | ', ' |& ']);
    case 1:
      return `(${blank(random)}${body()})`;
    case 2:
      return `{ ${body()}}`;
    case 3:
      return `if ${body()}then ${body()}fi`;
    case 4:
      return `if ls; then ${body()}else ${body()}fi`;
    case 5:
      return `for x in ${word(random, depth + 1)} b; do ${body()}done`;
    case 6:
      return `while ${oneLine(random, depth)}; ! :; do ${body()}done`;
    case 7:
      return `case ${word(random, depth + 1)} in ${random.pick(['*', 'a|*', '(*'])}) ${body()}${random.pick([';;', ';&', ''])} esac`;
    case 8:
      return `f() { ${body()}}; f ${word(random, depth + 1)}`;
    case 9:
      return `function g ${random.pick(['', '() '])}( ${body()}); g`;
    case 10:
      return `coproc { ${body()}} </dev/null\nwait`;
    case 11:
      return `[[ ${random.pick(['-n', '-z', '! -n'])} ${word(random, depth + 1)} ]]`;
    case 12:
      return `[[ ${word(random, depth + 1)} == ${word(random, depth + 1)} || a =~ ${substitution(random, depth + 1)} ]]`;
    case 13:
      return `(( ${substitution(random, depth + 1)} + 1 ))`;
    case 14:
      return `for ((i=0; i<1; i++)); do ${body()}done`;
    case 15:
      return `! ${one()}`;
    case 16:
      return `time ${random.pick(['', '-p '])}${one()}`;
    case 17:
      return `v=${word(random, depth + 1)}`;
    case 18:
      return `a=(${word(random, depth + 1)} ${word(random, depth + 1)})`;
    case 19:
      return hereDocument(random, depth);
    default:
      return one();
  }
}

function oneLine(random: Random, depth: number): string {
  return simple(random, depth + 1).replaceAll('\n', ' ');
}

function chain(random: Random, parts: readonly string[], operators: readonly string[]): string {
  return parts.reduce(
    (left, right) => `${left}${random.pick(operators)}${random.chance(10) ? '\n' : ''}${right}`,
  );
}

function simple(random: Random, depth: number): string {
  const prefix = random.chance(12) ? `${random.pick(['A=1', 'B=x', `C=${word(random, depth + 1)}`])} ` : '';
  const early = random.chance(8) ? `${redirection(random, depth)} ` : '';
  const head = prefix + early + wrapper(random, depth) + spelled(random, name(random));
  const args = Array.from({ length: random.below(3) }, () => blank(random) + word(random, depth + 1)).join(
    '',
  );
  const late = random.chance(20) ? ` ${redirection(random, depth)}` : '';
  return head + args + late;
}

function name(random: Random): string {
  if (random.chance(10)) return random.pick(refusedNames);
  return random.pick(harmlessNames);
}

function wrapper(random: Random, depth: number): string {
  if (!random.chance(18)) return '';
  const inner = depth < maxDepth && random.chance(20) ? wrapper(random, depth + 1) : '';
  return (
    random.pick([
      'env ',
      'env -i A=1 ',
      'env -u A ',
      'command ',
      'command -p ',
      'timeout 5 ',
      'timeout -s KILL 5 ',
      'nohup ',
      'nice ',
      'nice -n 2 ',
      'xargs ',
      'xargs -n 1 ',
      'find . -maxdepth 0 -exec ',
      '\\',
      '$(:) ',
      '$EMPTY ',
    ]) + inner
  );
}

/** The same name in other writing. */
export function spelled(random: Random, text: string): string {
  const at = 1 + random.below(text.length - 1);
  const [head, tail] = [text.slice(0, at), text.slice(at)];
  switch (random.below(16)) {
    case 0:
      return `'${text}'`;
    case 1:
      return `"${text}"`;
    case 2:
      return `${head}\\${tail}`;
    case 3:
      return `${head}''${tail}`;
    case 4:
      return `${head}"${tail}"`;
    case 5:
      return `$'${head}\\x${tail.charCodeAt(0).toString(16)}${tail.slice(1)}'`;
    case 6:
      return `$"${text}"`;
    case 7:
      return `${head}\\\n${tail}`;
    case 8:
      return `{${text},x}`;
    case 9:
      return `${text}$IFS`;
    default:
      return text;
  }
}

function word(random: Random, depth: number): string {
  if (depth >= maxDepth) return random.pick(['a', 'b1', '-x', "'q'", '"d"', '$x', '*']);
  switch (random.below(20)) {
    case 0:
    case 1:
      return substitution(random, depth);
    case 2:
      return `"a ${substitution(random, depth)} b"`;
    case 3:
      return `\${x:-${word(random, depth + 1)}}`;
    case 4:
      return `"\${x:-${substitution(random, depth)}}"`;
    case 5:
      return random.chance(50)
        ? `\${y/a/${substitution(random, depth)}}`
        : `\${y/${substitution(random, depth)}/a}`;
    case 6:
      return `$((1 + ${substitution(random, depth)}0))`;
    case 7:
      return `{a,${word(random, depth + 1)}}`;
    case 8:
      return `<(${lines(random, depth + 1)})`;
    case 9:
      return `'${random.pick(['$(sudo x)', '`sudo x`', '; sudo x', 'a b'])}'`;
    case 10:
      return random.pick(['"$@"', '${#x}', '${!x}', '"${a[@]}"', '$?', '${x^^}', '~', '\\$\\(su\\)']);
    case 11:
      return `a${word(random, depth + 1)}`;
    default:
      return random.pick([
        'a',
        'b.txt',
        '-l',
        '--long=x',
        '"a b"',
        "'c d'",
        '$x',
        '*.t',
        'sudo',
        'a#b',
        'd/e',
      ]);
  }
}

function substitution(random: Random, depth: number): string {
  const inside = lines(random, depth + 1);
  if (!/[`\\$"]/.test(inside) && random.chance(40)) return `\`${inside}\``;
  return random.chance(8) ? `$(${blank(random)}${inside.trimEnd()}\n)` : `$(${inside})`;
}

function redirection(random: Random, depth: number): string {
  return random.pick([
    '>/dev/null',
    '2>&1',
    '</dev/null',
    '2>/dev/null',
    `<<< ${word(random, depth + 1)}`,
    `< <(${lines(random, depth + 1)})`,
    '>&2',
  ]);
}

function hereDocument(random: Random, depth: number): string {
  const quoted = random.chance(30);
  const delimiter = quoted ? random.pick(["'E'", '"E"', '\\E']) : 'E';
  const inside = random.pick([
    substitution(random, depth + 1),
    `"${substitution(random, depth + 1)}"`,
    `'${substitution(random, depth + 1)}'`,
    `\${x:-${substitution(random, depth + 1)}}`,
    'text',
  ]);
  const after = random.chance(30) ? ` ${random.pick(['&&', ';', '|'])} ${oneLine(random, depth)}` : '';
  const start = random.pick([`cat <<${delimiter}`, `cat <<-${delimiter}`, `<<${delimiter} cat`]);
  return `${start}${after}\nx ${inside}\nE\n`;
}

function blank(random: Random): string {
  return random.pick([' ', ' ', ' ', '  ', '\t', ' \\\n']);
}
