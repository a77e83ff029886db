import assert from 'node:assert/strict';
import { performServerHandshake } from 'node:http2';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import { afterEach, describe, it } from 'node:test';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { encodeFrame } from './frame-reader.ts';
import { responseFrames } from './protocol.ts';
import { openWire } from './wire.ts';
import type { Wire } from './wire.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function wireTo(peer: Duplex, ours: Duplex): Wire {
  const wire = openWire({
    sandboxId: 'sbx_test',
    input: ours,
    output: ours,
    user: { uid: 1, gid: 1, switchUser: true },
    clock: systemClock,
  });
  closers.push(() => {
    wire.close();
    peer.destroy();
  });
  return wire;
}

/** A peer that speaks HTTP/2 and does as the test says with each stream. */
function speaking(
  serve: (stream: ServerHttp2Stream, session: ServerHttp2Session, path: string) => void,
): Wire {
  const [ours, theirs] = duplexPair();
  const session = performServerHandshake(theirs);
  session.on('error', () => undefined);
  session.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    serve(stream, session, String(headers[':path']));
  });
  return wireTo(theirs, ours);
}

const command = { argv: ['x'], timeoutMs: 5_000, maxOutputBytes: 1_000 } as const;

async function outcome(
  wire: Wire,
  more: { timeoutMs?: number } = {},
): Promise<{ cause: string; bytes: number; dropped: number }> {
  const execution = wire.run({ ...command, ...more });
  let bytes = 0;
  for await (const output of execution.output) bytes += output.bytes.length;
  const end = await execution.end;
  assert.equal(end.outputBytes, bytes);
  return { cause: end.cause, bytes, dropped: end.droppedBytes };
}

describe('a hostile sandbox', () => {
  const noise: Readonly<Record<string, Buffer>> = {
    'HTTP/1': Buffer.from('HTTP/1.1 200 OK\r\n\r\n'.repeat(10)),
    zeros: Buffer.alloc(10_000),
    'frames of a type that none has': Buffer.from('000001ee0000000000'.repeat(100), 'hex'),
  };
  for (const [name, bytes] of Object.entries(noise)) {
    it(`that sends ${name} breaks its wire and nothing else`, async () => {
      const [ours, theirs] = duplexPair();
      const wire = wireTo(theirs, ours);
      const run = outcome(wire);
      theirs.resume(); // as the kernel's buffer does for a peer that reads nothing
      theirs.write(bytes);
      assert.equal((await wire.closed).broken, true);
      assert.equal((await run).cause, 'sandbox_lost');
      assert.equal((await outcome(wire)).cause, 'sandbox_lost');
      await assert.rejects(wire.ping(1_000), { code: 'sandbox_lost' });
    });
  }

  it('that says nothing at all meets our deadlines', async () => {
    const [ours, theirs] = duplexPair();
    theirs.resume();
    const wire = wireTo(theirs, ours);
    await assert.rejects(wire.ping(50), /nothing within 50 ms/);
    assert.equal((await outcome(wire, { timeoutMs: -1_900 })).cause, 'timeout');
  });

  it('that hangs up settles every command', async () => {
    const wire = speaking((_stream, session) => session.destroy());
    assert.equal((await outcome(wire)).cause, 'sandbox_lost');
    assert.equal((await wire.closed).broken, true);
  });

  it('that sends more than the bound is cut, whatever it claims', async () => {
    const end = {
      exitCode: 0,
      signal: null,
      cause: 'exited',
      durationMs: 1,
      outputBytes: 7,
      droppedBytes: 5,
    };
    const wire = speaking((stream) => {
      stream.respond({ ':status': 200 });
      for (let frame = 0; frame < 10; frame += 1)
        stream.write(encodeFrame(responseFrames.stdout, Buffer.alloc(300)));
      stream.end(encodeFrame(responseFrames.end, Buffer.from(JSON.stringify(end))));
    });
    assert.deepEqual(await outcome(wire), { cause: 'exited', bytes: 1_000, dropped: 2_005 });
  });

  const lies: Readonly<Record<string, Buffer>> = {
    'an end that is no JSON': encodeFrame(responseFrames.end, Buffer.from('{')),
    'an exit code that no process has': encodeFrame(responseFrames.end, Buffer.from('{"exitCode": 4711}')),
    'a frame type that does not exist': encodeFrame(9, Buffer.from('x')),
    'a frame longer than any': Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]),
    'no end': encodeFrame(responseFrames.stdout, Buffer.from('x')),
  };
  for (const [name, bytes] of Object.entries(lies)) {
    it(`that sends ${name} loses the command`, async () => {
      const wire = speaking((stream) => {
        stream.respond({ ':status': 200 });
        stream.end(bytes);
      });
      assert.equal((await outcome(wire)).cause, 'sandbox_lost');
    });
  }

  it('that sends headers past the bound, or pushes, is not followed', async () => {
    const wire = speaking((stream) => stream.respond({ ':status': 200, 'x-large': 'x'.repeat(60_000) }));
    assert.notEqual((await outcome(wire, { timeoutMs: -1_500 })).cause, 'exited');
    const pushing = speaking((stream) => {
      assert.equal(stream.pushAllowed, false);
      stream.respond({ ':status': 200 }, { endStream: true });
    });
    await pushing.ping(1_000);
  });

  it('cannot slow its neighbour by stalling many streams', async () => {
    const wire = speaking((stream, _session, path) => {
      stream.respond({ ':status': 200 }, { endStream: path === '/ping' });
      if (path !== '/ping') stream.write(encodeFrame(responseFrames.stdout, Buffer.alloc(60_000)));
    });
    for (let stalled = 0; stalled < 50; stalled += 1) wire.run({ ...command, maxOutputBytes: 1e6 });
    await wire.ping(2_000);
  });
});
