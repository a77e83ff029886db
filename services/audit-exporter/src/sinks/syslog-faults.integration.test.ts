import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer } from 'node:tls';
import { toHex } from '@lemniscate/shared/audit/digest.ts';
import { dedupId } from '@lemniscate/shared/audit/sink-line.ts';
import { makeCertificate } from '../testing/certificate.ts';
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

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
  test(`${maxVersion}: a receiver that has read all and falls over has proved nothing, one that closes has`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'syslog-faults-'));
    const { key, certificate } = makeCertificate(folder);
    const options = { key: await readFile(key), cert: await readFile(certificate), maxVersion };
    let falls = true;
    // our close has come and it has read everything; only how it goes differs
    const server = createServer({ ...options, allowHalfOpen: true }, (socket) => {
      socket.on('error', () => socket.destroy());
      socket.resume().once('end', () => (falls ? socket.destroy() : socket.end()));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(async () => {
      server.close();
      await rm(folder, { recursive: true });
    });
    const { port } = server.address() as AddressInfo;
    const sink = createSyslogSink({ host: '127.0.0.1', port, caFile: certificate });
    await sink.open();
    const deliver = () => sink.deliver(sampleLog(3), AbortSignal.timeout(10_000));
    await assert.rejects(deliver(), { code: 'service_unreachable' });
    falls = false;
    assert.deepEqual(await deliver(), []);
    await sink.close();
  });
