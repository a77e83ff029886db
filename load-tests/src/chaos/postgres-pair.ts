import { spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { DataFolder } from '@lemniscate/local/data-folder.ts';
import { clusterPlan, durableSettings } from '@lemniscate/local/postgres.ts';
import { freePort } from '@lemniscate/local/process/free-port.ts';
import { unprivilegedUser } from '@lemniscate/local/process/unprivileged-user.ts';
import { superviseService } from '@lemniscate/local/service-process.ts';
import type { SupervisedService } from '@lemniscate/local/service-process.ts';
import type { Stores } from '@lemniscate/local/stores.ts';
import { killNow } from './kill-now.ts';
import { changes, firstFollowMs, insist } from './redis-pair.ts';
import type { StorePair } from './redis-pair.ts';

interface Side {
  readonly url: string;
  readonly process: SupervisedService;
  readonly cluster: string;
}

const told = (): void => undefined;

/**
 * A Postgres and its standby, which confirms each commit before it is acknowledged: nothing that anybody was told is
 * lost when it takes the first one's place. The one that was killed is not used again; a new standby is made from a base
 * backup while work goes on.
 */
export async function openPostgresPair(
  data: DataFolder,
  stores: Stores,
  undo: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<StorePair> {
  const first = stores.processes.find(({ name }) => name === 'postgres');
  if (first === undefined) throw new Error('chaos needs a Postgres of its own');
  let primary: Side = { url: stores.databaseUrl, process: first, cluster: 'postgres/cluster' };
  let standby: Side | null = null;
  let number = 1;
  const over = new AbortController();
  let following: Promise<void> = Promise.resolve();
  undo.defer(async () => {
    over.abort();
    await following;
    await standby?.process.stop();
    await primary.process.stop();
  });

  /** Until it has worked or the signal: the primary may be killed while its backup is taken. */
  const follow = async (signal: AbortSignal): Promise<void> => {
    const tell = changes(say);
    while (!signal.aborted && standby === null) {
      number += 1;
      standby = await followOnce(data, primary, number, signal).catch((error: unknown) => {
        tell(`the standby of Postgres does not follow yet: ${String(error)}`);
        return null;
      });
      if (standby === null) await delay(1_000);
    }
  };
  await follow(AbortSignal.timeout(firstFollowMs));
  if (standby === null) throw new Error(`the standby of Postgres does not follow within ${firstFollowMs} ms`);
  return {
    url: () => primary.url,
    process: () => primary.process,
    folder: () => join('data', primary.cluster),
    isWhole: () => standby !== null,
    failOver: async () => {
      if (standby === null) return;
      const [old, next] = [primary, standby];
      killNow(old.process.pid());
      // Fenced for good before the other one serves: two primaries would both take writes.
      await old.process.stop();
      const fault = await insist(async () =>
        asOwner(next.url, async (client) => {
          // The second time it is no standby any more.
          await client.query('SELECT pg_promote(true, 60) WHERE pg_is_in_recovery()');
          await client.query('ALTER SYSTEM RESET synchronous_standby_names');
          await client.query('SELECT pg_reload_conf()');
        }),
      );
      if (fault !== null) throw new Error('the standby of Postgres does not take over', { cause: fault });
      primary = next;
      standby = null;
      rmSync(data.path(old.cluster), { recursive: true, force: true });
      following = follow(over.signal);
    },
  };
}

async function followOnce(
  data: DataFolder,
  primary: Side,
  number: number,
  signal: AbortSignal,
): Promise<Side> {
  const made = await makeStandby(data, primary, number);
  try {
    await confirmed(primary.url, signal);
    return made;
  } catch (error) {
    await made.process.stop();
    throw error;
  }
}

/** A base backup by the functions that pg_basebackup calls, since the embedded package has not that program. */
async function makeStandby(data: DataFolder, primary: Side, number: number): Promise<Side> {
  const user = unprivilegedUser();
  const name = `postgres-${number}`;
  const folder = data.folder(name, 0o700);
  const relative = `${name}/cluster`;
  const cluster = join(folder, 'cluster');
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  await asOwner(primary.url, async (client) => {
    await client.query(`ALTER SYSTEM SET wal_keep_size = '512MB'`);
    await client.query('SELECT pg_reload_conf()');
    await client.query(`SELECT pg_backup_start('chaos', true)`);
    // Files that go while we copy are those that recovery makes anew.
    const copied = spawnSync('cp', ['-a', data.path(primary.cluster), cluster], { stdio: 'ignore' });
    if (copied.status === null) throw new Error('the copy of the cluster broke off', { cause: copied.error });
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
    for (const left of ['postmaster.pid', 'postmaster.opts', 'pg_wal', 'standby.signal'])
      rmSync(join(cluster, left), { recursive: true, force: true });
    mkdirSync(join(cluster, 'pg_wal'), { mode: 0o700 });
    const { hostname, port, username, password } = new URL(primary.url);
    const conninfo = `host=${hostname} port=${port} user=${username} password=${password} application_name=chaos_standby`;
    appendFileSync(
      join(cluster, 'postgresql.auto.conf'),
      `primary_conninfo = '${conninfo}'\nwal_retrieve_retry_interval = 200\n`,
    );
    writeFileSync(join(cluster, 'backup_label'), rows[0]?.labelfile ?? '', { mode: 0o600 });
    writeFileSync(join(cluster, 'standby.signal'), '', { mode: 0o600 });
  });
  if (user !== undefined)
    for (const file of ['pg_wal', 'backup_label', 'standby.signal'])
      chownSync(join(cluster, file), user.uid, user.gid);
  const claimed = await freePort();
  const process = await superviseService(
    clusterPlan(data, { name, cluster, port: claimed.port, user, settings: durableSettings }),
    told,
  );
  const url = new URL(primary.url);
  url.port = String(claimed.port);
  return { url: url.href, process, cluster: relative };
}

/** From here on no commit is acknowledged that the standby has not on its disk. @throws when it does not come */
async function confirmed(url: string, over: AbortSignal): Promise<void> {
  await asOwner(url, async (client) => {
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = 'chaos_standby'`);
    await client.query('SELECT pg_reload_conf()');
    for (
      const until = performance.now() + 60_000;
      performance.now() < until && !over.aborted;
      await delay(200)
    ) {
      const { rows } = await client.query(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`);
      if (rows.length > 0) return;
    }
    await client.query('ALTER SYSTEM RESET synchronous_standby_names');
    await client.query('SELECT pg_reload_conf()');
    throw new Error('it does not confirm what is written');
  });
}

async function asOwner<Answer>(url: string, work: (client: Client) => Promise<Answer>): Promise<Answer> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    // A promotion and a backup's checkpoint take their time.
    query_timeout: 90_000,
  });
  client.on('error', told);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(told);
  }
}
