import { existsSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataFolder } from '@lemniscate/local/data-folder.ts';
import { findProgram } from '@lemniscate/local/packages.ts';
import { freePort } from '@lemniscate/local/process/free-port.ts';
import { unprivilegedUser } from '@lemniscate/local/process/unprivileged-user.ts';
import { superviseService } from '@lemniscate/local/service-process.ts';

const program = findProgram('pgbouncer') ?? '/usr/sbin/pgbouncer';
/** A reason to skip where this machine has no PgBouncer, else false. */
export const noPgbouncer = existsSync(program) ? false : 'pgbouncer: the package pgbouncer is not installed';

export interface Pooler {
  /** The database behind it, through it. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Connections to Postgres that all clients share, a transaction at a time. */
export const poolSize = 4;

/** A PgBouncer in transaction mode before a database, that runs `connectQuery` on each of its connections. */
export async function startPgbouncer(database: URL, connectQuery: string): Promise<Pooler> {
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-pgbouncer-'));
  await chmod(folder, 0o711);
  const user = unprivilegedUser();
  const claimed = await freePort();
  const [configuration, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')];
  const [name, password] = [decodeURIComponent(database.username), decodeURIComponent(database.password)];
  await writeFile(users, `"${name}" "${password}"\n`, { mode: 0o600 });
  const target = `host=${database.hostname} port=${database.port} dbname=${database.pathname.slice(1)}`;
  await writeFile(
    configuration,
    [
      '[databases]',
      `record = ${target}${connectQuery === '' ? '' : ` connect_query='${connectQuery}'`}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${claimed.port}`,
      'unix_socket_dir =',
      'auth_type = scram-sha-256',
      `auth_file = ${users}`,
      'pool_mode = transaction',
      `default_pool_size = ${poolSize}`,
      'max_client_conn = 200',
      '',
    ].join('\n'),
    { mode: 0o600 },
  );
  if (user !== undefined) for (const file of [configuration, users]) await chown(file, user.uid, user.gid);
  const data = openDataFolder({ LEMNISCATE_DATA: join(folder, 'data') }, folder);
  const process = await superviseService(
    {
      name: 'pgbouncer',
      command: program,
      args: [configuration],
      env: { LC_ALL: 'C' },
      cwd: folder,
      user,
      logFile: join(data.folder('logs'), 'pgbouncer.log'),
      records: data.folder('run'),
      stopSignal: 'SIGINT',
      deathSignal: 'TERM',
      stopGraceMs: 5_000,
      ready: { line: (line) => line.includes('process up') },
      readyWithinMs: 20_000,
    },
    () => undefined,
  );
  const url = new URL(database.href);
  url.hostname = '127.0.0.1';
  url.port = String(claimed.port);
  url.pathname = '/record';
  return {
    url: url.href,
    stop: async () => {
      await process.stop();
      claimed.release();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
