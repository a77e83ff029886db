// Whether the service of this container answers; its variables say where. Ends with 0 or 1.
import { readFileSync } from 'node:fs';
import { request as http } from 'node:http';
import { request as https } from 'node:https';

const env = process.env;
const isLoopback = (host) =>
  host === undefined || host === 'localhost' || host === '::1' || host.startsWith('127.');
const certificate = () => ({
  rejectUnauthorized: false,
  cert: readFileSync(env['LEMNISCATE_TLS_CERT'] ?? ''),
  key: readFileSync(env['LEMNISCATE_TLS_KEY'] ?? ''),
});
const places = {
  dispatcher: () =>
    isLoopback(env['LEMNISCATE_HOST'])
      ? [http, { port: env['LEMNISCATE_PORT'] ?? '7420' }]
      : [https, { port: env['LEMNISCATE_PORT'] ?? '7420', rejectUnauthorized: false }],
  'agent-server': () => [https, { port: env['LEMNISCATE_SERVER_PORT'], ...certificate() }],
  'audit-exporter': () => [http, { port: env['LEMNISCATE_EXPORTER_PORT'] ?? '7460' }],
};
const place = places[process.argv[2] ?? ''];
if (place === undefined) throw new Error(`usage: healthy.mjs ${Object.keys(places).join('|')}`);
const [ask, options] = place();
const asking = ask({ host: '127.0.0.1', path: '/healthz', timeout: 4_000, ...options }, (answer) => {
  process.exit(answer.statusCode === 200 ? 0 : 1);
});
asking.on('error', () => process.exit(1));
asking.on('timeout', () => process.exit(1));
asking.end();
