import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadProcessorMs } from '../../clock.ts';
import { judgeCommand, maxCommandLength } from './judge-command.ts';

const judge = (command: string, free: readonly string[] = ['ls', 'echo'], approval: readonly string[] = []) =>
  judgeCommand(command, { free, approval });

test('every piece is reported with its own verdict and reason', () => {
  const { verdict, pieces } = judge('ls | make; sudo ls > out');
  assert.equal(verdict, 'refuse');
  assert.deepEqual(
    pieces.map((piece) => [piece.text, piece.verdict]),
    [
      ['ls', 'allow'],
      ['make', 'ask'],
      ['> out', 'ask'],
      ['sudo ls', 'refuse'],
    ],
  );
  for (const piece of pieces) assert.notEqual(piece.reason, '');
});

test('what cannot be judged is disabled, never shortened', () => {
  assert.equal(judge('ls \0').verdict, 'disabled');
  assert.equal(judge(`ls ${'a'.repeat(maxCommandLength)}`).verdict, 'disabled');
  assert.equal(judge(`echo "${'a'.repeat(maxCommandLength - 7)}"`).verdict, 'allow');
  assert.equal(judge(`${'ls; '.repeat(25_000)}sudo ls`).verdict, 'refuse');
});

test('an approval command asks although it is free, and does not lift a refusal', () => {
  assert.equal(judge('ls -R', ['ls'], ['ls -R']).verdict, 'ask');
  assert.equal(judge('ls', ['ls'], ['ls -R']).verdict, 'allow');
  assert.equal(judge('sudo ls', ['sudo'], ['sudo']).verdict, 'refuse');
});

test('prefixes that would cover everything cover nothing', () => {
  for (const free of ['', ' ', '*', '$X', '"$@"', "''"])
    assert.equal(judge('make', [free]).verdict, 'ask', free);
});

test('a quoted prefix is read as the shell reads it', () => {
  assert.equal(judge(`grep 'a b' x`, [`grep "a b"`]).verdict, 'allow');
  assert.equal(judge('ls *.ts', ['ls *.ts']).verdict, 'allow');
});

test('hostile texts of full length end in time', () => {
  const long = (part: string) => part.repeat(Math.floor(99_000 / part.length));
  const texts = [
    long('ls; '),
    long('ls|'),
    long('`'),
    long('$('),
    long('('),
    `x="${long('[')}"; ls $x`,
    `x=a; ls ${long('$x ')}`,
    `parallel '${long('{')}'`,
    `awk '${long('print|"')}'`,
    `sed '${long('s/a/b/;')}'`,
    `git ${long('-c a=b ')}`,
    `ls ${long('{a,b}')}`,
    `rm -rf /${long('../')}`,
    long('env '),
    `concurrently ${long('"ls" ')}`,
    `{ ${long('echo a; ')} } | sh`,
    `${'( '.repeat(200)}echo a${' )|sh'.repeat(200)}`,
    `perl ${`'${'qx('.repeat(1_200)}' `.repeat(25)}`,
    `node ${`'${'run((('.repeat(600)}' `.repeat(25)}`,
    `echo '${long('* ')}' | crontab -`,
    `echo ${long("'a' ")}| xargs -I{} sh -c {}`,
    `ls ${long('$(echo a) ')}`,
    long("$X -c 'ls';"),
    long('/usr/bin/s*d*o '),
    `docker run ${long('--entrypoint sh ')}`,
    `git ${long('-C a ')}clean -fd`,
    `${long('echo a | read x; ')}ls $x`,
    `f() { ls $1; }; ${long('f a b; ')}`,
    `set -- ${long('a ')}; ls $1 $@`,
    `IFS=_; x=a_b; ls ${long('$x ')}`,
    long('cd C:\\; '),
    `for %x in (${long('a').slice(0, 40_000)}) do ${'%x '.repeat(15_000)}"`,
    `npm ${long('--prefix a ')}`,
    `echo '${long('a ')}' | xargs ls`,
  ];
  for (const text of texts) {
    const begin = threadProcessorMs();
    judge(text);
    // the slowest takes 0.3 s on an idle core; what this catches takes minutes
    assert.ok(threadProcessorMs() - begin < 15_000, text.slice(0, 20));
  }
});
