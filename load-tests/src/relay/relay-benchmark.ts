import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuditLog, readCommitmentKey } from '@lemniscate/dispatcher/adapters/postgres/audit-log.ts';
import { createDatabase } from '@lemniscate/dispatcher/adapters/postgres/database.ts';
import { openTestSession } from '@lemniscate/dispatcher/testing/traffic/session.ts';
import { openCertificateAuthority } from '@lemniscate/local/certificate-authority.ts';
import { startFleet } from '@lemniscate/local/fleet.ts';
import type { Fleet } from '@lemniscate/local/fleet.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { createNewId } from '@lemniscate/shared/id.ts';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchGoal, BenchIo, BenchResult, Benchmark } from '../benchmark.ts';
import { startNginx } from './nginx.ts';
import type { NginxTls } from './nginx.ts';
import { runWholeWay } from './whole-way.ts';
import { residentKb } from './process-use.ts';
import { restMs, watchUse } from './relay-use.ts';
import type { RelayUse } from './relay-use.ts';
import { runStreams } from './streams.ts';
import type { StreamRun, StreamTarget } from './streams.ts';

const streams = 200;
/** A long answer of twenty seconds: what is measured is a chunk's way, not an exchange's beginning. */
const chunksEach = 1_000;
const intervalMs = 20;
const warmUpChunks = 250;
/** Of nginx and the gateway, by turns. */
const rounds = 2;
/** The streams that only stand open, a chunk every second. */
const openStreams = 2_000;
const openChunks = 30;
const openIntervalMs = 1_000;
/** An attempt may have eight exchanges open. */
const sessions = 400;
const path = '/v1/messages';

interface Measured extends StreamRun {
  /** Of the process that relays; null where none is looked at. */
  readonly use: RelayUse | null;
}

/** 200 streams at 50 chunks a second against one scripted upstream: direct, through nginx, through the gateway, and from sandboxes. */
export const relayBenchmark: Benchmark = {
  name: 'relay',
  about: `${streams} model streams at ${1_000 / intervalMs} chunks/s: direct, nginx, gateway, whole way`,
  async run(io) {
    const parts = new AsyncDisposableStack();
    const folder = mkdtempSync('/var/tmp/lemniscate-bench-relay-');
    chmodSync(folder, 0o755);
    parts.defer(() => rmSync(folder, { recursive: true, force: true }));
    try {
      return await measure(io, folder, parts);
    } finally {
      await parts.disposeAsync();
    }
  },
};

async function measure(io: BenchIo, folder: string, parts: AsyncDisposableStack) {
  const upstream = fork(join(import.meta.dirname, 'upstream.ts'));
  parts.defer(() => void upstream.kill());
  const [port] = (await once(upstream, 'message')) as [number];
  const pace = (chunks: number, everyMs: number): void => void upstream.send({ chunks, everyMs });
  pace(chunksEach, intervalMs);
  const direct = new URL(`http://127.0.0.1:${port}${path}`);
  const plain = (url: URL): StreamTarget => ({ url, tls: null, tokenOf: () => 'none' });

  const fleet = await startFleet({
    projectRoot: io.projectRoot,
    environment: {
      ...io.environment,
      LEMNISCATE_DATA: join(folder, 'data'),
      ANTHROPIC_API_KEY: 'bench',
      ANTHROPIC_BASE_URL: direct.origin,
    },
    say: io.say,
  });
  parts.defer(() => fleet.stop());
  const gateway = await openGateway(fleet, parts);
  const dispatcher = fleet.services.find(({ name }) => name === 'dispatcher')?.pid() ?? 0;
  const nginx = await startNginx(folder, direct, gateway.files);
  if (nginx === null) io.say('this machine has no nginx: that comparison is left out');
  else parts.defer(nginx.stop);

  // First, and behind as many short exchanges as are measured later: garbage that earlier runs have left would be taken for
  // room that streams do not need, and code that was never compiled for their cost.
  pace(2, intervalMs);
  await runStreams(streams, gateway.target);
  pace(openChunks, openIntervalMs);
  const memory = await memoryPerStream(gateway.target, dispatcher);
  // Behind code that is compiled for such a pace: the first seconds of it took a tenth more a chunk than later ones.
  pace(warmUpChunks, intervalMs);
  await runStreams(streams, gateway.target);
  pace(chunksEach, intervalMs);

  const runs: Record<string, Measured> = {};
  const run = async (name: string, target: StreamTarget, pid: number | null): Promise<void> => {
    const use = pid === null ? null : await watchUse(pid, streams);
    const measured = await runStreams(streams, target, undefined, use?.openNow);
    const round = { ...measured, use: use?.end(measured.chunks) ?? null };
    runs[name] = runs[name] === undefined ? round : bothOf(runs[name], round);
    io.say(`${name}: ${measured.chunks} chunks, ${measured.failed} streams failed`);
  };
  await run('direct', plain(direct), null);
  // By turns: what the machine gives a processor second changes by a tenth within minutes.
  for (let round = 0; round < rounds; round += 1) {
    if (nginx !== null) await run('nginx', { ...gateway.target, url: nginx.url }, nginx.pid);
    await run('gateway', gateway.target, dispatcher);
  }
  runs['whole way'] = {
    ...(await runWholeWay(streams, {
      gatewayOrigin: gateway.target.url.origin,
      tls: { ca: gateway.files.authority, cert: gateway.files.certificate, key: gateway.files.key },
      tokenOf: gateway.target.tokenOf,
      // not under /tmp: sandboxes have a /tmp of their own
      stateFolder: join(folder, 'sandboxes'),
    })),
    use: null,
  };
  return {
    results: [
      ...Object.entries(runs).flatMap(describe),
      { name: `gateway: memory a stream of ${openStreams} open`, unit: 'KB', value: memory.openKb },
      { name: 'the same until the last has ended and is settled', unit: 'KB', value: memory.endedKb },
    ],
    goals: [...goalsOf(runs), goalAtMost('memory a stream', 'KB', 60, memory.openKb)],
  };
}

/** Two rounds of the same as one. */
function bothOf(first: Measured, second: Measured): Measured {
  const mean = (of: (use: RelayUse) => number): number =>
    first.use === null || second.use === null ? Number.NaN : (of(first.use) + of(second.use)) / 2;
  return {
    latenciesMs: [...first.latenciesMs, ...second.latenciesMs],
    chunks: first.chunks + second.chunks,
    failed: first.failed + second.failed,
    use: {
      secondsPerChunk: mean(({ secondsPerChunk }) => secondsPerChunk),
      msPerStream: mean(({ msPerStream }) => msPerStream),
    },
  };
}

/**
 * What the process grows by a stream, from the least of ten seconds of rest to its largest while all of them are open, and
 * to its largest until all have ended. Resident memory: garbage that was not collected counts.
 */
async function memoryPerStream(
  target: StreamTarget,
  pid: number,
): Promise<{ readonly openKb: number; readonly endedKb: number }> {
  let restingKb = Number.POSITIVE_INFINITY;
  for (let waited = 0; waited < restMs; waited += lookEveryMs) {
    await delay(lookEveryMs);
    restingKb = Math.min(restingKb, residentKb(pid));
  }
  let open = 0;
  const peaks = { open: 0, ended: 0 };
  const watch = setInterval(() => {
    const now = residentKb(pid);
    if (open === openStreams) peaks.open = Math.max(peaks.open, now);
    peaks.ended = Math.max(peaks.ended, now);
  }, lookEveryMs);
  const run = await runStreams(openStreams, target, 15_000, (count) => {
    open = count;
  }).finally(() => clearInterval(watch));
  if (run.failed > 0) throw new Error(`${run.failed} of ${openStreams} open streams failed`);
  if (peaks.open === 0) throw new Error('the streams were never all open at once');
  const perStream = (peak: number): number => Math.round((peak - restingKb) / openStreams);
  return { openKb: perStream(peaks.open), endedKb: perStream(peaks.ended) };
}

const lookEveryMs = 250;

function describe([name, run]: [string, Measured]): BenchResult[] {
  return [
    distribution(`${name}: from writing to reading a chunk`, 'ms', run.latenciesMs),
    { name: `${name}: streams that failed`, unit: '', value: run.failed },
    ...(run.use === null
      ? []
      : [
          {
            name: `${name}: chunks per CPU second`,
            unit: '',
            value: Math.round(1 / run.use.secondsPerChunk),
          },
          { name: `${name}: CPU time a stream beside its chunks`, unit: 'ms', value: run.use.msPerStream },
        ]),
  ];
}

function goalsOf(runs: Readonly<Record<string, Measured>>): BenchGoal[] {
  const { direct, nginx, gateway, 'whole way': whole } = runs;
  if (direct === undefined || gateway === undefined || whole === undefined) return [];
  const [from, to] = [distribution('', '', direct.latenciesMs), distribution('', '', gateway.latenciesMs)];
  const perCpu = (run: Measured): number => 1 / (run.use?.secondsPerChunk ?? Number.NaN);
  return [
    goalAtMost('added by the gateway, p50', 'ms', 1, to.p50 - from.p50),
    goalAtMost('added by the gateway, p99', 'ms', 10, to.p99 - from.p99),
    goalAtMost(
      'added by the whole way, p50',
      'ms',
      3,
      distribution('', '', whole.latenciesMs).p50 - from.p50,
    ),
    goalAtMost('streams that failed', '', 0, gateway.failed + direct.failed + whole.failed),
    ...(nginx === undefined
      ? []
      : [
          goalAtMost(
            'nginx’s chunks per CPU second over the gateway’s',
            '',
            2,
            perCpu(nginx) / perCpu(gateway),
          ),
        ]),
  ];
}

interface Gateway {
  readonly target: StreamTarget;
  /** The files of a server's certificate, which serve nginx as well. */
  readonly files: NginxTls;
}

/** Sessions that are running as far as the record knows, each with a relay token, and a server's certificate. */
async function openGateway(fleet: Fleet, parts: AsyncDisposableStack): Promise<Gateway> {
  const database = createDatabase({
    url: new URL(fleet.stores.databaseUrl),
    connections: 4,
    statementTimeoutMs: 10_000,
    onConnectionError: () => undefined,
  });
  parts.defer(() => database.close());
  const audit = createAuditLog({ clock: systemClock, commitmentKey: await readCommitmentKey(database) });
  const record = { database, audit, newId: createNewId(), self: 'spiffe://lemniscate/dispatcher/bench' };
  const tokenOf = (stream: number): string => `lmr_bench_${stream % sessions}`;
  for (let stream = 0; stream < sessions; stream += 1)
    await openTestSession(record, {
      model: 'claude-sonnet-4-6',
      relayTokenHash: createHash('sha256').update(tokenOf(stream)).digest('hex'),
    });
  const authority = await openCertificateAuthority(fleet.data.folder('certificates'));
  const files = await authority.certificateFor('agent-server', 'server-a');
  const target = {
    url: new URL(`${fleet.internalUrl}/model/anthropic${path}`),
    tls: {
      ca: readFileSync(authority.certificate),
      cert: readFileSync(files.certificate),
      key: readFileSync(files.key),
    },
    tokenOf,
  };
  return { target, files: { ...files, authority: authority.certificate } };
}
