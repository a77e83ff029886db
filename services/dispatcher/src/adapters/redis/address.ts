import { readFileSync } from 'node:fs';

/** The part of a connection's options that says where and as whom. */
export interface RedisAddress {
  host?: string;
  port?: number;
  username?: string;
  password?: string;
  db: number;
  tls?: { ca?: string };
  sentinels?: { host: string; port: number }[];
  /** Of the master that the sentinels know. */
  name?: string;
  enableTLSForSentinelMode?: boolean;
  sentinelTLS?: { ca?: string };
  sentinelRetryStrategy?: (times: number) => number;
}

/**
 * What REDIS_URL says, as every connection needs it. `rediss:` encrypts, and `?ca=FILE` names the authority that signed
 * the server. With `?sentinel=NAME` the address is a sentinel's: it is asked where the master NAME is, after each
 * break anew; `&also=HOST:PORT` names further sentinels, as often as there are any.
 */
export function redisAddress(url: URL): RedisAddress {
  const name = url.searchParams.get('sentinel');
  const at = { host: url.hostname, port: Number(url.port === '' ? '6379' : url.port) };
  const tls = url.protocol === 'rediss:' ? { tls: authorityOf(url) } : {};
  const login = {
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    db: Number(url.pathname.slice(1) || '0'),
  };
  if (name === null) return { ...at, ...login, ...tls };
  const others = url.searchParams.getAll('also').map((place) => {
    const [host = '', port = '26379'] = place.split(':');
    return { host, port: Number(port) };
  });
  return {
    sentinels: [at, ...others],
    name,
    ...login,
    ...tls,
    ...(url.protocol === 'rediss:' ? { enableTLSForSentinelMode: true, sentinelTLS: authorityOf(url) } : {}),
    sentinelRetryStrategy: (times) => Math.min(50 * times, 1_000),
  };
}

function authorityOf(url: URL): { ca?: string } {
  const file = url.searchParams.get('ca');
  return file === null ? {} : { ca: readFileSync(file, 'utf8') };
}
