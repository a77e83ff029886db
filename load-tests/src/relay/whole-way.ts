import { chmodSync, mkdirSync } from 'node:fs';
import { createDispatcherClient } from '@lemniscate/agent-server/adapters/dispatcher-client.ts';
import { sandboxDrivers } from '@lemniscate/agent-server/adapters/sandbox/registry.ts';
import { readTlsMaterial } from '@lemniscate/agent-server/adapters/tls-material.ts';
import type { Sandbox } from '@lemniscate/agent-server/application/ports/sandbox-driver.ts';
import { openModelPort } from '@lemniscate/agent-server/application/runtimes/cli/model-port.ts';
import { readProfiles } from '@lemniscate/agent-server/application/sandbox-profiles.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { StreamRun } from './streams.ts';

/** Where the gateway is, and how a server comes to it. */
export interface WholeWay {
  readonly gatewayOrigin: string;
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  /** The relay token of each sandbox' session. */
  readonly tokenOf: (sandbox: number) => string;
  readonly stateFolder: string;
}

/** An attempt may have eight exchanges open, so that many streams come out of one sandbox. */
const streamsEach = 8;
const log = { debug: () => undefined, info: () => undefined, warn: console.error, error: console.error };

/**
 * The streams are asked for inside real bubblewrap sandboxes: over their wire, through this process with the agent
 * server's own code, and on to the gateway.
 */
export async function runWholeWay(count: number, way: WholeWay): Promise<StreamRun> {
  mkdirSync(way.stateFolder, { recursive: true });
  chmodSync(way.stateFolder, 0o711);
  const driver = sandboxDrivers.bubblewrap({
    stateFolder: way.stateFolder,
    serverId: `bench-${process.pid}`,
  });
  const [profile] = readProfiles(undefined);
  if (profile === undefined) throw new Error('there is no sandbox profile');
  await driver.fingerprint(profile);
  const dispatcher = createDispatcherClient(way.gatewayOrigin, readTlsMaterial(way.tls, new Date()));
  const closing = new AbortController();
  const sandboxes: Sandbox[] = [];
  try {
    for (let index = 0; index < count / streamsEach; index += 1) {
      const sandbox = await driver.boot(`sbx_relay_${index}`, profile);
      sandboxes.push(sandbox);
      const order = { sessionId: `ses_bench_${index}`, relayToken: way.tokenOf(index) } as SessionOrder;
      const lease = { hold: () => Promise.resolve() } as never;
      await openModelPort({ sandbox, order, dispatcher, lease, log, closing: closing.signal });
    }
    const answers = await Promise.all(sandboxes.map((sandbox, index) => runInside(sandbox, index)));
    const latenciesMs = answers.flatMap(({ latencies }) => latencies);
    const failed = answers.reduce((sum, answer) => sum + answer.failed, 0);
    return { latenciesMs, chunks: latenciesMs.length, failed };
  } finally {
    closing.abort();
    await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()));
    await dispatcher.close();
  }
}

interface Inside {
  readonly latencies: readonly number[];
  readonly failed: number;
}

async function runInside(sandbox: Sandbox, index: number): Promise<Inside> {
  const execution = sandbox.run({
    argv: ['node', '-e', program(index)],
    timeoutMs: 180_000,
    maxOutputBytes: 10 * 1024 * 1024,
  });
  const said = { stdout: '', stderr: '' };
  for await (const { stream, bytes } of execution.output) said[stream] += Buffer.from(bytes).toString();
  const end = await execution.end;
  if (end.exitCode !== 0)
    throw new Error(`the client in a sandbox ended with ${end.exitCode}: ${said.stderr}`);
  return JSON.parse(said.stdout) as Inside;
}

/** What runs inside: eight streams, spread over four seconds together with the other sandboxes'. */
const program = (index: number): string => `
const http = require('node:http');
const body = JSON.stringify({ model: 'claude-sonnet-4-6', max_tokens: 1000, stream: true,
  messages: [{ role: 'user', content: 'Say something long.' }] });
const latencies = []; let failed = 0; let open = ${streamsEach};
const end = (bad) => { failed += bad; open -= 1; if (open === 0) process.stdout.write(JSON.stringify({ latencies, failed })); };
const ask = () => {
  const sent = http.request('http://127.0.0.1:7400/v1/messages',
    { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } }, (answer) => {
      if (answer.statusCode !== 200) { answer.resume(); return end(1); }
      let rest = '';
      answer.on('data', (bytes) => {
        const now = performance.timeOrigin + performance.now();
        const lines = (rest + bytes).split('\\n');
        rest = lines.pop();
        for (const line of lines) {
          const at = /"at":([\\d.]+)/.exec(line);
          if (at !== null) latencies.push(now - Number(at[1]));
        }
      });
      answer.once('end', () => end(0));
      answer.once('error', () => end(1));
    });
  sent.once('error', () => end(1));
  sent.end(body);
};
for (let stream = 0; stream < ${streamsEach}; stream += 1)
  setTimeout(ask, stream * ${4_000 / streamsEach} + ${index} * 20);
`;
