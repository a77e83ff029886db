import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProgram } from '../source-file.ts';
import { rehearseTests } from './rehearse.ts';

function rehearse(code: string, modules: Readonly<Record<string, string>> = {}, steps = 50_000) {
  const file = (path: string, text: string) => {
    const program = readProgram(path, text);
    assert.ok(program, text);
    return { path, program };
  };
  const head = "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n";
  const find = (_importer: string, specifier: string) => {
    const text = modules[specifier];
    return text === undefined ? undefined : file(specifier, text);
  };
  return rehearseTests(file('a.test.js', head + code), find, steps);
}
const outcomeOf = (body: string, modules?: Readonly<Record<string, string>>) =>
  rehearse(`test('it', async () => { ${body} });`, modules).outcomes.get('it')?.kind;

const holds: readonly string[] = [
  'assert.equal([1, 2, 3].map((n) => n * 2).filter((n) => n > 2).join(), "4,6");',
  'const { a, ...rest } = { a: 1, b: 2, c: 3 }; assert.deepEqual(rest, { b: 2, c: 3 });',
  'class A { #n = 1; get n() { return this.#n; } up() { this.#n += 1; return this; } } assert.equal(new A().up().n, 2);',
  'class E extends RangeError {} assert.throws(() => { throw new E("no way"); }, /no way/);',
  'class A { constructor(x) { this.x = x; } } class B extends A { y = 2; } assert.equal(new B(1).x + new B(1).y, 3);',
  'let s = ""; for (let i = 0; i < 3; i++) { if (i === 1) continue; s += i; } assert.equal(s, "02");',
  'let f = []; for (let i = 0; i < 2; i++) f.push(() => i); assert.deepEqual(f.map((g) => g()), [0, 1]);',
  'const d = new Date("2026-01-31T00:00:00Z"); d.setUTCDate(32); assert.equal(d.toISOString().slice(0, 10), "2026-02-01");',
  'const m = new Map([["a", 1]]); m.set("b", 2); assert.deepEqual([...m.values()], [1, 2]);',
  'assert.equal(undefined?.a.b.c ?? "none", "none");',
  'assert.equal("a-b c".replace(/[- ]/g, (found) => `<${found}>`), "a<->b< >c");',
  'const late = async (n) => n + 1; assert.equal(await late(1), 2); await assert.rejects(async () => { throw new Error("x"); });',
  'let r; try { null.x; } catch (error) { r = error instanceof TypeError; } finally { r = r && 1; } assert.equal(r, 1);',
  'switch (2) { case 1: assert.fail(); case 2: case 3: break; default: assert.fail(); }',
  'assert.deepEqual(Object.entries({ b: 1, a: 2 }).sort(([x], [y]) => x.localeCompare(y)), [["a", 2], ["b", 1]]);',
  'assert.equal([3, 1, 2].sort((a, b) => b - a)[0], 3); assert.notDeepEqual([1], ["1"]);',
];
for (const body of holds) {
  test(`works out ${body}`, () => assert.equal(outcomeOf(body), 'passed'));
}

test('sees a wrong result, and how far the test came', () => {
  const { outcomes } = rehearse("test('it', () => { assert.ok(1); assert.equal(1 + 1, 3); });");
  assert.deepEqual(outcomes.get('it'), { kind: 'failed', assertions: 1, detail: 'equal 2' });
});

test('links modules of both kinds', () => {
  const modules = {
    './esm.js': 'import { one } from "./more.js"; export { one as uno }; export default () => one + 1;',
    './more.js': 'export const one = 1;',
    './old.js': 'const { one } = require("./more.js"); exports.three = one + 2;',
  };
  const code = `import two, { uno } from './esm.js';\nimport { three } from './old.js';\ntest('it', () => assert.deepEqual([uno, two(), three], [1, 2, 3]));`;
  assert.equal(rehearse(code, modules).outcomes.get('it')?.kind, 'passed');
});

// Code of a repository is hostile: what could reach the host, or never end, is unknown instead.
const hostile: readonly string[] = [
  'while (true) {}',
  'const f = () => f(); f();',
  'assert.ok((() => {}).constructor("return process")());',
  'assert.ok([].constructor.constructor("return process")());',
  'assert.ok({}.__proto__.polluted === undefined && [].map.constructor("return 1")());',
  'assert.ok(process.env);',
  'assert.ok(globalThis);',
  'assert.ok(/(a+)+$/.test("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));',
  'let s = "ab"; for (;;) s += s;',
  'let a = [1]; for (;;) a = [...a, ...a];',
  'let a = [1]; for (;;) a.push(...a);',
  'assert.ok("x".repeat(1e9));',
  'assert.ok(new Array(1e9));',
  'assert.ok(Array.from({ length: 1e9 }));',
  'assert.ok(Date.now());',
  'assert.ok(await import("node:fs"));',
];
for (const body of hostile) {
  test(`does not know ${body}`, () => assert.notEqual(outcomeOf(body), 'passed'));
}

test('does not touch the prototypes of the host', () => {
  outcomeOf('const o = {}; o.__proto__.leak = 1; o["__proto__"] = { leak: 1 }; [].__proto__.leak = 1;');
  assert.equal(({} as Record<string, unknown>)['leak'], undefined);
});
