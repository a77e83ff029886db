import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mostRestrictive, stricter, verdictAlias, verdictAliases, verdicts } from './verdict.ts';

test('the most restrictive verdict wins, and of none nothing runs', () => {
  assert.equal(
    mostRestrictive(['allowedWithoutPermission', 'allowedWithPermission']),
    'allowedWithPermission',
  );
  assert.equal(
    mostRestrictive(['allowedWithoutPermission', 'disabled', 'allowedWithPermission']),
    'disabled',
  );
  assert.equal(mostRestrictive([]), 'disabled');
});

test('every verdict has its name in the terminal and back', () => {
  for (const verdict of verdicts) assert.equal(verdictAliases[verdictAlias(verdict)], verdict);
});

test('disabled wins over refuse, refuse over ask, ask over allow', () => {
  assert.equal(stricter('refuse', 'disabled'), 'disabled');
  assert.equal(stricter('ask', 'refuse'), 'refuse');
  assert.equal(stricter('ask', 'allow'), 'ask');
});
