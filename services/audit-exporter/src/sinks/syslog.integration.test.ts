import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { checkpointId } from '@lemniscate/shared/audit/checkpoint-line.ts';
import { entryEvent } from '@lemniscate/shared/audit/outgoing-event.ts';
import { dedupId } from '@lemniscate/shared/audit/sink-line.ts';
import { until } from '../testing/exporter-process.ts';
import { noRsyslog, noSyslogNg, startRsyslog, startSyslogNg } from '../testing/syslog-receiver.ts';
import type { SyslogReceiver } from '../testing/syslog-receiver.ts';
import { sampleLog, sinkContract } from './sink-contract.ts';
import { createSyslogSink, toSyslog } from './syslog.ts';

const idIn = (line: string): string =>
  /\[lemniscate@32473 id=\\"((?:[^"\\]|\\\\.)*)\\"/.exec(line)?.[1] ?? line;
const deadline = (): AbortSignal => AbortSignal.timeout(10_000);

if (noRsyslog === false) contractWith(startRsyslog);
if (noSyslogNg === false) contractWith(startSyslogNg);

function contractWith(startReceiver: (mostBytes: number) => Promise<SyslogReceiver>): void {
  sinkContract('syslog', async () => {
    const receiver = await startReceiver(65_536);
    let expected = 0;
    // it has read what it has closed for, and writes it a moment later
    const ids = async (): Promise<string[]> => (await receiver.messages()).map(idIn);
    const settled = async (): Promise<string[]> => {
      await until('the receiver has written', async () => (await ids()).length >= expected);
      return ids();
    };
    return {
      create: () => {
        const sink = createSyslogSink({ host: '127.0.0.1', port: receiver.port, caFile: receiver.caFile });
        const { deliver, anchor } = sink;
        return {
          ...sink,
          deliver: async (batch, signal) => {
            const refused = await deliver(batch, signal);
            expected += batch.length;
            return refused;
          },
          anchor: async (checkpoints, signal) => {
            await anchor(checkpoints, signal);
            expected += checkpoints.length;
          },
        };
      },
      received: async () => (await settled()).filter((id) => !id.startsWith('checkpoint:')),
      anchored: async () => (await settled()).filter((id) => id.startsWith('checkpoint:')),
      remove: receiver.stop,
    };
  });
}

for (const [name, skip, startReceiver] of [
  ['rsyslog', noRsyslog, startRsyslog],
  ['syslog-ng', noSyslogNg, startSyslogNg],
] as const)
  test(
    `real ${name}: newlines, quotes, brackets and UTF-8 arrive whole, each as one event; what is larger is told`,
    {
      skip,
    },
    async () => {
      const receiver = await startReceiver(8_192);
      try {
        const log = sampleLog(6);
        const hostile = 'a\nb "c" ]d[ \\ ünï 12 <34>1 x';
        const [first, second, third] = log;
        assert.ok(first !== undefined && second !== undefined && third !== undefined);
        const envelope = (text: string): Buffer =>
          Buffer.from(JSON.stringify({ subject: text, body: { note: text } }));
        const batch = [
          first,
          { ...second, entry: { ...second.entry, body: envelope(hostile) } },
          { ...third, entry: { ...third.entry, body: envelope('x'.repeat(9_000)) } },
          ...log.slice(3),
        ];
        const sink = createSyslogSink({
          host: '127.0.0.1',
          port: receiver.port,
          caFile: receiver.caFile,
          mostBytes: 8_192,
        });
        await sink.open();
        const refused = await sink.deliver(batch, deadline());
        assert.deepEqual(
          refused.map(({ index }) => index),
          [2],
        );
        await until('they are written', async () => (await receiver.messages()).length >= 5);
        const messages = await receiver.messages();
        assert.equal(messages.length, 5, 'an event was split');
        const said = JSON.parse(messages[1] ?? '') as { msg: string; type: string };
        const kept = JSON.parse(said.msg.replace('\ufeff', '').trim()) as { subject: string };
        assert.equal(kept.subject, hostile);
        await receiver.restart();
        await sink.deliver(log.slice(0, 1), deadline());
        await until('it goes on behind a restart', async () => (await receiver.messages()).length === 6);
        await sink.close();
      } finally {
        await receiver.stop();
      }
    },
  );

test('a receiver whose certificate is not trusted, that hangs or resets, proves nothing', async (t) => {
  const server = createServer((socket) => socket.on('error', () => undefined).resume()).listen(
    0,
    '127.0.0.1',
  );
  t.after(() => server.close());
  await once(server, 'listening');
  const sink = createSyslogSink({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  await sink.open();
  await assert.rejects(sink.deliver(sampleLog(3), AbortSignal.timeout(200)), { code: 'service_unreachable' });
  server.once('connection', (socket) => socket.resetAndDestroy());
  await assert.rejects(sink.deliver(sampleLog(3), deadline()), { code: 'service_unreachable' });
  await sink.close();
});

test(
  'real rsyslog with a certificate that nobody has vouched for is refused',
  { skip: noRsyslog },
  async () => {
    const receiver = await startRsyslog(8_192);
    try {
      const sink = createSyslogSink({ host: '127.0.0.1', port: receiver.port });
      await sink.open();
      await assert.rejects(sink.deliver(sampleLog(3), deadline()), /self-signed certificate/);
      await sink.close();
    } finally {
      await receiver.stop();
    }
  },
);

test('the message: priority, time, id, and fields that a hostile name cannot leave', () => {
  const [indexed] = sampleLog(3);
  assert.ok(indexed !== undefined);
  const event = { ...entryEvent(indexed), id: 'a"]b\\', server: 'two words\n', type: 'x'.repeat(40) };
  const message = toSyslog(event);
  assert.ok(
    message.startsWith(`<110>1 2026-11-29T15:00:00.000Z two?words? lemniscate - ${'x'.repeat(32)} [`),
  );
  assert.ok(message.includes(String.raw`id="a\"\]b\\" digest="`));
  assert.match(toSyslog({ ...event, type: 'log.restored' }, 'cef'), /^<106>1 .*CEF:0\|/);
  assert.equal(checkpointId(3, 'ab'.repeat(32)), 'checkpoint:3:abababababababab');
  assert.equal(dedupId('session:s', 2, 'cd'.repeat(32)), 'session:s:2:cdcdcdcdcdcdcdcd');
});
