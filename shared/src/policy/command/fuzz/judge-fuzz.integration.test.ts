import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { argumentNames, argumentScript, isRefusedCall, separator } from './argument-scripts.ts';
import { judgeCommand } from '../judge-command.ts';
import type { CommandRules } from '../judgement.ts';
import { changedScript } from './changed-scripts.ts';
import { fedScript } from './fed-scripts.ts';
import { fixtureFiles, readRows } from './fixture-rows.ts';
import { grammarScript, harmlessNames, refusedNames, wrapperNames } from './grammar-scripts.ts';
import { createRandom } from './random.ts';
import { createStubWorld } from './real-bash.ts';
import type { StubWorld } from './real-bash.ts';
import { subscriptScript } from './subscript-scripts.ts';
import { tokenScript } from './token-scripts.ts';

const batchSize = 1000;
const batches = 20;
const firstSeed = 20_260_101;

/** Everything that the scripts use is free but the refused names: only reading can tell them apart. */
const rules: CommandRules = {
  free: [
    ...harmlessNames,
    ...wrapperNames,
    ...argumentNames,
    'command',
    'builtin',
    'echo',
    'wait',
    ':',
    'alias',
    'declare',
    'let',
    'export',
    'trap',
    'set',
    'read',
    'printf',
    'x',
    'a',
    'b',
    '1',
    '[',
  ],
  approval: [],
};

let world: StubWorld;

before(async () => {
  world = await createStubWorld([...harmlessNames, ...refusedNames, 'x'], wrapperNames, argumentNames);
});
after(() => world.remove());

function scriptsOf(batch: number): string[] {
  return Array.from({ length: batchSize }, (_, index) => {
    const random = createRandom(firstSeed + batch * batchSize + index);
    if (index % 4 === 1) return argumentScript(random);
    if (index % 8 === 2) return fedScript(random);
    if (index % 8 === 6) return subscriptScript(random);
    return index % 4 === 0 ? grammarScript(random) : tokenScript(random);
  });
}

/** A reader as one would write it in ten minutes: it must be caught, or the fuzz run proves nothing. */
function naiveVerdict(script: string): string {
  const pieces = script.split(/[;&|\n]/).map((piece) => piece.trim().split(/\s+/)[0] ?? '');
  return pieces.some((name) => refusedNames.includes(name)) ? 'refuse' : 'allow';
}

const missed = (calls: ReadonlySet<string>) =>
  [...calls].filter((call) => refusedNames.includes(call) || isRefusedCall(call));
const missedByArgument = (calls: ReadonlySet<string>) => [...calls].some(isRefusedCall);

test('the fuzz run catches a naive judge', async () => {
  const scripts = scriptsOf(0);
  const calls = await world.run(scripts);
  const passed = scripts.filter(
    (script, index) => naiveVerdict(script) === 'allow' && missed(calls[index] ?? new Set()).length > 0,
  );
  assert.ok(passed.length > 10, `a naive judge let ${passed.length} scripts pass`);
  const byArgument = scripts.filter((_, index) => missedByArgument(calls[index] ?? new Set()));
  assert.ok(byArgument.length > 10, `${byArgument.length} scripts ran a call that its arguments refuse`);
});

test('no refused command runs in a script that the judge let pass', async (t) => {
  const count = { allow: 0, ask: 0, refuse: 0, disabled: 0 };
  const ran = { allow: 0, ask: 0, refuse: 0, disabled: 0 };
  const wrong: string[] = [];
  const asked: string[] = [];
  for (let batch = 0; batch < batches; batch += 1) {
    const scripts = scriptsOf(batch);
    const calls = await world.run(scripts);
    for (const [index, script] of scripts.entries()) {
      const { verdict } = judgeCommand(script, rules);
      count[verdict] += 1;
      const names = missed(calls[index] ?? new Set());
      if (names.length === 0) continue;
      ran[verdict] += 1;
      if (verdict === 'allow')
        wrong.push(
          `seed ${firstSeed + batch * batchSize + index}: ${names.join().replaceAll(separator, ' ')} ran in ${JSON.stringify(script)}`,
        );
      if (verdict === 'ask') asked.push(JSON.stringify(script));
    }
  }
  t.diagnostic(
    `${batchSize * batches} scripts: ${JSON.stringify(count)}; refused commands ran in ${JSON.stringify(ran)}`,
  );
  for (const script of asked.slice(0, 10)) t.diagnostic(`asked: ${script.slice(0, 300)}`);
  assert.deepEqual(wrong, []);
  assert.ok(ran.refuse > 100, 'scripts with refused commands were among them');
  assert.ok(count.allow > 100, 'scripts without were among them too');
});

/** Loops that wait, and what would reach beyond the script: their rows are left out. */
const endless = /\b(kill|while|until|sleep|read|coproc|wait|watch|fg|bg|tail)\b/;

test('no refused command runs in an everyday command that was changed and let pass', async (t) => {
  const rows = fixtureFiles()
    .flatMap(readRows)
    .filter(({ command, expected }) => expected === 'allow' && !endless.test(command));
  const ran = { allow: 0, ask: 0, refuse: 0, disabled: 0 };
  const wrong: string[] = [];
  let passedByNaive = 0;
  for (let batch = 0; batch < 4; batch += 1) {
    const changed = Array.from({ length: 500 }, (_, index) => {
      const random = createRandom(firstSeed - 1 - batch * 500 - index);
      const row = random.pick(rows);
      return { script: changedScript(row.command, random), free: [...row.free, ...argumentNames] };
    });
    const calls = await world.run(changed.map(({ script }) => script));
    for (const [index, { script, free }] of changed.entries()) {
      if (missed(calls[index] ?? new Set()).length === 0) continue;
      const { verdict } = judgeCommand(script, { free, approval: [] });
      ran[verdict] += 1;
      if (naiveVerdict(script) === 'allow') passedByNaive += 1;
      if (verdict === 'allow') wrong.push(`${JSON.stringify(script)} [${free.join()}]`);
    }
  }
  t.diagnostic(`refused commands ran in ${JSON.stringify(ran)}`);
  assert.deepEqual(wrong, []);
  assert.ok(ran.refuse > 100, 'refused commands ran in some of them');
  assert.ok(passedByNaive > 100, `a naive judge let ${passedByNaive} of them pass`);
});
