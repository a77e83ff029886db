import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import { startBench } from './testing/agent-server-bench.ts';
import { eventsOf, outputOf, play, resultOf, resumed, settled } from './testing/session-script.ts';

/** What a program inside does to get out: asks the proxy, and knocks at the host's own address. */
const knock = `printf 'CONNECT blocked.example.org:443 HTTP/1.1\\r\\n\\r\\n' >&3; head -n 1 <&3`;
const throughProxy = `echo "$HTTPS_PROXY"; exec 3<>/dev/tcp/127.0.0.1/3128 && ${knock}`;

test('without a list there is no way out, and with one the proxy refuses what is not on it', async (t) => {
  const bench = await startBench(t);
  await settled(bench);
  const run = async (egress: string[] | undefined) => {
    play(bench, [
      { blocks: [{ id: 'call', tool: 'run_command', input: { command: throughProxy } }] },
      { blocks: [{ text: 'Done.' }] },
    ]);
    const order = bench.order(egress === undefined ? {} : { egress });
    await bench.put(order);
    assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
    await settled(bench);
    return eventsOf(bench, order.sessionId);
  };
  const closed = await run(undefined);
  assert.equal(outputOf(closed, 'stdout'), '\n', 'no proxy, no variable');
  assert.match(outputOf(closed, 'stderr'), /refused/);
  const open = await run(['allowed.example.org']);
  assert.match(outputOf(open, 'stdout'), /^http:\/\/127\.0\.0\.1:3128\nHTTP\/1\.1 403 Forbidden/);
  assert.deepEqual(
    open.filter(({ type }) => type === 'egress'),
    [{ type: 'egress', host: 'blocked.example.org', port: 443, outcome: 'refused', why: 'not_listed' }],
  );
});

test('credentials are in the environment of commands, and nowhere else', async (t) => {
  const bench = await startBench(t);
  const secret = 'credential-of-the-test';
  play(bench, [
    {
      blocks: [
        {
          id: 'call',
          tool: 'run_command',
          input: {
            command:
              'printf %s "$DEPLOY_TOKEN" | sha256sum; grep -rl "$DEPLOY_TOKEN" /etc /home /tmp /workspace; echo "it is $DEPLOY_TOKEN"; echo "$DEPLOY_TOKEN" >&2; true',
          },
        },
      ],
    },
    { blocks: [{ text: 'Done.' }] },
  ]);
  const order = bench.order({ credentials: { DEPLOY_TOKEN: secret } });
  await bench.put(order);
  assert.equal((await resultOf(bench, order.sessionId)).reason, 'finished');
  const events = eventsOf(bench, order.sessionId);
  assert.equal(
    outputOf(events, 'stdout'),
    `${createHash('sha256').update(secret).digest('hex')}  -\nit is [credential:DEPLOY_TOKEN]\n`,
  );
  assert.equal(outputOf(events, 'stderr'), '[credential:DEPLOY_TOKEN]\n');
  assert.doesNotMatch(JSON.stringify([events, bench.dispatcher.modelRequests]), new RegExp(secret));
});

test('a checkpoint holds no credential, and the commands after it have it again', async (t) => {
  const bench = await startBench(t);
  const secret = 'credential-of-the-paused';
  const digest = createHash('sha256').update(secret).digest('hex');
  const command = 'printf %s "$DEPLOY_TOKEN" | sha256sum';
  let answer: PermitAnswer = { verdict: 'waiting', approvalId: 'apr_1' };
  const go: PermitAnswer = { verdict: 'go', decidedBy: 'human', reasons: [] };
  bench.dispatcher.onPermit = ({ callId }) => (callId === 'second' ? answer : go);
  play(bench, [
    {
      blocks: [
        {
          id: 'first',
          tool: 'run_command',
          input: { command: `${command}; env >/dev/null; bash -c 'sleep 600 &'` },
        },
        { id: 'second', tool: 'run_command', input: { command } },
      ],
    },
    { blocks: [{ text: 'Done.' }] },
  ]);
  const order = bench.order({ credentials: { DEPLOY_TOKEN: secret } });
  await bench.put(order);
  await bench.dispatcher.until(() => bench.dispatcher.permits.some(({ callId }) => callId === 'second'));
  bench.dispatcher.pauses.set(order.sessionId, 'awaiting_approval');
  const { given } = await bench.dispatcher.until(() => bench.dispatcher.checkpoints[0]);
  bench.dispatcher.pauses.clear();
  await settled(bench);
  const archive = bench.dispatcher.uploads.get(given.archive.uploadId) ?? assert.fail();
  const stored = [zstdDecompressSync(archive), ...bench.dispatcher.uploads.values()];
  assert.ok(
    stored.some((bytes) => bytes.includes('workspace')),
    'the archive can be looked into',
  );
  for (const bytes of stored) assert.ok(!bytes.includes(secret));
  answer = go;
  await bench.put({ ...resumed(bench, order), credentials: { DEPLOY_TOKEN: secret } });
  assert.equal((await resultOf(bench, order.sessionId, 2)).reason, 'finished');
  assert.equal(outputOf(eventsOf(bench, order.sessionId, 2), 'stdout'), `${digest}  -\n`);
});
