import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessTable } from './access-table.ts';
import { changeTable } from './change-table.ts';

const changing = Object.keys(accessTable).filter((route) => /^(PUT|PATCH|DELETE) /.test(route));

test('every route that changes or removes says how it names what it saw', () => {
  assert.ok(changing.length >= 30);
  assert.deepEqual(
    changing.filter((route) => !Object.hasOwn(changeTable, route)),
    [],
    'add a line to change-table.ts: whether it takes If-Match, or why it need not',
  );
  assert.deepEqual(
    Object.keys(changeTable).filter((route) => !Object.hasOwn(accessTable, route)),
    [],
    'take these out of change-table.ts',
  );
});
