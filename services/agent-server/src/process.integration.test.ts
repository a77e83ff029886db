import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { readLines } from '@lemniscate/shared/text/lines.ts';
import { startStage } from './testing/agent-server-bench.ts';
import type { Stage } from './testing/agent-server-bench.ts';

const mainFile = fileURLToPath(new URL('main.ts', import.meta.url));

/** Starts the service as its own process; resolves with its `ready` record, or rejects with its last one. */
async function startProcess(stage: Stage, change: Record<string, string> = {}) {
  const { tls, stateFolder, dispatcherUrl } = stage.config;
  const child: ChildProcess = spawn(process.execPath, [mainFile], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      LEMNISCATE_SERVER_PORT: '0',
      LEMNISCATE_DISPATCHER_URL: dispatcherUrl,
      LEMNISCATE_TLS_CA: tls.ca,
      LEMNISCATE_TLS_CERT: tls.cert,
      LEMNISCATE_TLS_KEY: tls.key,
      LEMNISCATE_STATE_FOLDER: stateFolder,
      LEMNISCATE_SANDBOX_DRIVER: 'bubblewrap',
      LEMNISCATE_ALLOW_LOCAL_PATHS: 'true',
      LEMNISCATE_EXIT_WITH_PARENT: 'true',
      ...change,
    },
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  stage.atEnd(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const records: Record<string, unknown>[] = [];
  const ready = Promise.withResolvers<number>();
  const { stderr } = child;
  if (stderr === null) throw new Error('no stderr');
  const readRecords = async (): Promise<void> => {
    for await (const { text } of readLines(stderr, 1024 * 1024)) {
      const record = JSON.parse(text ?? '') as Record<string, unknown>;
      records.push(record);
      if (record['msg'] === 'ready') ready.resolve(record['port'] as number);
    }
  };
  void readRecords();
  void exited.then(() => ready.reject(new Error(`it ended: ${JSON.stringify(records.at(-1))}`)));
  return { child, exited, records, ready: ready.promise };
}

/** Mount points of this server's sandboxes: each has an id of its own. */
function mountsBelow({ config }: Stage): string[] {
  const points = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  return points.filter((point) => point.startsWith(`${config.stateFolder}/`));
}

test('a configuration fault ends it with code 1 and a record that names the variable', async (t) => {
  const stage = await startStage(t);
  const { exited, records, ready } = await startProcess(stage, { LEMNISCATE_CAPACITY: '-1' });
  await assert.rejects(ready, /LEMNISCATE_CAPACITY/);
  assert.equal(await exited, 1);
  assert.equal(records.at(-1)?.['code'], 'configuration_invalid');
});

test('SIGTERM and the parent’s end both stop it, with nothing left', async (t) => {
  const stage = await startStage(t);
  for (const stop of [
    (child: ChildProcess) => child.kill('SIGTERM'),
    (child: ChildProcess) => child.stdin?.end(),
  ]) {
    const { child, exited, ready } = await startProcess(stage);
    await ready;
    await stage.dispatcher.until(() => stage.dispatcher.heartbeats.at(-1)?.warm === 1);
    stop(child);
    assert.equal(await exited, 0);
    assert.deepEqual(await stage.sandboxes(), []);
    assert.equal(stage.dispatcher.heartbeats.at(-1)?.draining, true);
  }
});

test('killed in the middle of a session, the next start destroys what was left and has a new boot id', async (t) => {
  const stage = await startStage(t);
  stage.dispatcher.onModel = () => ({
    blocks: [{ id: 'hang', tool: 'run_command', input: { command: 'echo begun; sleep 600' } }],
  });
  stage.mayLeave();
  const first = await startProcess(stage);
  const order = stage.order();
  assert.equal(
    (await stage.send(await first.ready, 'PUT', `/sessions/${order.sessionId}`, order)).status,
    202,
  );
  await stage.dispatcher.until(() => stage.dispatcher.events.some(({ event }) => event.type === 'output'));
  first.child.kill('SIGKILL');
  await first.exited;
  const bootId = stage.dispatcher.heartbeats.at(-1)?.bootId;
  const killed = mountsBelow(stage);
  if (process.getuid?.() === 0) assert.ok(killed.length > 0, 'a killed server leaves its disks mounted');

  const second = await startProcess(stage);
  await second.ready;
  await stage.dispatcher.until(() => {
    const last = stage.dispatcher.heartbeats.at(-1);
    return last !== undefined && last.bootId !== bootId && last.held.length === 0 && last.warm === 1;
  });
  assert.equal((await stage.sandboxes()).length, 1);
  assert.deepEqual(stage.files(), []);
  const left = mountsBelow(stage).filter((mount) => killed.includes(mount));
  assert.deepEqual(left, [], 'the next start has unmounted them');
  second.child.kill('SIGTERM');
  assert.equal(await second.exited, 0);
  assert.deepEqual(await stage.sandboxes(), []);
  assert.deepEqual(mountsBelow(stage), []);
});
