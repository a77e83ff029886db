import { refusedNames } from './grammar-scripts.ts';
import type { Random } from './random.ts';

/** Variables that bash keeps as whole numbers: what they are set to is evaluated. */
const specials: readonly string[] = ['RANDOM', 'SRANDOM', 'SECONDS', 'OPTIND', 'HISTCMD', 'LINENO'];

/**
 * A script in which code stands as text, in a subscript or in a value that is evaluated as arithmetic. Bash expands such
 * texts a second time; about two of three name a refused command.
 */
export function subscriptScript(random: Random): string {
  const code = substitution(random, random.chance(65) ? random.pick(refusedNames) : 'ls');
  return random.chance(55) ? subscript(random, written(random, code)) : evaluated(random, `a[${code}]`);
}

function substitution(random: Random, name: string): string {
  return random.pick([`$(${name} x)`, `\`${name} x\``, `\${y:-$(${name})}`, `b[$(${name} x)]`]);
}

/** The same text in another writing, so that the first reading leaves it alone. */
function written(random: Random, text: string): string {
  switch (random.below(7)) {
    case 0:
      return `$'${text.replace('$', '\\x24').replaceAll('`', '\\x60')}'`;
    case 1:
      return `"${text.replace(/[$`]/g, '\\$&')}"`;
    case 2:
      return `0'${text}'`;
    case 3:
      return `b['${text}']`;
    case 4:
      return text;
    default:
      return `'${text}'`;
  }
}

function subscript(random: Random, place: string): string {
  return random.pick([
    `a[${place}]=1`,
    `a[${place}]+=1`,
    `a=([${place}]=1)`,
    `declare -a a=([${place}]=1)`,
    `declare a[${place}]=1`,
    `export b; echo \${a[${place}]}`,
    `echo "\${a[${place}]:-x}"`,
    `echo \${#a[${place}]} \${!a[${place}]}`,
    `cat <<E\n\${a[${place}]}\nE`,
    `let a[${place}]=1`,
    `(( a[${place}] ))`,
    `[ -v a[${place}] ]`,
    `[[ -v a[${place}] ]]`,
    `f() { local a[${place}]=1; }; f`,
    `case \${a[${place}]} in x) ls;; esac`,
  ]);
}

function evaluated(random: Random, text: string): string {
  const special = random.pick(specials);
  const [head, tail] = [text.slice(0, 2), text.slice(2)];
  return random.pick([
    `${special}='${text}'`,
    `${special}+='${text}'`,
    `export ${special}='${text}'`,
    `i='${text}'; ${special}=i`,
    `for ${special} in '${text}'; do ls; done`,
    `: \${${special}:='${text}'}`,
    `i='${text}'; x=([i]=1)`,
    `i='${text}'; x[i]=1`,
    `i='${text}'; echo \${x:i} \${x[i]}`,
    `i='${text}'; ((i)); ls`,
    `i='${text}'; [[ i -eq 1 ]]`,
    `y='${tail}'; i="${head}$y"; ((i))`,
    `y='${text.slice(2, -1)}'; i="a[$y]"; echo $((i))`,
    `i=a; i+='${text.slice(1)}'; let i`,
    `declare -i i='${text}'`,
    `f() { echo $(( $1 )); }; f '${text}'`,
  ]);
}
