import { execFile } from 'node:child_process';
import { chmodSync, chownSync, globSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../process/free-port.ts';
import { launcherArguments } from '../process/launcher.ts';
import { unprivilegedUser } from '../process/unprivileged-user.ts';

/** Debian's PostgreSQL with all of its programs; the embedded package has the server alone. */
export interface DebianPostgres {
  /** An owner's URL, who may replicate. */
  readonly url: string;
  /**
   * Runs commands as the server's account with `PGDATA`, `DATABASE_URL` and `BACKUP`, its programs on the path.
   * @returns what they printed. @throws where one fails
   */
  run(script: string, more?: Readonly<Record<string, string>>): Promise<string>;
  /** The one value that a statement gives, as text. */
  ask(statement: string): Promise<string>;
  /** Ends the server as a loss of power does. */
  crash(): Promise<void>;
}

/** The folder of the newest server's programs, with those for backups; undefined where it is not installed. */
export function serverPrograms(): string | undefined {
  const found = globSync('/usr/lib/postgresql/*/bin/pg_verifybackup').toSorted((one, other) =>
    one.localeCompare(other, 'en', { numeric: true }),
  );
  const newest = found.at(-1);
  return newest === undefined ? undefined : dirname(newest);
}

/** Makes a cluster in a folder of the test's own and starts it; it is stopped when the stack is undone. */
export async function openDebianPostgres(
  parts: AsyncDisposableStack,
  folder: string,
): Promise<DebianPostgres> {
  const programs = serverPrograms() ?? 'no-programs';
  const user = unprivilegedUser();
  mkdirSync(folder);
  chmodSync(folder, 0o700);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const claim = await freePort();
  parts.defer(claim.release);
  const url = `postgres://lemniscate:test-only@127.0.0.1:${claim.port}/postgres`;
  const environment = {
    PATH: `${programs}:/usr/bin:/bin`,
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
    PGDATA: join(folder, 'cluster'),
    DATABASE_URL: url,
    BACKUP: join(folder, 'backup'),
  };
  const run = async (script: string, more: Readonly<Record<string, string>> = {}): Promise<string> => {
    const launch = launcherArguments({ command: '/bin/bash', cwd: folder, user, deathSignal: 'KILL' });
    const { stdout } = await promisify(execFile)(
      'setpriv',
      [...launch, '/bin/bash', '-c', `set -euo pipefail\n${script}`],
      { cwd: folder, env: { ...environment, ...more }, timeout: 180_000 },
    );
    return stdout;
  };
  const crash = async (): Promise<void> => void (await run('pg_ctl -s -w stop -m immediate'));
  await run(`initdb -U lemniscate --auth=scram-sha-256 --pwfile=<(echo test-only) --no-sync >/dev/null
cat >> "$PGDATA/postgresql.conf" <<END
port = ${claim.port}
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 300
END
pg_ctl -l "$PGDATA/log" -s -w start`);
  parts.defer(async () => void (await run('! pg_ctl -s status || pg_ctl -s -w stop -m immediate')));
  return {
    url,
    run,
    crash,
    ask: async (statement) =>
      (await run('psql -At "$DATABASE_URL" -c "$STATEMENT"', { STATEMENT: statement })).trim(),
  };
}
