import type { Random } from './random.ts';

/**
 * Pieces of shell syntax without meaning as a whole. There is no slash, so that no program outside the stub folder
 * can be named, and no loop without an end.
 */
const tokens: readonly string[] = [
  'sudo|su|doas|ls|echo|x|a=1|x=|E|1|-n|su|do|sud|o',
  ' | | | |\n|\n|\t|\\\n|\\|\r',
  ';|&&|&|;;|!|(|)|{ |}|()| () |((|))|[[ | ]]|[|]',
  '$|$(|`|${|:-|}|$((|$[|$@|$x|${x}|$"|$\'|"|\'|""|\'\'|#| #|~|*|?',
  "<<E|<<-E|<<'E'|\nE\n|<<<|<(|>(|<|>|2>&1|>&|{a,b}|{|,|@(|\\x73|\\163",
  'if | then | fi| else |for x in | do | done|case x in | esac| in |function f |f()|time |coproc |select x in ',
  "eval |exec |command |builtin |env |alias |declare |let |export |-c |bash -c '|trap ",
]
  .flatMap((row) => row.split('|'))
  .concat(['|', '||', '|&', ' | ']);

/** A random row of tokens. Most are no scripts; those that bash half runs are what the judge must not trust. */
export function tokenScript(random: Random): string {
  const length = 2 + random.below(14);
  return Array.from({ length }, () => random.pick(tokens)).join('');
}
