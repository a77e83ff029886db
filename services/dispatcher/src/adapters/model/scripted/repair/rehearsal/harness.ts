import { isHarmlessPattern } from './patterns.ts';
import { applyBinary } from './operators.ts';
import {
  GuestThrow,
  Unknowable,
  fail,
  guestFunction,
  isArray,
  isDeepEqual,
  isKind,
  isTrue,
  toText,
  unknowable,
} from './values.ts';
import type { GuestFunction, Value } from './values.ts';

/** What a rehearsed test came to. */
export type Outcome =
  | { readonly kind: 'passed' }
  /** `detail`: what was seen where it failed. */
  | { readonly kind: 'failed'; readonly assertions: number; readonly detail: string }
  | { readonly kind: 'unknown'; readonly why: string };

export interface Harness {
  readonly assertLoose: GuestFunction;
  readonly assertStrict: GuestFunction;
  readonly testModule: GuestFunction;
  /** Runs the tests that were registered; by name, with the names of suites left out as reports leave them out. */
  readonly runTests: () => Map<string, Outcome>;
}

interface Registered {
  readonly name: string;
  readonly body: GuestFunction;
  readonly before: readonly GuestFunction[];
}

function thrownBy(body: Value): GuestThrow | undefined {
  if (!isKind(body, 'function') && !isKind(body, 'promise')) return unknowable('throws of a value');
  try {
    const result = isKind(body, 'function') ? body.invoke(undefined, []) : body;
    return isKind(result, 'promise') && 'thrown' in result.settled
      ? new GuestThrow(result.settled.thrown)
      : undefined;
  } catch (error) {
    if (error instanceof GuestThrow) return error;
    throw error;
  }
}

function isExpectedError(error: Value, wanted: Value): boolean {
  if (wanted === undefined || typeof wanted === 'string') return true;
  if (wanted instanceof RegExp) {
    const text = toText(error);
    return isHarmlessPattern(wanted.source, text) ? wanted.test(text) : unknowable('a pattern');
  }
  if (isKind(wanted, 'function')) {
    if (wanted.construct !== undefined) return isTrue(applyBinary('instanceof', error, wanted));
    return wanted.invoke(undefined, [error]) === true;
  }
  if (!isKind(wanted, 'object') || !isKind(error, 'object')) return unknowable('an expected error');
  return [...wanted.members].every(([name, value]) => {
    const actual = error.members.get(name);
    return value instanceof RegExp ? matches(actual, value) : isDeepEqual(actual, value);
  });
}

function matches(text: Value, pattern: Value): boolean {
  if (typeof text !== 'string' || !(pattern instanceof RegExp)) return false;
  return isHarmlessPattern(pattern.source, text) ? pattern.test(text) : unknowable('a pattern');
}

const longestShown = 500;

/** A value in short, to see whether it changed. */
function show(value: Value): string {
  if (isArray(value)) return `[${value.slice(0, 50).map(show).join()}]`.slice(0, longestShown);
  if (isKind(value, 'object')) {
    return `{${[...value.members]
      .slice(0, 50)
      .map(([name, one]) => `${name}:${show(one)}`)
      .join()}}`.slice(0, longestShown);
  }
  return typeof value === 'object' && value !== null ? 'value' : String(value).slice(0, longestShown);
}

const detailOf = ({ value }: GuestThrow): string =>
  isKind(value, 'object') ? show(value.members.get('message')) : show(value);

type Check = (args: readonly Value[], isLoose: boolean) => boolean;
const isEqual: Check = ([actual, expected], isLoose) =>
  isLoose ? isTrue(applyBinary('==', actual, expected)) : isSame(actual, expected);
const isSame = (actual: Value, expected: Value): boolean =>
  isKind(actual, 'opaque') || isKind(expected, 'opaque')
    ? unknowable('a value')
    : Object.is(actual, expected);

const throws: Check = ([body, wanted]) => {
  const error = thrownBy(body);
  return error !== undefined && isExpectedError(error.value, wanted);
};

const checks: Readonly<Record<string, Check>> = {
  ok: ([value]) => isTrue(value),
  equal: isEqual,
  notEqual: (args, isLoose) => !isEqual(args, isLoose),
  strictEqual: ([actual, expected]) => isSame(actual, expected),
  notStrictEqual: ([actual, expected]) => !isSame(actual, expected),
  deepEqual: ([actual, expected], isLoose) => isDeepEqual(actual, expected, isLoose),
  notDeepEqual: ([actual, expected], isLoose) => !isDeepEqual(actual, expected, isLoose),
  deepStrictEqual: ([actual, expected]) => isDeepEqual(actual, expected),
  notDeepStrictEqual: ([actual, expected]) => !isDeepEqual(actual, expected),
  match: ([text, pattern]) => matches(text, pattern),
  doesNotMatch: ([text, pattern]) => !matches(text, pattern),
  throws,
  rejects: throws,
  doesNotThrow: ([body]) => thrownBy(body) === undefined,
  doesNotReject: ([body]) => thrownBy(body) === undefined,
  fail: () => false,
};

function createAssert(isLoose: boolean, count: () => void): GuestFunction {
  const check = (name: string, work: Check): GuestFunction =>
    guestFunction(name, (_self, args) => {
      if (!work(args, isLoose)) fail('AssertionError', `${name} ${show(args[0])}`);
      count();
      return undefined;
    });
  const assert = { ...check('assert', ([value]) => isTrue(value)) };
  for (const [name, work] of Object.entries(checks)) assert.members.set(name, check(name, work));
  return assert;
}

/** The parts of `node:test` and `node:assert` that tests of small projects use. */
export function createHarness(): Harness {
  const registered: Registered[] = [];
  let assertions = 0;
  let before: readonly GuestFunction[] = [];
  const outcomes = new Map<string, Outcome>();

  const runOne = ({ name, body, before: hooks }: Registered): void => {
    assertions = 0;
    // A name that occurs twice cannot be told apart in a report.
    const record = (outcome: Outcome): void => {
      outcomes.set(name, outcomes.has(name) ? { kind: 'unknown', why: 'two tests of one name' } : outcome);
    };
    const context = guestFunction('context', () => unknowable('a test context'));
    context.members.set('test', testModule);
    context.members.set(
      'diagnostic',
      guestFunction('diagnostic', () => undefined),
    );
    try {
      for (const hook of hooks) hook.invoke(undefined, []);
      const result = body.invoke(undefined, [context]);
      if (isKind(result, 'promise') && 'thrown' in result.settled)
        throw new GuestThrow(result.settled.thrown);
      record({ kind: 'passed' });
    } catch (error) {
      if (error instanceof GuestThrow) record({ kind: 'failed', assertions, detail: detailOf(error) });
      else if (error instanceof Unknowable) record({ kind: 'unknown', why: error.message });
      // Deep values and deep code end here; the rehearsal does not know, the real run will.
      else if (error instanceof RangeError) record({ kind: 'unknown', why: 'too deep' });
      else throw error;
    }
  };

  const bodyOf = (args: readonly Value[]): GuestFunction | undefined =>
    args.find((arg): arg is GuestFunction => isKind(arg, 'function'));
  const register = guestFunction('test', (_self, args) => {
    const body = bodyOf(args);
    if (body !== undefined) registered.push({ name: toText(args[0]), body, before });
    return { kind: 'promise', settled: { value: undefined } };
  });
  const describe = guestFunction('describe', (_self, args) => {
    const outside = before;
    bodyOf(args)?.invoke(undefined, []);
    before = outside;
    return undefined;
  });
  const addHook = guestFunction('beforeEach', (_self, [hook]) => {
    if (isKind(hook, 'function')) before = [...before, hook];
    return undefined;
  });
  const nothing = guestFunction('after', () => undefined);
  const testModule: GuestFunction = { ...register };
  const members: Readonly<Record<string, Value>> = {
    default: testModule,
    test: testModule,
    it: testModule,
    describe,
    suite: describe,
    beforeEach: addHook,
    before: guestFunction('before', (_self, [hook]) =>
      isKind(hook, 'function') ? hook.invoke(undefined, []) : undefined,
    ),
    after: nothing,
    afterEach: nothing,
    skip: nothing,
    todo: nothing,
  };
  for (const [name, value] of Object.entries(members)) testModule.members.set(name, value);
  const count = (): void => void (assertions += 1);
  const assertStrict = createAssert(false, count);
  const assertLoose = createAssert(true, count);
  for (const assert of [assertStrict, assertLoose]) {
    assert.members.set('strict', assertStrict);
    assert.members.set('default', assert);
  }
  return {
    assertLoose,
    assertStrict,
    testModule,
    runTests: () => {
      for (let index = 0; index < registered.length; index += 1) {
        const test = registered[index];
        if (test !== undefined) runOne(test);
      }
      return outcomes;
    },
  };
}
