import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { closed, createLogDatabase, executed, noDatabase, opened } from './testing/database.ts';
import { startExporterProcess, until } from './testing/exporter-process.ts';
import { startFaultReceiver } from './testing/fault-receiver.ts';
import type { Fault } from './testing/fault-receiver.ts';
import { elasticProtocol, ocsfProtocol, otlpProtocol } from './testing/protocols.ts';
import { countLines } from './testing/read-sink-file.ts';

const sessions = 20;
const perSession = 100;
const total = sessions * perSession;

test(
  'kill -9 and faults at every receiver while entries come: nothing is missing, doubles have the same id, and a hung ' +
    'receiver delays nobody',
  { skip: noDatabase },
  async (t) => {
    const [database, folder] = [await createLogDatabase(), await mkdtemp(join(tmpdir(), 'delivery-'))];
    const receivers = await Promise.all(
      [elasticProtocol, ocsfProtocol, otlpProtocol].map((protocol) => startFaultReceiver(protocol)),
    );
    const hung = await startFaultReceiver(ocsfProtocol);
    hung.plan(...Array.from({ length: 500 }, (): Fault => 'hung'));
    t.after(async () => {
      await Promise.all([...receivers, hung].map((receiver) => receiver.close()));
      await rm(folder, { recursive: true });
      await database.drop();
    });
    const [elastic, ocsf, otlp] = receivers;
    assert.ok(elastic !== undefined && ocsf !== undefined && otlp !== undefined);
    const file = join(folder, 'audit.ndjson');
    const configuration = join(folder, 'sinks.yaml');
    await writeFile(
      configuration,
      `sinks:
  - { kind: file, path: ${file} }
  - { kind: elastic, url: '${elastic.url}', index: audit, apiKey: { env: KEY } }
  - { kind: ocsf, url: '${ocsf.url}' }
  - { kind: otlp, url: '${otlp.url}' }
  - { kind: ocsf, url: '${hung.url}' }
`,
    );
    for (const receiver of receivers) {
      const faults: (Fault | null)[] = [
        'unavailable',
        null,
        'reset',
        null,
        'unauthorised',
        'reset',
        null,
        'reset',
      ];
      receiver.plan(...faults);
    }
    const start = () =>
      startExporterProcess({
        DATABASE_URL: database.url,
        LEMNISCATE_SINKS: configuration,
        LEMNISCATE_LOG_KEY: join(folder, 'key.pem'),
        LEMNISCATE_LOG_CHECKPOINT_SECONDS: '1',
        KEY: 'k',
      });
    const appending = Promise.all(
      Array.from({ length: sessions }, async (_, session) => {
        const chain = sessionChain(`s_${session}`);
        await database.append(chain, [opened]);
        for (let call = 0; call < perSession - 2; call += 7)
          await database.append(
            chain,
            Array.from({ length: Math.min(7, perSession - 2 - call) }, (__, more) => executed(call + more)),
          );
        await database.append(chain, [closed]);
      }),
    );
    for (let kills = 0; kills < 5; kills += 1) {
      const before = await countLines(file);
      const exporter = start();
      await until('progress', async () => (await countLines(file)) > before || before >= total);
      await exporter.end('SIGKILL');
    }
    await appending;
    const last = start();
    const entries = (ids: readonly string[]): string[] => ids.filter((id) => id.startsWith('session:'));
    await until(
      'every receiver has everything',
      async () =>
        (await countLines(file)) >= total &&
        receivers.every((receiver) => new Set(entries(receiver.received())).size === total),
      60_000,
    );
    await last.end('SIGKILL');
    // and two of the log's own, which says how it was set up
    assert.equal(await countLines(file), total + 2);
    for (const receiver of receivers) {
      const seen = entries(receiver.received());
      for (let session = 0; session < sessions; session += 1) {
        const own = [...new Set(seen)].filter((id) => id.startsWith(`session:s_${session}:`));
        assert.deepEqual(
          own.map((id) => id.slice(0, id.lastIndexOf(':'))),
          Array.from({ length: perSession }, (_, place) => `session:s_${session}:${place + 1}`),
        );
      }
      t.diagnostic(`${seen.length - total} doubles`);
    }
  },
);
