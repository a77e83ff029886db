import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { faultTitle, plantFaults, plantedFaults } from '../testing/planted-faults.ts';
import { findCandidates } from './candidates.ts';
import { readSourceFile } from './source-file.ts';
import type { SourceFile } from './source-file.ts';
import { readTestReport } from './test-report.ts';

/** The script gives up after so many. */
const mostTries = 40;
const testFileOf: Readonly<Record<string, string>> = { money: 'text-wrap' };
const { NODE_TEST_CONTEXT: _, ...env } = process.env;

function read(folder: string, path: string): SourceFile {
  const source = readSourceFile(path, readFileSync(join(folder, path), 'utf8'));
  assert.ok(source, path);
  return source;
}

function sourcesOf(folder: string, path: string, seen = new Map<string, SourceFile>()): SourceFile[] {
  for (const specifier of read(folder, path).imports) {
    const imported = `src/${specifier.split('/').at(-1) ?? ''}`;
    if (seen.has(imported)) continue;
    seen.set(imported, read(folder, imported));
    sourcesOf(folder, imported, seen);
  }
  return [...seen.values()];
}

describe('planted faults are among the candidates', () => {
  const root = mkdtempSync(join(tmpdir(), 'lemniscate-rank-'));
  after(() => rmSync(root, { recursive: true, force: true }));

  for (const [index, fault] of plantedFaults.entries()) {
    it(faultTitle(fault), async (context) => {
      const folder = join(root, String(index));
      await plantFaults(folder, []);
      const right = readFileSync(join(folder, 'src', `${fault.file}.js`), 'utf8');
      await plantFaults(folder, [fault]);
      const wrong = readFileSync(join(folder, 'src', `${fault.file}.js`), 'utf8');
      const test = `test/${testFileOf[fault.file] ?? fault.file}.test.js`;
      const { stdout } = spawnSync(process.execPath, ['--test', test], {
        cwd: folder,
        env,
        encoding: 'utf8',
      });
      const report = readTestReport(stdout);
      assert.ok(report !== undefined && report.failures.length > 0, stdout);
      const candidates = findCandidates(report.failures, sourcesOf(folder, test), [read(folder, test)]);
      const rank = candidates.findIndex(
        ({ path, oldText, newText }) =>
          path === `src/${fault.file}.js` && wrong.replace(oldText, () => newText) === right,
      );
      context.diagnostic(`candidate ${rank + 1} of ${candidates.length}`);
      assert.ok(rank >= 0 && rank < mostTries);
    });
  }
});
