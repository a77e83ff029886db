import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noDatabase } from './testing/database.ts';
import { soakExport } from './testing/export-soak.ts';

// The short form of `npm run soak -- export`: the same code with fewer entries and more kills.

test(
  'through every fault of every receiver and kill -9 nothing is missing, and doubles have the same id',
  { skip: noDatabase },
  async (t) => {
    const report = await soakExport({
      entries: 5_000,
      killEveryMs: 5_000,
      mostKills: 4,
      seed: 20_261_129,
      deadlineMs: 240_000,
      say: (line) => t.diagnostic(line),
    });
    t.diagnostic(JSON.stringify(report));
    assert.ok(report.entries >= 5_000 && report.kills >= 2, JSON.stringify(report));
    assert.equal(report.fileLines, report.entries);
    for (const { kind, missing, foreign, outOfOrder, faults } of report.receivers) {
      assert.deepEqual(
        { kind, missing, foreign, outOfOrder },
        { kind, missing: 0, foreign: 0, outOfOrder: 0 },
      );
      assert.ok(Object.keys(faults).length >= 2, `${kind} hardly failed: ${JSON.stringify(faults)}`);
    }
    // the count can fail: doubles are seen where they are made
    assert.ok(report.receivers.some(({ doubles }) => doubles > 0));
  },
);
