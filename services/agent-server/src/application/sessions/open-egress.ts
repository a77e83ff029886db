import type { Duplex } from 'node:stream';
import type { Lease } from '../lease.ts';
import type { EgressReport } from '../ports/egress.ts';
import { createRedaction } from '../../domain/redact-stream.ts';
import type { RedactedStream } from '../../domain/redact-stream.ts';
import type { Sandbox, SandboxOutput } from '../ports/sandbox-driver.ts';
import type { SessionContext } from './session-context.ts';

/** Port on the sandbox' own loopback: the one that proxies have by custom. */
const proxyPort = 3128;
const proxy = `http://127.0.0.1:${proxyPort}`;

/** What programs look for. Plain http is not carried: it would pass in the clear what TLS keeps. */
const proxyVariables: Readonly<Record<string, string>> = {
  HTTPS_PROXY: proxy,
  https_proxy: proxy,
  NO_PROXY: 'localhost,127.0.0.1,::1',
  no_proxy: 'localhost,127.0.0.1,::1',
  NODE_USE_ENV_PROXY: '1',
};

/** Events of one session; a sandbox that knocks for ever is told nothing new by more of them. */
const maxReports = 2_000;

/**
 * Part of step 4 of a session: where its policy names hosts, a proxy on the sandbox' loopback that reaches those and
 * nothing else, over the wire. Each connection is an event of the session and an entry of its chain. Undo: closed.
 * @returns the variables that commands get
 */
export async function openEgress(
  context: SessionContext,
  sandbox: Sandbox,
): Promise<Readonly<Record<string, string>>> {
  const { order, deps, held, journal, unwind } = context;
  const rules = order.egress ?? [];
  if (rules.length === 0) return {};
  const closing = new AbortController();
  unwind.push('close the way out', async () => closing.abort());
  let reports = 0;
  const report = (what: EgressReport): void => {
    deps.log.info({ ...held, ...what }, 'egress');
    // Each connection that was told of is told of at its end as well.
    if (what.outcome !== 'closed') reports += 1;
    if (reports > maxReports || closing.signal.aborted) return;
    const { address: _, ...told } = { address: '', ...what };
    journal.emit({ type: 'egress', ...told, host: what.host.slice(0, 253) });
    if (reports === maxReports) closing.abort();
  };
  const serve = deps.serveEgress({ rules, report, signal: closing.signal });
  await sandbox.listen(proxyPort, whileHeld(context.lease, serve, closing.signal), closing.signal);
  return proxyVariables;
}

/** How long a connection may outlive the lease. */
const leaseLookMs = 500;

/**
 * A server that is cut off does not hear that its session was stopped or revoked, and its commands go on inside until it
 * gives the session up. What would do harm is what leaves: with the lease the way out closes, and opens again with it.
 */
export function whileHeld(
  lease: Pick<Lease, 'valid'>,
  serve: (connection: Duplex) => void,
  closing: AbortSignal,
): (connection: Duplex) => void {
  const open = new Set<Duplex>();
  const watch = setInterval(() => {
    if (!lease.valid()) for (const connection of open) connection.destroy();
  }, leaseLookMs);
  closing.addEventListener('abort', () => clearInterval(watch), { once: true });
  return (connection) => {
    if (!lease.valid()) {
      connection.destroy();
      return;
    }
    open.add(connection);
    connection.once('close', () => open.delete(connection));
    serve(connection);
  };
}

/**
 * The same sandbox whose commands get the agent's credentials, each at its start and nowhere else, and whose output never
 * shows them: neither to the model nor in any event, log or journal.
 */
export function withCredentials(sandbox: Sandbox, credentials: Readonly<Record<string, string>>): Sandbox {
  if (Object.keys(credentials).length === 0) return sandbox;
  const redaction = createRedaction(credentials);
  const inside = withEnvironment(sandbox, credentials);
  return {
    ...inside,
    run: (command) => {
      const execution = inside.run(command);
      return { ...execution, output: redacted(execution.output, redaction) };
    },
  };
}

async function* redacted(
  output: AsyncIterable<SandboxOutput>,
  redaction: () => RedactedStream,
): AsyncGenerator<SandboxOutput> {
  const streams = { stdout: redaction(), stderr: redaction() };
  for await (const { stream, bytes } of output) {
    const shown = streams[stream].push(bytes);
    if (shown.length > 0) yield { stream, bytes: shown };
  }
  for (const stream of ['stdout', 'stderr'] as const) {
    const last = streams[stream].end();
    if (last.length > 0) yield { stream, bytes: last };
  }
}

/** The same sandbox whose commands get these variables. */
export function withEnvironment(sandbox: Sandbox, env: Readonly<Record<string, string>>): Sandbox {
  if (Object.keys(env).length === 0) return sandbox;
  return { ...sandbox, run: (command) => sandbox.run({ ...command, env: { ...env, ...command.env } }) };
}
