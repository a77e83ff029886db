import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { faultTitle, plantFaults, plantedFaults } from '../testing/planted-faults.ts';
import type { PlantedFault } from '../testing/planted-faults.ts';
import { resolveImport } from '../knowledge.ts';
import type { Candidate } from './candidates.ts';
import { rankCandidates } from './rank.ts';
import { readSourceFile } from './source-file.ts';
import type { SourceFile } from './source-file.ts';
import { readTestReport } from './test-report.ts';

/** A try costs a run of the tests; the usual case must not take more. */
const mostTries = 5;
const testFileOf: Readonly<Record<string, string>> = {
  'sample/money': 'text-wrap',
  'invoices/tax': 'invoice',
};
// What the invoices' own tests of a file do not notice, its caller's do.
const seenByInvoice = /'standard'|unitCents, kind|quantity, unitCents|total \+ amount/;
const { NODE_TEST_CONTEXT: _, ...env } = process.env;

function read(folder: string, path: string): SourceFile {
  const source = readSourceFile(path, readFileSync(join(folder, path), 'utf8'));
  assert.ok(source, path);
  return source;
}

function sourcesOf(
  folder: string,
  path: string,
  listing: readonly string[],
  seen = new Map<string, SourceFile>(),
) {
  for (const specifier of read(folder, path).imports) {
    const imported = resolveImport(path, specifier, listing);
    if (imported === undefined || seen.has(imported)) continue;
    seen.set(imported, read(folder, imported));
    sourcesOf(folder, imported, listing, seen);
  }
  return [...seen.values()];
}

function runTests(folder: string, test: string) {
  const options = { cwd: folder, env, encoding: 'utf8', timeout: 60_000 } as const;
  return readTestReport(spawnSync(process.execPath, ['--test', test], options).stdout);
}

function testOf({ in: folder, file, to, from }: PlantedFault): string {
  const repository = folder ?? 'sample';
  if (repository === 'invoices' && seenByInvoice.test(`${from}${to}`)) return 'test/invoice.test.js';
  return `test/${testFileOf[`${repository}/${file}`] ?? file}.test.js`;
}

describe('the repair of a planted fault is among the first candidates', () => {
  const root = mkdtempSync(join(tmpdir(), 'lemniscate-rank-'));
  after(() => rmSync(root, { recursive: true, force: true }));

  for (const [index, fault] of plantedFaults.entries()) {
    it(faultTitle(fault), async (context) => {
      const folder = join(root, String(index));
      const path = join(folder, 'src', `${fault.file}.js`);
      await plantFaults(folder, [{ ...fault, to: fault.from }]);
      const right = readFileSync(path, 'utf8');
      await plantFaults(folder, [fault]);
      const test = testOf(fault);
      const report = runTests(folder, test);
      assert.ok(report !== undefined && report.failures.length > 0, test);
      const listing = readdirSync(folder, { recursive: true }).map(String);
      const ranked = rankCandidates({
        failures: report.failures,
        sources: sourcesOf(folder, test, listing),
        tests: [read(folder, test)],
        resolve: (importer, specifier) => resolveImport(importer, specifier, listing),
      });
      const first = ranked.slice(0, mostTries);
      const isRight = (one: Candidate): boolean => one.path === `src/${fault.file}.js` && one.after === right;
      // Another repair than the planted one's opposite is as good if the tests say so.
      const isGood = (one: Candidate): boolean => {
        const before = readFileSync(join(folder, one.path), 'utf8');
        writeFileSync(join(folder, one.path), one.after);
        const isGreen = runTests(folder, test)?.failed === 0;
        writeFileSync(join(folder, one.path), before);
        return isGreen;
      };
      const place = first.some(isRight) ? first.findIndex(isRight) : first.findIndex(isGood);
      context.diagnostic(`try ${place + 1} of ${ranked.length} candidates`);
      assert.ok(place >= 0, `of ${ranked.length}: ${first.map((one) => one.what).join('; ')}`);
    });
  }
});
