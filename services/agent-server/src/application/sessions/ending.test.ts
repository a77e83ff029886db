import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorCatalogue } from '@lemniscate/shared/errors/catalogue.ts';
import type { ErrorCode } from '@lemniscate/shared/errors/catalogue.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { endingOfError } from './ending.ts';

test('every repository error ends as repository_failed, with its own words', () => {
  const codes = (Object.keys(errorCatalogue) as ErrorCode[]).filter(
    (code) => code.startsWith('repository_') || ['revision_missing', 'large_file_missing'].includes(code),
  );
  assert.ok(codes.length >= 8);
  for (const code of codes) {
    assert.deepEqual(endingOfError(new CodedError(code, 'why'), 'starting'), {
      reason: 'repository_failed',
      message: 'why',
    });
  }
});

test('what has no reason of its own depends on how far the session had come', () => {
  assert.equal(endingOfError(new CodedError('disk_full', 'full'), 'starting').reason, 'start_failed');
  assert.equal(endingOfError(new CodedError('disk_full', 'full'), 'working').reason, 'runtime_failed');
});

test('a used-up budget names itself where the gateway does', () => {
  assert.equal(
    endingOfError(new CodedError('budget_exhausted', '', { budget: 'budget_tokens' }), 'working').reason,
    'budget_tokens',
  );
  assert.equal(
    endingOfError(new CodedError('budget_exhausted', '', { budget: null }), 'working').reason,
    'budget_cost',
  );
});

test('an error without a code says nothing of its content', () => {
  const ending = endingOfError(new Error('/home/secret/file'), 'working');
  assert.equal(ending.reason, 'runtime_failed');
  assert.doesNotMatch(ending.message, /secret/);
});
