import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundAnthropicSearches, boundResponsesSearches, usualWebSearches } from './web-searches.ts';

const search = { type: 'web_search_20250305', name: 'web_search' };
const own = { name: 'read_file', input_schema: { type: 'object' } };

test('a request of the Messages API has the bound of each search tool, or gets one', () => {
  assert.deepEqual(boundAnthropicSearches({ tools: [own, { ...search, max_uses: 3 }] }), {
    body: { tools: [own, { ...search, max_uses: 3 }] },
    most: 3,
  });
  assert.deepEqual(boundAnthropicSearches({ model: 'm', tools: [search, own, { ...search, max_uses: 2 }] }), {
    body: {
      model: 'm',
      tools: [{ ...search, max_uses: usualWebSearches }, own, { ...search, max_uses: 2 }],
    },
    most: usualWebSearches + 2,
  });
});

test('what is no bound is replaced by one', () => {
  for (const max_uses of [null, -1, 1.5, '7', 1e300])
    assert.equal(boundAnthropicSearches({ tools: [{ ...search, max_uses }] }).most, usualWebSearches);
});

test('a request of the Responses API is bounded by its calls', () => {
  const tools = [{ type: 'web_search' }];
  assert.deepEqual(boundResponsesSearches({ tools, max_tool_calls: 4 }), {
    body: { tools, max_tool_calls: 4 },
    most: 4,
  });
  assert.deepEqual(boundResponsesSearches({ tools }), {
    body: { tools, max_tool_calls: usualWebSearches },
    most: usualWebSearches,
  });
});

test('a request without a search stays as it is', () => {
  for (const body of [
    {},
    { tools: [own] },
    { tools: 'none' },
    { tools: [{ type: 'function', name: 'web_search' }] },
  ]) {
    assert.deepEqual(boundAnthropicSearches(body), { body, most: 0 });
    assert.deepEqual(boundResponsesSearches(body), { body, most: 0 });
  }
});
