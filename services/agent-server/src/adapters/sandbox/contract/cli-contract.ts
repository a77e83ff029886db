import assert from 'node:assert/strict';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { findCliBundle } from '../cli-bundle.ts';
import { bash, contractProfile, run, until, withSandbox } from './harness.ts';
import type { ContractSubject } from './harness.ts';

/** How each program waits for its host to speak. */
const waiting: Readonly<Record<string, readonly string[]>> = {
  'claude-code': [
    'claude',
    '-p',
    '--input-format',
    'stream-json',
    '--output-format',
    'stream-json',
    '--verbose',
  ],
  codex: ['bin/codex', 'app-server'],
};

/** What a command would need to speak in the program's place, by /proc: its own uid is all that the kernel asks for. */
const attack = `my $p; for (map { m{(\\d+)$} } glob "/proc/[0-9]*") { open(my $h, "<", "/proc/$_/cmdline") or next; $p = $_ if (<$h> // "") =~ /^\\Q$ENV{PROGRAM}\\E\\0/ }
  exit unless $p; print "FOUND\\n";
  for my $f (0, 1) { print "ESCAPED descriptor $f\\n" if open(my $h, ">>", "/proc/$p/fd/$f") }
  print "ESCAPED memory\\n" if open(my $m, "+<", "/proc/$p/mem");
  open(my $e, "<", "/proc/$p/environ") or exit; print "ESCAPED environment\\n" if defined sysread($e, my $b, 1);`;

/** A command-line agent shares its uid with what it runs, and still nobody speaks in its place. */
export function describeCliWalls(subject: ContractSubject): void {
  describe('a command-line agent', () => {
    const readable = subject.profile.ociRuntime === 'runsc';
    const why = 'own-kernel: gVisor runs no program that its user cannot read';
    const mebibyte = 1024 * 1024;
    const roomy = { ...contractProfile(subject), memoryBytes: 1024 * mebibyte, processes: 256 };

    /** Starts a program that waits for its host, and attacks it by another command. */
    const attacked = (argv: readonly string[]): Promise<string> =>
      withSandbox(
        subject,
        subject.create(),
        async (sandbox) => {
          const [program = ''] = argv;
          const ended = new AbortController();
          const input = new PassThrough();
          const execution = sandbox.run({
            argv,
            input,
            timeoutMs: 60_000,
            maxOutputBytes: mebibyte,
            signal: ended.signal,
          });
          const env = { PROGRAM: program };
          let said = '';
          await until(
            'the program is up',
            async () => {
              said = (await run(sandbox, ['perl', '-e', attack], { env })).stdout;
              return said.includes('FOUND');
            },
            60_000,
          );
          ended.abort();
          input.end();
          await execution.end;
          return said;
        },
        roomy,
      );

    for (const { target, name } of findCliBundle()) {
      const [program = '', ...args] = waiting[target.split('/').at(-1) ?? ''] ?? [];
      it(`${name} keeps its descriptors, memory and environment to itself`, async (test) => {
        if (readable) return test.skip(why);
        assert.equal(await attacked([join(target, program), ...args]), 'FOUND\n');
      });
    }

    it('of a program that everyone may read they are open, so that the above can fail', async () => {
      assert.match(await attacked(['/bin/cat']), /ESCAPED descriptor 1[^]*ESCAPED environment/);
    });

    it('cannot be read', (test) => {
      if (readable) return test.skip(why);
      return withSandbox(subject, subject.create(), async (sandbox) => {
        for (const { target, programs } of findCliBundle())
          for (const program of programs) {
            const read = await bash(sandbox, `head -c 1 ${join(target, program)}`);
            assert.equal(read.exitCode, 1, program);
          }
      });
    });
  });
}
