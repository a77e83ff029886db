import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { toHex } from '@lemniscate/shared/audit/digest.ts';
import { dedupId } from '@lemniscate/shared/audit/sink-line.ts';
import type { IndexedEntry } from '@lemniscate/shared/audit/sink-line.ts';
import { secret } from '@lemniscate/shared/config/secret.ts';
import type { RefusedEntry, Sink } from '../application/ports/sink.ts';
import { startFaultReceiver } from '../testing/fault-receiver.ts';
import type { Fault, FaultReceiver, Protocol } from '../testing/fault-receiver.ts';
import {
  elasticProtocol,
  ocsfProtocol,
  otlpProtocol,
  poison,
  sentinelProtocol,
  splunkProtocol,
} from '../testing/protocols.ts';
import { createElasticSink } from './elastic.ts';
import { createOcsfHttpSink } from './ocsf-http.ts';
import { createOtlpSink } from './otlp.ts';
import { createSentinelSink } from './sentinel.ts';
import { sampleLog, sinkContract } from './sink-contract.ts';
import { createSplunkSink } from './splunk.ts';

interface Kind {
  readonly kind: string;
  readonly protocol: () => Protocol;
  readonly create: (url: string) => Sink;
}

const key = secret('k');
const kinds: readonly Kind[] = [
  {
    kind: 'splunk',
    protocol: splunkProtocol,
    create: (url) => createSplunkSink({ url, token: key, ackMs: 400 }),
  },
  {
    kind: 'elastic',
    protocol: () => elasticProtocol,
    create: (url) => createElasticSink({ url, index: 'audit', apiKey: key }),
  },
  { kind: 'ocsf', protocol: () => ocsfProtocol, create: (url) => createOcsfHttpSink({ url, token: key }) },
  { kind: 'otlp', protocol: () => otlpProtocol, create: (url) => createOtlpSink({ url }) },
  {
    kind: 'sentinel',
    protocol: () => sentinelProtocol,
    create: (url) =>
      createSentinelSink({
        url,
        authority: url,
        rule: 'dcr-1',
        stream: 'Custom-audit',
        tenant: 't',
        clientId: 'c',
        clientSecret: key,
      }),
  },
];

const log = sampleLog(60);
const idOf = ({ entry }: IndexedEntry): string => dedupId(entry.chain, entry.seq, toHex(entry.digest));

/** Delivers as the exporter does: whatever fails comes again from the cursor. */
async function shipAll(sink: Sink, entries: readonly IndexedEntry[], deadlineMs = 5_000) {
  const refused: RefusedEntry[] = [];
  const failures: string[] = [];
  for (let from = 0; from < entries.length && failures.length < 50;) {
    const batch = entries.slice(from, from + 20);
    try {
      await sink.open();
      refused.push(...(await sink.deliver(batch, AbortSignal.timeout(deadlineMs))));
      from += batch.length;
    } catch (error) {
      failures.push(String((error as { code?: string }).code ?? error));
      await sink.close();
    }
  }
  await sink.close();
  return { refused, failures };
}

async function receive(t: TestContext, { protocol }: Kind): Promise<FaultReceiver> {
  const receiver = await startFaultReceiver(protocol());
  t.after(receiver.close);
  return receiver;
}

/** A log in which one entry is what the receiver will never take. */
const poisoned = log.map(({ index, entry }) =>
  index === 33
    ? { index, entry: { ...entry, body: Buffer.from(`{"body":{"x":"${poison}"}}`) } }
    : { index, entry },
);

for (const kind of kinds) {
  sinkContract(kind.kind, async () => {
    const receiver = await startFaultReceiver(kind.protocol());
    const isCheckpoint = (id: string): boolean => id.startsWith('checkpoint:');
    return {
      create: () => kind.create(receiver.url),
      received: () => Promise.resolve(receiver.received().filter((id) => !isCheckpoint(id))),
      anchored: () => Promise.resolve(receiver.received().filter(isCheckpoint)),
      remove: receiver.close,
    };
  });

  test(`${kind.kind}: through every fault nothing is missing, doubles have the same id, order holds`, async (t) => {
    const receiver = await receive(t, kind);
    const faults: (Fault | null)[] = ['unavailable', 'reset', null, 'hung', 'unauthorised', 'reset', null];
    if (kind.kind === 'splunk') faults.push('dropped', 'dropped');
    receiver.plan(...faults);
    const { refused, failures } = await shipAll(kind.create(receiver.url), log, 700);
    assert.deepEqual(refused, []);
    assert.ok(failures.includes('forbidden') && failures.length >= 5, failures.join(' '));
    assert.deepEqual([...new Set(receiver.received())], log.map(idOf));
    assert.ok(kind.kind === 'elastic' || receiver.received().length > log.length);
  });

  test(`${kind.kind}: a request above the receiver's limit is halved`, async (t) => {
    const receiver = await receive(t, kind);
    receiver.limit(6_000);
    const { refused, failures } = await shipAll(kind.create(receiver.url), log);
    assert.deepEqual({ refused, failures }, { refused: [], failures: [] });
    assert.deepEqual(receiver.received(), log.map(idOf));
  });

  test(`${kind.kind}: a poison entry is told, and everything else is there`, async (t) => {
    const receiver = await receive(t, kind);
    const { refused, failures } = await shipAll(kind.create(receiver.url), poisoned);
    assert.deepEqual(failures, []);
    const there = receiver.received().filter((id) => id !== idOf(log[33] ?? assert.fail()));
    const others = log.filter(({ index }) => index !== 33).map(idOf);
    // nothing comes twice, also where the receiver says how many it rejected and never which
    assert.deepEqual(there, others);
    assert.deepEqual(
      refused,
      kind.kind === 'otlp'
        ? [{ index: 20, reason: 'rejected_some', among: { last: 39, refused: 1 } }]
        : [{ index: 33, reason: refused[0]?.reason }],
    );
  });
}

test('otlp: a partial success is told with its range and never sent again; a person’s range is asked one by one', async (t) => {
  const guilty = new Set([3, 4, 17]);
  const bad = log.map(({ index, entry }) => {
    const body = guilty.has(index) ? Buffer.from(`{"body":{"x":"${poison}"}}`) : entry.body;
    return { index, entry: { ...entry, body } };
  });
  const receiver = await startFaultReceiver(otlpProtocol);
  t.after(receiver.close);
  const { refused, failures } = await shipAll(createOtlpSink({ url: receiver.url }), bad);
  assert.deepEqual(failures, []);
  assert.deepEqual(refused, [{ index: 0, reason: 'rejected_some', among: { last: 19, refused: 3 } }]);
  // each request came once: the protocol forbids to repeat one that was taken in part
  assert.deepEqual(receiver.received(), log.map(idOf));
  const sink = createOtlpSink({ url: receiver.url });
  await sink.open();
  assert.equal(sink.tellsWhich, false);
  const singly = await sink.deliver(bad.slice(0, 20), AbortSignal.timeout(5_000), 'singly');
  assert.deepEqual(
    singly.map(({ index, reason, among }) => [index, reason, among]),
    [...guilty].map((index) => [index, 'rejected', undefined]),
  );
  await sink.close();
});

test('otlp: a checkpoint goes by itself, so that none is taken in part', async (t) => {
  const requests: number[] = [];
  const receiver = await startFaultReceiver({
    ...otlpProtocol,
    answer: (request) => {
      requests.push(request.ids.length);
      return otlpProtocol.answer(request);
    },
  });
  t.after(receiver.close);
  const sink = createOtlpSink({ url: receiver.url });
  await sink.open();
  const checkpoints = [1, 2, 3].map((number) => ({
    number,
    size: number,
    epoch: 1,
    root: Buffer.alloc(32),
    origin: 'o',
    at: '2026-11-30T12:00:00.000Z',
    note: `o\n${number}\n`,
    frontier: [],
  }));
  await sink.anchor(checkpoints, AbortSignal.timeout(5_000));
  assert.deepEqual(requests, [1, 1, 1]);
  await sink.close();
});

test('elastic: why an entry is refused is a name of theirs, never their words', async (t) => {
  const said = ['document_parsing_exception', 'cannot read "ann@example.org" in field x'];
  for (const type of said) {
    const items = [{ create: { status: 201 } }, { create: { status: 400, error: { type, reason: type } } }];
    const answer = () => ({ status: 200, body: { errors: true, items } });
    const receiver = await startFaultReceiver({ ...elasticProtocol, answer });
    t.after(receiver.close);
    const sink = createElasticSink({ url: receiver.url, index: 'audit', apiKey: key });
    await sink.open();
    const [refused] = await sink.deliver(log.slice(0, 2), AbortSignal.timeout(5_000));
    assert.equal(refused?.reason, type === said[0] ? type : 'refused');
    await sink.close();
  }
});

test('otlp: a 200 that no collector has written proves nothing', async (t) => {
  const pages: unknown[] = ['a page of a proxy', { partialSuccess: { rejectedLogRecords: 'some' } }];
  for (const body of pages) {
    const receiver = await startFaultReceiver({ ...otlpProtocol, answer: () => ({ status: 200, body }) });
    t.after(receiver.close);
    const sink = createOtlpSink({ url: receiver.url });
    await sink.open();
    const delivery = sink.deliver(log.slice(0, 5), AbortSignal.timeout(5_000));
    await assert.rejects(delivery, { code: 'service_unreachable' });
    await sink.close();
  }
});

for (const kind of kinds) {
  test(`${kind.kind}: an entry that is refused alone is told as poison where the receiver keeps others`, async (t) => {
    const receiver = await receive(t, kind);
    const sink = kind.create(receiver.url);
    await sink.open();
    const deliver = (entry: IndexedEntry | undefined) =>
      sink.deliver([entry ?? assert.fail()], AbortSignal.timeout(5_000));
    // nothing was kept yet: it may be the receiver that is at fault
    await assert.rejects(deliver(poisoned[33]), { code: 'service_unreachable' });
    assert.deepEqual(await deliver(log[32]), []);
    assert.deepEqual(
      (await deliver(poisoned[33])).map(({ index }) => index),
      [33],
    );
    await sink.close();
  });
}

test('a receiver that begins to refuse everything gets its entries later, one at a time or many', async (t) => {
  for (const refusal of [
    {
      protocol: ocsfProtocol,
      create: (url: string) => createOcsfHttpSink({ url }),
      said: { status: 400, body: {} },
    },
    {
      protocol: otlpProtocol,
      create: (url: string) => createOtlpSink({ url }),
      said: { status: 200, body: { partialSuccess: { rejectedLogRecords: '60', errorMessage: 'no' } } },
    },
  ]) {
    let isBroken = false;
    const { protocol, said } = refusal;
    const receiver = await startFaultReceiver({
      ...protocol,
      answer: (request) => (isBroken ? said : protocol.answer(request)),
    });
    t.after(receiver.close);
    const sink = refusal.create(receiver.url);
    await sink.open();
    assert.deepEqual(await sink.deliver(log.slice(0, 5), AbortSignal.timeout(5_000)), []);
    isBroken = true;
    for (const batch of [log.slice(5, 6), log.slice(5)])
      await assert.rejects(sink.deliver(batch, AbortSignal.timeout(5_000)), { code: 'service_unreachable' });
    isBroken = false;
    assert.deepEqual(await sink.deliver(log.slice(5), AbortSignal.timeout(5_000)), []);
    await sink.close();
  }
});

test('a receiver that refuses everything is set up wrongly, and nothing is set aside', async (t) => {
  const receiver = await startFaultReceiver({ ...ocsfProtocol, answer: () => ({ status: 400, body: {} }) });
  t.after(receiver.close);
  const sink = createOcsfHttpSink({ url: receiver.url });
  await sink.open();
  await assert.rejects(sink.deliver(log, AbortSignal.timeout(5_000)), { code: 'service_unreachable' });
  await sink.close();
});

test('Splunk without acknowledgement proves nothing and is refused with what to do', async (t) => {
  const receiver = await startFaultReceiver({
    ...splunkProtocol(),
    answer: () => ({ status: 200, body: { code: 0 } }),
  });
  t.after(receiver.close);
  const sink = createSplunkSink({ url: receiver.url, token: key });
  await sink.open();
  await assert.rejects(sink.deliver(log, AbortSignal.timeout(5_000)), /turn indexer acknowledgement on/);
  await sink.close();
});
