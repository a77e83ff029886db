import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Duplex } from 'node:stream';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { bash, run, withSandbox } from './harness.ts';
import type { ContractSubject } from './harness.ts';

const port = 7400;
const ask = (body: string): string =>
  `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: ${body.length}\\r\\nConnection: close\\r\\n\\r\\n${body}' >&3; cat <&3`;

/** What a program that stays, such as a command-line agent, needs: input while it runs and a port to talk to. */
export function describeStaying(subject: ContractSubject): void {
  describe('a program that stays', () => {
    it('reads live input as it comes, and its end', () =>
      withSandbox(subject, subject.create(), async (sandbox) => {
        const input = new PassThrough();
        const execution = sandbox.run({
          argv: ['cat'],
          input,
          timeoutMs: 20_000,
          maxOutputBytes: 10_000_000,
        });
        const output = execution.output[Symbol.asyncIterator]();
        for (const line of ['first\n', 'second\n']) {
          input.write(line);
          const { value } = await output.next();
          assert.equal(Buffer.from(value?.bytes ?? []).toString(), line, 'before the input ended');
        }
        const large = Buffer.alloc(3_000_000, 'x');
        input.end(large);
        let bytes = 0;
        for (let next = await output.next(); next.done !== true; next = await output.next())
          bytes += next.value.bytes.length;
        assert.equal(bytes, large.length);
        assert.equal((await execution.end).exitCode, 0);
      }));

    it('reaches the host over a loopback port, many at once, and nothing after its end', () =>
      withSandbox(subject, subject.create(), async (sandbox) => {
        assert.notEqual((await bash(sandbox, ask('x'))).exitCode, 0, 'nobody listens yet');
        const server = createServer((request, response) => {
          void request.toArray().then((parts) => response.end(`got ${Buffer.concat(parts).toString()}`));
        });
        const ended = new AbortController();
        await sandbox.listen(
          port,
          (connection: Duplex) => void server.emit('connection', connection),
          ended.signal,
        );
        const answers = await Promise.all(['a', 'bb', 'ccc'].map((body) => bash(sandbox, ask(body))));
        assert.deepEqual(
          answers.map(({ stdout }) => /got \w+/.exec(stdout)?.[0]),
          ['got a', 'got bb', 'got ccc'],
        );
        ended.abort();
        const refused = await run(sandbox, [
          'bash',
          '-c',
          `for i in {1..100}; do (${ask('x')}) 2>/dev/null || exit 7; sleep 0.05; done`,
        ]);
        assert.equal(refused.exitCode, 7);
      }));

    it('is refused connections beyond the bound, and the wire lives on', () =>
      withSandbox(subject, subject.create(), async (sandbox) => {
        const held: Duplex[] = [];
        const ended = new AbortController();
        await sandbox.listen(port, (connection) => void held.push(connection), ended.signal);
        const flood = `for i in {1..80}; do exec {fd}<>/dev/tcp/127.0.0.1/${port}; done; sleep 0.5; echo opened`;
        assert.match((await bash(sandbox, flood)).stdout, /opened/);
        assert.ok(held.length > 0 && held.length <= 48, `${held.length} were handed over`);
        await sandbox.ping(5_000);
        ended.abort();
        await Promise.all(held.filter(({ closed }) => !closed).map((one) => once(one, 'close')));
      }));
  });
}
