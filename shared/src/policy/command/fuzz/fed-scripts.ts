import { harmlessNames, refusedNames, spelled } from './grammar-scripts.ts';
import type { Random } from './random.ts';

/** A script that gives shell code to a shell, a trap or a wrapper as a text; about every other text is refused. */
export function fedScript(random: Random): string {
  const script = handed(random, code(random));
  const after = random.chance(30) ? `; ${random.pick(harmlessNames)}` : '';
  return random.chance(15) ? `( ${script}\n)` : `${script}${script.includes('\n') ? '' : after}\n`;
}

/** Without quotes of its own, so that it stands inside any of them. */
function code(random: Random): string {
  const count = 1 + random.below(2);
  return Array.from({ length: count }, () => command(random)).join(
    random.pick(['; ', ' && ', ' || ', ' | ']),
  );
}

function command(random: Random): string {
  const name = random.chance(30) ? random.pick(refusedNames) : random.pick(harmlessNames);
  const before = random.pick(['', '', '', 'env ', 'timeout 5 ', 'nice -n 2 ', 'A=1 ', '! ', 'command ']);
  return `${before}${name}${random.pick(['', ' a', ' -l'])}`;
}

function shell(random: Random): string {
  const name = random.pick(['sh', 'bash']);
  return (
    random.pick(['', '', 'env ', 'timeout 5 ', 'nohup ']) + (random.chance(30) ? spelled(random, name) : name)
  );
}

function printed(random: Random, text: string): string {
  const echo = random.pick([
    `echo '${text}'`,
    `echo "${text}"`,
    `printf '%s\\n' '${text}'`,
    `printf '${text}'`,
  ]);
  return random.pick([
    echo,
    `{ ${echo}; }`,
    `(${echo})`,
    `for i in 1; do ${echo}; done`,
    `if :; then ${echo}; fi`,
    `case x in x) ${echo};; esac`,
    `: && ${echo}`,
    `{ echo ls; ${echo}; }`,
  ]);
}

function handed(random: Random, text: string): string {
  const to = shell(random);
  switch (random.below(16)) {
    case 0:
    case 1:
      return `${to} -c '${text}'`;
    case 2:
      return `${printed(random, text)} | ${to}`;
    case 3:
      return `${to} ${random.pick(['', '-s ', '/dev/stdin '])}<<< '${text}'`;
    case 4:
      return `${to} ${random.pick(['', '-s '])}<<'E'\n${text}\nE`;
    case 5:
      return `${to} -c "$(cat <<'E'\n${text}\nE\n)"`;
    case 6:
      return `${to} -c "$(echo '${text}')"`;
    case 7:
      return `${random.pick(['. ', 'source ', 'bash '])}<(${printed(random, text)})`;
    case 8:
      return `trap '${text}' EXIT`;
    case 9:
      return `x='${text}'; ${to} -c "$x"`;
    case 10:
      return `echo '${text}' | xargs -I{} ${to} -c '{}'`;
    case 11:
      return `echo a | xargs -I{} ${command(random)} {}`;
    case 12:
      return `find . -maxdepth 0 -exec ${to} -c '${text}' \\;`;
    case 13:
      return `${to} -c '"$@"' _ ${command(random)}`;
    case 14:
      return `${to} -${random.pick(['e', 'u', 'x', 'l', ''])}c '${text}' a b`;
    default:
      return `${to} -c "bash -c '${text}'"`;
  }
}
