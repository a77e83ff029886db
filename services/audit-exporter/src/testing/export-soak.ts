import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { closed, createLogDatabase, executed, opened } from './database.ts';
import type { LogDatabase } from './database.ts';
import { startExporterProcess, until } from './exporter-process.ts';
import type { ExporterProcess } from './exporter-process.ts';
import { startFaultReceiver } from './fault-receiver.ts';
import type { Fault, FaultReceiver } from './fault-receiver.ts';
import {
  elasticProtocol,
  ocsfProtocol,
  otlpProtocol,
  sentinelProtocol,
  splunkProtocol,
} from './protocols.ts';
import { countLines } from './read-sink-file.ts';
import { seededRandom } from './seeded-random.ts';
import { startSyslogFaultReceiver } from './syslog-fault-receiver.ts';

export interface SoakOptions {
  readonly entries: number;
  /** The exporter is ended by SIGKILL this often and started again. */
  readonly killEveryMs: number;
  /** No more often than this; absent: to the end. */
  readonly mostKills?: number;
  readonly seed: number;
  readonly deadlineMs: number;
  readonly say: (line: string) => void;
}

/** What one receiver got. */
export interface ReceiverCount {
  readonly kind: string;
  readonly received: number;
  /** Entries of the log that it never got. */
  readonly missing: number;
  /** Entries that came more than once, under the same id. */
  readonly doubles: number;
  /** Ids that are no entry of the log: a double under another id would be one. */
  readonly foreign: number;
  /** Entries that came before one that precedes them in their chain. */
  readonly outOfOrder: number;
  readonly faults: Readonly<Record<string, number>>;
}

export interface SoakReport {
  readonly entries: number;
  readonly kills: number;
  readonly seconds: number;
  readonly fileLines: number;
  readonly receivers: readonly ReceiverCount[];
}

const perSession = 100;
const httpFaults: readonly Fault[] = ['unavailable', 'unauthorised', 'reset', 'cut', 'slow'];
const ackFaults: readonly Fault[] = [...httpFaults, 'dropped', 'unacknowledged', 'late'];
/** One delivery in so many goes wrong. */
const faultyOneIn = 5;

const httpKinds = [
  { kind: 'splunk', protocol: splunkProtocol, faults: ackFaults },
  { kind: 'elastic', protocol: () => elasticProtocol, faults: httpFaults },
  { kind: 'ocsf', protocol: () => ocsfProtocol, faults: httpFaults },
  { kind: 'otlp', protocol: () => otlpProtocol, faults: httpFaults },
  { kind: 'sentinel', protocol: () => sentinelProtocol, faults: httpFaults },
] as const;

/** Ships so many entries to every kind of receiver through every fault, the exporter killed again and again. */
export async function soakExport(options: SoakOptions): Promise<SoakReport> {
  const { entries, killEveryMs, seed, say } = options;
  const folder = await mkdtemp(join(tmpdir(), 'soak-'));
  const database = await createLogDatabase();
  const random = seededRandom(seed);
  /** Every fault once, each followed by a good delivery; then by chance. A short run meets them all as well. */
  const disturbing = (faults: readonly Fault[]): (() => Fault | null) => {
    const first = faults.flatMap((fault) => [fault, null]);
    const byChance = (): Fault | null =>
      random() * faultyOneIn < 1 ? (faults[Math.floor(random() * faults.length)] ?? null) : null;
    return () => (first.length > 0 ? (first.shift() ?? null) : byChance());
  };
  const receivers: { kind: string; receiver: Pick<FaultReceiver, 'received' | 'faults' | 'close'> }[] = [];
  const urls: Record<string, string> = {};
  for (const { kind, protocol, faults } of httpKinds) {
    const receiver = await startFaultReceiver(protocol(), { keepBodies: false });
    receiver.disturb(disturbing(faults));
    // a limit that batches pass now and then: 413 halves
    receiver.limit(350_000);
    receivers.push({ kind, receiver });
    urls[kind] = receiver.url;
  }
  const syslog = await startSyslogFaultReceiver(folder, 8_192);
  syslog.disturb(disturbing(['unavailable', 'reset', 'cut', 'slow']));
  receivers.push({ kind: 'syslog', receiver: syslog });
  const file = join(folder, 'audit.ndjson');
  const sinks = join(folder, 'sinks.json');
  const secret = { env: 'SOAK_SECRET' };
  const site = { rule: 'dcr-1', stream: 'Custom-audit', tenant: 't', clientId: 'c' };
  await writeFile(
    sinks,
    JSON.stringify({
      sinks: [
        { kind: 'file', path: file, entriesPerFile: 10_000_000 },
        { kind: 'splunk', url: urls['splunk'], token: secret },
        { kind: 'elastic', url: urls['elastic'], index: 'audit', apiKey: secret },
        { kind: 'ocsf', url: urls['ocsf'] },
        { kind: 'otlp', url: urls['otlp'] },
        {
          kind: 'sentinel',
          url: urls['sentinel'],
          authority: urls['sentinel'],
          clientSecret: secret,
          ...site,
        },
        { kind: 'syslog', host: '127.0.0.1', port: syslog.port, caFile: syslog.caFile },
      ],
    }),
  );
  const start = (): ExporterProcess =>
    startExporterProcess({
      DATABASE_URL: database.url,
      LEMNISCATE_SINKS: sinks,
      LEMNISCATE_LOG_KEY: join(folder, 'log-key.pem'),
      SOAK_SECRET: 'k',
    });
  const begin = performance.now();
  const seconds = (): number => Math.round((performance.now() - begin) / 1_000);
  let exporter = start();
  let kills = 0;
  let killing: Promise<void> = Promise.resolve();
  const killer = setInterval(() => {
    killing = killing.then(async () => {
      if (kills >= (options.mostKills ?? Infinity)) return;
      await exporter.end('SIGKILL');
      kills += 1;
      exporter = start();
    });
  }, killEveryMs);
  try {
    await appendAll(database, entries);
    say(`${entries} entries appended after ${seconds()} s`);
    let told = 0;
    await until(
      'every receiver has the whole log',
      async () => {
        const behind = await readBehind(database);
        if (seconds() >= told + 20) {
          told = seconds();
          say(`${told} s, ${kills} kills, left: ${JSON.stringify(behind)}`);
        }
        const left = Object.values(behind);
        return left.length === receivers.length + 1 && left.every((count) => count === 0) && kills > 0;
      },
      options.deadlineMs,
    );
    clearInterval(killer);
    await killing;
    await exporter.end('SIGTERM');
    const log = await readLog(database);
    return {
      entries: log.size,
      kills,
      seconds: seconds(),
      fileLines: await countLines(`${file}.${'0'.repeat(15)}`),
      receivers: receivers.map(({ kind, receiver }) => ({
        kind,
        ...countReceived(log, receiver.received()),
        faults: receiver.faults(),
      })),
    };
  } finally {
    clearInterval(killer);
    await killing.catch(() => undefined);
    if (exporter.child.exitCode === null && exporter.child.signalCode === null) await exporter.end('SIGKILL');
    await Promise.all(receivers.map(({ receiver }) => receiver.close()));
    await database.drop();
    await rm(folder, { recursive: true });
  }
}

async function appendAll(database: LogDatabase, entries: number): Promise<void> {
  const sessions = Math.ceil(entries / perSession);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < sessions) {
      const chain = sessionChain(`s_soak_${next}`);
      next += 1;
      await database.append(chain, [opened]);
      for (let call = 0; call < perSession - 2; call += 14)
        await database.append(
          chain,
          Array.from({ length: Math.min(14, perSession - 2 - call) }, (_, more) => executed(call + more)),
        );
      await database.append(chain, [closed]);
    }
  };
  await Promise.all([work(), work(), work(), work()]);
}

/** How many entries each receiver still has to get; one that has not begun yet is not among them. */
async function readBehind(database: LogDatabase): Promise<Readonly<Record<string, number>>> {
  const { rows } = await database.owner.query<{ kind: string; behind: string }>(
    `SELECT split_part(name, ':', 1) AS kind, (SELECT count(*) FROM audit_entries) - next_index AS behind
     FROM audit_sinks`,
  );
  return Object.fromEntries(rows.map(({ kind, behind }) => [kind, Number(behind)]));
}

/** Id of every entry that is somewhere in the order of the log, with its chain and place. */
async function readLog(database: LogDatabase): Promise<Map<string, { chain: string; seq: number }>> {
  const { rows } = await database.owner.query<{ chain: string; seq: string; digest: string }>(
    `SELECT chain, seq, encode(substr(digest, 1, 8), 'hex') AS digest FROM audit_entries`,
  );
  return new Map(
    rows.map(({ chain, seq, digest }) => [`${chain}:${seq}:${digest}`, { chain, seq: Number(seq) }]),
  );
}

function countReceived(
  log: ReadonlyMap<string, { readonly chain: string; readonly seq: number }>,
  ids: readonly string[],
): Omit<ReceiverCount, 'kind' | 'faults'> {
  const seen = new Set<string>();
  const last = new Map<string, number>();
  let [doubles, foreign, outOfOrder] = [0, 0, 0];
  for (const id of ids) {
    if (id.startsWith('checkpoint:')) continue;
    const entry = log.get(id);
    if (entry === undefined) foreign += 1;
    else if (seen.has(id)) doubles += 1;
    else {
      seen.add(id);
      if (entry.seq !== (last.get(entry.chain) ?? 0) + 1) outOfOrder += 1;
      last.set(entry.chain, entry.seq);
    }
  }
  return { received: seen.size, missing: log.size - seen.size, doubles, foreign, outOfOrder };
}
