import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectRoot } from '../project-root.ts';
import { configurationReference, readVariables } from './configuration.ts';

// The formatter pads tables; what counts is what their cells say.
const cells = (text: string): string =>
  text.replaceAll(/ +\|/g, ' |').replaceAll(/\| +/g, '| ').replaceAll(/-{3,}/g, '---');

test('the reference says what the schemas say; write-reference.ts makes it anew', () => {
  const written = readFileSync(join(projectRoot, 'docs/operations/configuration.md'), 'utf8');
  assert.equal(cells(written), cells(configurationReference(projectRoot)));
  assert.ok(written.split('\n').filter((line) => line.startsWith('| `')).length > 90);
});

test('a member is read with its comment, bounds and default', () => {
  const source = `const a = z.object({
  /** First one. */
  ONE_THING: variable.integer(0, 65_535).default(7420),
  TWO_THINGS: variable.secret(),
  /**
   * Long
   * story.
   */
  THREE: variable
    .oneOf(['a', 'b'])
    .optional(),
});`;
  assert.deepEqual(readVariables(source), [
    { name: 'ONE_THING', meaning: 'First one.', takes: '0 to 65535', usual: '`7420`' },
    { name: 'TWO_THINGS', meaning: '', takes: 'a secret', usual: '**needed**' },
    { name: 'THREE', meaning: 'Long story.', takes: '`a`, `b`', usual: '–' },
  ]);
});

test('a bound may be a product or open above, and is never half read', () => {
  const takes = (bounds: string) =>
    readVariables(`const a = z.object({\n  ONE: variable.integer(${bounds}).default(1),\n});`)[0]?.takes;
  assert.equal(takes('1, 7 * 86_400'), '1 to 604800');
  assert.equal(takes('1, Number.MAX_SAFE_INTEGER'), 'from 1');
  assert.throws(() => takes('1, mostSeconds'), /"mostSeconds" of a setting is no number/);
});

test('a variable that several services read takes the same in each: the local fleet hands one value to all', () => {
  const seen = new Map<string, string>();
  let shared = 0;
  for (const service of ['dispatcher', 'agent-server', 'audit-exporter'])
    for (const { name, takes } of readVariables(
      readFileSync(join(projectRoot, 'services', service, 'src/config.ts'), 'utf8'),
    )) {
      if (seen.has(name)) shared += 1;
      assert.equal(takes, seen.get(name) ?? takes, `${name} of ${service}`);
      seen.set(name, takes);
    }
  assert.ok(shared > 3);
});
