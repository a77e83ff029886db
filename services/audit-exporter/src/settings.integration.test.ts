import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLogDatabase, noDatabase } from './testing/database.ts';
import { startExporterProcess, until } from './testing/exporter-process.ts';

test(
  'an exporter that starts with other settings says in the log which, and a value never',
  { skip: noDatabase },
  async (t) => {
    const [database, folder] = [await createLogDatabase(), await mkdtemp(join(tmpdir(), 'settings-'))];
    t.after(async () => {
      await rm(folder, { recursive: true });
      await database.drop();
    });
    const sinks = join(folder, 'sinks.yaml');
    const told = async (): Promise<{ changed: string[]; first: boolean }[]> => {
      const { rows } = await database.owner.query<{ body: Buffer }>(
        `SELECT body FROM audit_entries WHERE chain = 'log:main' AND type = 'config.changed' ORDER BY seq`,
      );
      return rows.map(({ body }) => {
        assert.ok(!body.toString().includes('hidden'), body.toString());
        return (JSON.parse(body.toString()) as { body: { changed: string[]; first: boolean } }).body;
      });
    };
    const run = async (entries: number, more: Record<string, string> = {}): Promise<void> => {
      const exporter = startExporterProcess({ DATABASE_URL: database.url, LEMNISCATE_SINKS: sinks, ...more });
      await until('it leads', () => exporter.log().includes('exporter is leading'));
      // the entry itself is shipped, so whoever stops in order has written it
      await until('what changed is told', async () => (await told()).length >= entries);
      assert.equal(await exporter.end('SIGTERM'), 0);
    };
    await writeFile(sinks, `sinks:\n  - { kind: file, path: ${join(folder, 'hidden.ndjson')} }\n`);
    await run(1);
    await run(1);
    await run(2, { LEMNISCATE_LOG_CHECKPOINT_SECONDS: '77' });
    await writeFile(sinks, `sinks:\n  - { kind: file, path: ${join(folder, 'other.ndjson')} }\n`);
    await run(3, { LEMNISCATE_LOG_CHECKPOINT_SECONDS: '77' });
    const [first, second, third, ...more] = await told();
    assert.equal(first?.first, true);
    assert.deepEqual(second, {
      changed: ['LEMNISCATE_LOG_CHECKPOINT_SECONDS'],
      first: false,
      service: 'spiffe://lemniscate/audit-exporter',
    });
    assert.deepEqual(third?.changed, ['LEMNISCATE_SINKS:content']);
    assert.deepEqual(more, []);
  },
);
