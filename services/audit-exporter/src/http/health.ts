import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { MetricFamily } from '@lemniscate/shared/telemetry/metrics.ts';
import { metricsFormatOf, metricsFormats, metricsText } from '@lemniscate/shared/telemetry/metrics-text.ts';
import type { ExportStatus } from '../application/export-status.ts';
import { errorFields } from '../log.ts';

/**
 * `/healthz`: 200 while the process can say how it is, with role, backlog and each sink's lag. `/readyz`: 200 once it
 * leads or stands by, the log can be sealed, and no sink of its own is failing. `/metrics`: the same for a scraper.
 * @throws CodedError `port_in_use`
 */
export async function serveHealth(
  status: () => Promise<ExportStatus>,
  collectMetrics: () => Promise<readonly MetricFamily[]>,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Server> {
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
    };
    if (request.url === '/metrics') {
      const format = metricsFormatOf(request.headers.accept);
      collectMetrics().then(
        (families) =>
          response
            .writeHead(200, { 'content-type': metricsFormats[format] })
            .end(metricsText(families, format)),
        (error: unknown) => answer(503, errorFields(error)),
      );
      return;
    }
    if (request.url !== '/healthz' && request.url !== '/readyz') return answer(404, { error: 'not found' });
    status().then(
      (now) => {
        const ready =
          now.role !== 'disconnected' &&
          now.sealFailure === null &&
          now.sinks.every(({ failure }) => failure === null);
        answer(request.url === '/healthz' || ready ? 200 : 503, now);
      },
      (error: unknown) => answer(503, errorFields(error)),
    );
  });
  server.requestTimeout = 5_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(nameFault(error, host, port)));
    server.listen(port, host, resolve);
  });
  return server;
}

function nameFault(error: Error, host: string, port: number): Error {
  if (!('code' in error) || error.code !== 'EADDRINUSE') return error;
  return new CodedError(
    'port_in_use',
    `Port ${port} of ${host} is taken. Set LEMNISCATE_EXPORTER_PORT to another one, or to 0 for none.`,
    { port },
  );
}
