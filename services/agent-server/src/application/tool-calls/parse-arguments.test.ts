import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseArguments } from './parse-arguments.ts';
import { scanJson } from './scan-json.ts';

const refused: readonly (readonly [string, string, RegExp])[] = [
  ['cut off', '{"command": "rm -rf', /not valid JSON/],
  ['empty', '', /They were empty/],
  ['single quotes', "{'command': 'true'}", /not valid JSON/],
  ['a comma too many', '{"command": "true",}', /not valid JSON/],
  ['two values', '{"command": "true"} {"command": "false"}', /not valid JSON/],
  ['an array', '["true"]', /not a JSON object/],
  ['a string', '"true"', /not a JSON object/],
  ['null', 'null', /not a JSON object/],
  ['an unknown member', '{"command": "true", "cwd": "/"}', /schema/],
  ['a wrong type', '{"command": 7}', /schema/],
  ['a number as text', '{"command": "true", "timeout_seconds": "5"}', /schema/],
  ['a missing member', '{}', /schema/],
  ['a key twice', '{"command": "true", "command": "false"}', /twice/],
  ['a key twice, once escaped', '{"command": "true", "comm\\u0061nd": "false"}', /twice/],
  ['a lone surrogate', '{"command": "echo \\ud800"}', /surrogate/],
  ['a well without a ground', `{"command": ${'['.repeat(50_000)}${']'.repeat(50_000)}}`, /deeper than/],
  ['a prototype', '{"command": "true", "__proto__": {"timeout_seconds": 1}}', /schema/],
];

suite('arguments', () => {
  for (const [what, text, why] of refused) {
    test(`${what} is refused with a sentence`, () => {
      const parsed = parseArguments('run_command', text);
      assert.equal(parsed.ok, false);
      assert.match(parsed.ok ? '' : parsed.message, why);
      assert.match(parsed.ok ? '' : parsed.message, /nothing was run/);
    });
  }

  test('whole ones come out as they are', () => {
    const text = '{ "command": "echo \\"{,}\\" \\\\ é \\ud83d\\ude00", "timeout_seconds": 5 }';
    assert.deepEqual(parseArguments('run_command', text), {
      ok: true,
      input: { command: 'echo "{,}" \\ é 😀', timeout_seconds: 5 },
    });
  });
});

const twice = (text: string) => scanJson(text).duplicateKey;

test('only keys of the same object are the same key', () => {
  assert.equal(twice('{"a": {"a": 1}, "b": [{"a": 1}, {"a": "a"}], "c": "a"}'), null);
  assert.equal(twice('{"a": [{"x": 1, "y": {"x": 2}, "x": 3}]}'), 'x');
  assert.equal(twice('{"a": "\\"a\\": 1, ", "b": 1, "a": 2}'), 'a');
});

test('a long text is scanned without running out of stack', () => {
  const text = JSON.stringify({
    path: 'x',
    content: 'a\n"\\'.repeat(1_000_000),
    more: 'b'.repeat(4_000_000),
  });
  assert.deepEqual(scanJson(text), { duplicateKey: null, depth: 1 });
});

test('arguments as long as they are looked at at all are refused with a sentence, not thrown at', () => {
  for (const content of ['x'.repeat(15_000_000), '\n"\\'.repeat(2_500_000)]) {
    const parsed = parseArguments('write_file', JSON.stringify({ path: 'a', content }));
    assert.match(parsed.ok ? '' : parsed.message, /schema.*Too big/);
  }
});
