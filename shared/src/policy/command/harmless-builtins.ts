import { variableDoubt } from './hardening/variables.ts';
import type { Call } from './refused/call.ts';
import { isKnown, mark } from './syntax/marks.ts';

type Fits = (operands: readonly string[]) => boolean;

const anything: Fits = () => true;
const atMostOne: Fits = (operands) => operands.length <= 1;

/** Names that are only removed; without a subscript, for that is evaluated. */
const plainNames: Fits = (operands) =>
  operands.every(
    (word) =>
      /^-[fv]+$/.test(word) ||
      (isKnown(word) && /^[A-Za-z_]\w*$/.test(word) && variableDoubt(word, mark.unknown) === undefined),
  );

/**
 * Builtins that steer the script itself and neither run nor write anything; what their words expand is judged on
 * its own, and so is the code of `trap`.
 */
const harmless: Readonly<Record<string, Fits>> = {
  ':': anything,
  exit: atMostOne,
  return: atMostOne,
  break: atMostOne,
  continue: atMostOne,
  wait: (operands) => operands.every((word) => !/^-[a-z]*p/.test(word)),
  unset: plainNames,
  trap: anything,
};

/**
 * Whether the call does nothing that a free command would have to allow.
 * @param source a script that defines a function of that name means the function
 */
export function isHarmlessBuiltin({ words }: Call, source: string): boolean {
  const [name = '', ...operands] = words;
  const fits = Object.hasOwn(harmless, name) ? harmless[name] : undefined;
  if (fits === undefined || !fits(operands)) return false;
  const before = source.indexOf(`${name}(`);
  return before < 0 && !source.includes(`${name} (`) && !source.includes(`function ${name}`);
}
