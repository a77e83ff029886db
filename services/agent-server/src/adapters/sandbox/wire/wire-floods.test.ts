import assert from 'node:assert/strict';
import { performServerHandshake } from 'node:http2';
import type { ServerHttp2Stream } from 'node:http2';
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import { after, describe, it } from 'node:test';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { encodeFrame } from './frame-reader.ts';
import { responseFrames } from './protocol.ts';
import { openWire } from './wire.ts';
import type { Wire } from './wire.ts';

const closers: (() => void)[] = [];
after(() => {
  for (const close of closers.splice(0)) close();
});

function wireTo(ours: Duplex, theirs: Duplex): Wire {
  const user = { uid: 1, gid: 1, switchUser: true };
  const wire = openWire({ sandboxId: 'sbx_test', input: ours, output: ours, user, clock: systemClock });
  closers.push(() => {
    wire.close();
    theirs.destroy();
  });
  return wire;
}

/** A supervisor that answers pings, and does as the test says with commands. */
function speaking(serve: (stream: ServerHttp2Stream) => void): Wire {
  const [ours, theirs] = duplexPair();
  const session = performServerHandshake(theirs);
  session.on('error', () => undefined);
  session.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (headers[':path'] === '/ping') return stream.respond({ ':status': 200 }, { endStream: true });
    serve(stream);
  });
  return wireTo(ours, theirs);
}

/** An HTTP/2 frame as it goes over the wire. */
function http2Frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

const settings = http2Frame(4, 0, 0, Buffer.alloc(0));
/** `:status: 200` by its number in the static table. */
const status200 = Buffer.from([0x88]);

describe('a sandbox that floods', () => {
  it('with a reply that never ends meets the command’s deadline, and its excess is counted and dropped', async () => {
    const piece = encodeFrame(responseFrames.stdout, Buffer.alloc(16_000));
    const wire = speaking((stream) => {
      stream.respond({ ':status': 200 });
      const go = (): void => {
        while (!stream.destroyed && stream.write(piece));
      };
      stream.on('drain', go);
      go();
    });
    // the host gives the supervisor two seconds beyond the command's own time
    const execution = wire.run({ argv: ['x'], timeoutMs: -1_500, maxOutputBytes: 1_000 });
    let bytes = 0;
    for await (const output of execution.output) bytes += output.bytes.length;
    const end = await execution.end;
    assert.deepEqual([end.cause, bytes, end.outputBytes], ['timeout', 1_000, 1_000]);
    assert.ok(end.droppedBytes > 100_000, `${end.droppedBytes} bytes were counted and held nowhere`);
    await wire.ping(10_000);
  });

  it('with 10,000 streams of its own opens none and loses its wire', async () => {
    const [ours, theirs] = duplexPair();
    const wire = wireTo(ours, theirs);
    theirs.resume();
    theirs.write(settings);
    const even = (index: number): number => 2 * index + 2;
    for (let index = 0; index < 10_000; index += 1) theirs.write(http2Frame(1, 0x4, even(index), status200));
    const { broken } = await wire.closed;
    assert.equal(broken, true);
  });

  it('with 10,000 promised streams gets none either', async () => {
    const [ours, theirs] = duplexPair();
    const wire = wireTo(ours, theirs);
    theirs.resume();
    theirs.write(settings);
    const promise = (index: number): Buffer => {
      const id = Buffer.alloc(4);
      id.writeUInt32BE(2 * index + 2);
      return http2Frame(5, 0x4, 1, Buffer.concat([id, status200]));
    };
    void wire.ping(20_000).catch(() => undefined);
    for (let index = 0; index < 10_000; index += 1) theirs.write(promise(index));
    assert.equal((await wire.closed).broken, true);
  });
});
