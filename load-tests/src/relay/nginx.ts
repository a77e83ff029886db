import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The certificate of a server, and the authority whose clients it lets in. Files. */
export interface NginxTls {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
}

/** An nginx that passes streams on unbuffered behind mutual TLS and HTTP/2, as the gateway does: what a relay is compared with. */
export interface Nginx {
  readonly url: URL;
  readonly pid: number;
  stop(): void;
}

/** Null: this machine has no nginx. */
export async function startNginx(folder: string, upstream: URL, tls: NginxTls): Promise<Nginx | null> {
  if (spawnSync('nginx', ['-v']).error !== undefined) return null;
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configuration(folder, port, upstream, tls));
  const child = spawn('nginx', ['-c', file, '-p', folder, '-e', join(folder, 'error.log')], {
    stdio: 'ignore',
  });
  const url = new URL(`https://localhost:${port}${upstream.pathname}`);
  await untilAnswers(port);
  return { url, pid: child.pid ?? 0, stop: () => void child.kill('SIGQUIT') };
}

function configuration(folder: string, port: number, upstream: URL, tls: NginxTls): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join(' ');
  return `daemon off; pid ${join(folder, 'nginx.pid')}; worker_processes 1; user root;
events { worker_connections 4096; }
http { access_log off; ${temporary}
  server { listen 127.0.0.1:${port} ssl http2;
    ssl_certificate ${tls.certificate}; ssl_certificate_key ${tls.key};
    ssl_client_certificate ${tls.authority}; ssl_verify_client on;
    http2_max_concurrent_streams 250; keepalive_requests 100000;
    location / { proxy_pass ${upstream.origin}; proxy_buffering off; proxy_http_version 1.1; proxy_set_header Connection ""; } } }
`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function untilAnswers(port: number): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const socket = connect(port, '127.0.0.1');
    const answered = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (answered) return;
    await delay(100);
  }
  throw new Error('nginx did not start within 5 seconds');
}
