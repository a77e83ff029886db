import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A folder of a test's own, removed after it. */
export function scratchFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-local-'));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
