import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { toHex } from '@lemniscate/shared/audit/digest.ts';
import { dedupId } from '@lemniscate/shared/audit/sink-line.ts';
import type { Fault } from '../testing/fault-receiver.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { startSyslogFaultReceiver } from '../testing/syslog-fault-receiver.ts';
import { sampleLog } from './sink-contract.ts';
import { createSyslogSink } from './syslog.ts';

const faults: readonly Fault[] = ['unavailable', 'cut', 'reset', 'slow'];

test('a receiver that closes by itself, at once or in the middle, has proved nothing', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'syslog-faults-'));
  const receiver = await startSyslogFaultReceiver(folder, 8_192);
  t.after(async () => {
    await receiver.close();
    await rm(folder, { recursive: true });
  });
  const random = seededRandom(7);
  receiver.disturb(() => (random() < 0.7 ? (faults[Math.floor(random() * faults.length)] ?? null) : null));
  const sink = createSyslogSink({
    host: '127.0.0.1',
    port: receiver.port,
    caFile: receiver.caFile,
    mostBytes: 8_192,
  });
  await sink.open();
  const log = sampleLog(3_000);
  let failures = 0;
  for (let from = 0; from < log.length;) {
    const batch = log.slice(from, from + 60);
    try {
      assert.deepEqual(await sink.deliver(batch, AbortSignal.timeout(5_000)), []);
      from += batch.length;
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'service_unreachable', String(error));
      failures += 1;
    }
  }
  await sink.close();
  const ids = log.map(({ entry }) => dedupId(entry.chain, entry.seq, toHex(entry.digest)));
  assert.deepEqual([...new Set(receiver.received())], ids);
  const { unavailable = 0, cut = 0 } = receiver.faults();
  assert.ok(unavailable >= 5 && cut >= 5 && failures >= unavailable, JSON.stringify(receiver.faults()));
});
