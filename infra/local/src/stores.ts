import type { LocalConfig } from './config.ts';
import type { DataFolder } from './data-folder.ts';
import { programs, requirePrograms } from './packages.ts';
import type { PortBook } from './port-book.ts';
import { startPostgres } from './postgres.ts';
import { unprivilegedUser } from './process/unprivileged-user.ts';
import { startRedis } from './redis.ts';
import { startS3 } from './s3.ts';
import type { SupervisedService } from './service-process.ts';

/** Postgres, Redis and S3 as the services see them: ours, or those that variables name. */
export interface Stores {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly s3: {
    readonly endpoint: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly region: string;
  };
  /** The embedded ones, by name; one that dies is started again on its data. */
  readonly processes: readonly SupervisedService[];
  stop(): Promise<void>;
}

type Replacements = Pick<
  LocalConfig,
  'DATABASE_URL' | 'REDIS_URL' | 'S3_ENDPOINT' | 'AWS_ACCESS_KEY_ID' | 'AWS_SECRET_ACCESS_KEY' | 'AWS_REGION'
>;

/** Programs that the embedded stores need under this configuration. */
export function programsOfStores(config: Replacements) {
  return config.REDIS_URL ? [programs.setpriv] : [programs.setpriv, programs.redis];
}

/**
 * Starts the embedded stores side by side, each unless its variable (`DATABASE_URL`, `REDIS_URL`, `S3_ENDPOINT`) is
 * set. When one does not start, those that did are stopped before the error is thrown.
 */
export async function startStores(
  data: DataFolder,
  ports: PortBook,
  config: Replacements,
  options: { readonly durable: boolean; readonly say: (line: string) => void },
): Promise<Stores> {
  requirePrograms(programsOfStores(config));
  const user = unprivilegedUser();
  const running: SupervisedService[] = [];
  const kept = async <Part extends { process: SupervisedService }>(
    starting: Promise<Part>,
  ): Promise<Part> => {
    const part = await starting;
    running.push(part.process);
    return part;
  };
  const stop = async () => {
    await Promise.all(running.map((process) => process.stop()));
  };
  const postgres = async () =>
    config.DATABASE_URL ?? (await kept(startPostgres(data, await ports.of('postgres'), user, options))).url;
  const redis = async () =>
    config.REDIS_URL ?? (await kept(startRedis(data, await ports.of('redis'), user, options.say))).url;
  const s3 = async () =>
    externalS3(config) ?? (await kept(startS3(data, await ports.of('s3'), user, options.say)));
  const [first, second, third] = await Promise.allSettled([postgres(), redis(), s3()]);
  if (first.status === 'fulfilled' && second.status === 'fulfilled' && third.status === 'fulfilled') {
    const { endpoint, accessKeyId, secretAccessKey } = third.value;
    return {
      databaseUrl: first.value,
      redisUrl: second.value,
      s3: { endpoint, accessKeyId, secretAccessKey, region: config.AWS_REGION },
      processes: running,
      stop,
    };
  }
  await stop();
  throw [first, second, third].find((outcome) => outcome.status === 'rejected')?.reason;
}

function externalS3(config: Replacements) {
  if (config.S3_ENDPOINT === undefined) return undefined;
  return {
    endpoint: config.S3_ENDPOINT,
    accessKeyId: config.AWS_ACCESS_KEY_ID ?? '',
    secretAccessKey: config.AWS_SECRET_ACCESS_KEY?.reveal() ?? '',
  };
}
