import {
  extraOffset,
  missingCall,
  missingMinus,
  monthFromZero,
  missingOffset,
  swappedArguments,
  wrongBound,
  wrongMethod,
  wrongProperty,
  wrongVariable,
} from './mutate-calls.ts';
import { wrongBoolean, wrongDefault, wrongNumber, wrongPattern, wrongString } from './mutate-literals.ts';
import {
  swappedBranches,
  swappedOperands,
  wrongNegation,
  wrongOperator,
  wrongUpdate,
} from './mutate-operators.ts';
import {
  extraWrap,
  missingMember,
  missingTerm,
  missingWrap,
  swappedParameters,
  wrongName,
} from './mutate-names.ts';
import {
  invertedCondition,
  missingEnd,
  missingReturn,
  missingStatement,
  wrongKeyword,
} from './mutate-statements.ts';
import type { MutationClass } from './mutation.ts';

/** The table of known fault classes; each name is what a summary calls the repair. */
export const mutationClasses: Readonly<Record<string, MutationClass>> = {
  'wrong operator': wrongOperator,
  'swapped operands': swappedOperands,
  'wrong negation': wrongNegation,
  'wrong step': wrongUpdate,
  'swapped branches': swappedBranches,
  'wrong boolean': wrongBoolean,
  'wrong number': wrongNumber,
  'wrong text': wrongString,
  'wrong pattern': wrongPattern,
  'wrong default': wrongDefault,
  'wrong method': wrongMethod,
  'swapped arguments': swappedArguments,
  'wrong bound': wrongBound,
  'wrong offset': extraOffset,
  'missing offset': missingOffset,
  'month from zero': monthFromZero,
  'missing minus': missingMinus,
  'wrong property': wrongProperty,
  'wrong variable': wrongVariable,
  'missing or extra call': missingCall,
  'wrong name': wrongName,
  'swapped parameters': swappedParameters,
  'missing wrap': missingWrap,
  'extra wrap': extraWrap,
  'missing term': missingTerm,
  'missing member': missingMember,
  'missing return': missingReturn,
  'wrong keyword': wrongKeyword,
  'inverted condition': invertedCondition,
  'missing end': missingEnd,
  'missing statement': missingStatement,
};
