import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { startToolBench } from '../../testing/tool-bench.ts';
import { toolContract } from './tool-contract.ts';

toolContract({
  read_file: { absent: { path: 'absent' }, valid: { path: 'absent' } },
  write_file: { absent: { path: 'a/b/c', content: '' }, valid: { path: 'x', content: 'x' } },
  edit_file: {
    absent: { path: 'absent', old_text: 'a', new_text: 'b' },
    valid: { path: 'absent', old_text: 'a', new_text: 'b' },
  },
  list_files: { absent: { path: 'absent' }, valid: {} },
  search_files: { absent: { pattern: 'x', path: 'absent' }, valid: { pattern: 'x' } },
  run_command: { absent: { command: 'no-such-program' }, valid: { command: 'sleep 60' } },
});

suite('files', () => {
  test('are written whole, with folders on the way, and read with numbers', async (t) => {
    const bench = await startToolBench(t);
    assert.equal(
      (await bench.use('write_file', { path: 'a/b/-x é.txt', content: 'one\ntwo\nthree\n' })).isError,
      false,
    );
    const whole = await bench.use('read_file', { path: 'a/b/-x é.txt' });
    assert.equal(whole.text, '     1\tone\n     2\ttwo\n     3\tthree');
    const part = await bench.use('read_file', { path: 'a/b/-x é.txt', offset: 2, limit: 1 });
    assert.equal(part.text, '     2\ttwo\n(The file goes on; read further with offset 3.)');
    const past = await bench.use('read_file', { path: 'a/b/-x é.txt', offset: 9 });
    assert.match(past.text, /fewer than 9 lines/);
    assert.equal(await bench.bash('ls -A a/b'), '-x é.txt\n(Exit code 0.)');
  });

  test('names that look like options or substitutions are only names', async (t) => {
    const bench = await startToolBench(t);
    for (const path of ['-rf', '--help', '$(touch pwned)', '`touch pwned`', 'a\'b"c', ' ', 'new\nline']) {
      assert.equal((await bench.use('write_file', { path, content: `of ${path}` })).isError, false, path);
      assert.match((await bench.use('read_file', { path })).text, /of /, path);
      assert.equal(
        (await bench.use('edit_file', { path, old_text: 'of ', new_text: '$& $1 ' })).isError,
        false,
        path,
      );
      assert.match((await bench.use('read_file', { path })).text, /\$& \$1 /, path);
      await bench.use('search_files', { pattern: 'of', path });
      await bench.use('list_files', { path });
    }
    assert.match(await bench.bash('ls pwned'), /cannot access/);
  });

  test('folders, devices, pipes, binary and huge files are refused with a sentence', async (t) => {
    const bench = await startToolBench(t);
    await bench.bash(
      'mkdir folder; mkfifo pipe; printf "a\\0b" > binary; head -c 5M /dev/zero | tr "\\0" x > huge; printf "\\xff\\xfe" > latin',
    );
    assert.match((await bench.use('read_file', { path: 'folder' })).text, /is a folder/);
    assert.match((await bench.use('write_file', { path: 'folder', content: '' })).text, /is a folder/);
    assert.match((await bench.use('read_file', { path: 'pipe' })).text, /not a regular file/);
    assert.match((await bench.use('read_file', { path: '/dev/zero' })).text, /not a regular file/);
    assert.match((await bench.use('read_file', { path: 'binary' })).text, /binary/);
    assert.match((await bench.use('read_file', { path: 'huge' })).text, /longer than 131072 bytes/);
    assert.match(
      (await bench.use('edit_file', { path: 'huge', old_text: 'x', new_text: 'y' })).text,
      /larger than/,
    );
    assert.match(
      (await bench.use('edit_file', { path: 'latin', old_text: 'x', new_text: 'y' })).text,
      /not a UTF-8/,
    );
    assert.match(
      (await bench.use('write_file', { path: '/etc/passwd', content: '' })).text,
      /Read-only|Permission/,
    );
  });

  test('nothing is written through a symbolic link: what was judged is the path as it was named', async (t) => {
    const bench = await startToolBench(t);
    await bench.bash(
      'mkdir -p .github/workflows docs; ln -s ../.github docs/ci; echo old > .github/workflows/ci.yml',
    );
    await bench.bash(
      'ln -s .github/workflows/ci.yml notes; ln -s .github/new dangling; mkdir plain; echo one > plain/a',
    );
    const through: [string, RegExp][] = [
      ['docs/ci/workflows/ci.yml', /Name the file itself: \.github\/workflows\/ci\.yml/],
      ['docs/ci/fresh.yml', /\.github\/fresh\.yml/],
      ['docs/ci/../x', /Name the file itself: x/],
      ['notes', /\.github\/workflows\/ci\.yml/],
      ['dangling', /\.github\/new/],
      ['/proc/self/cwd/.github/workflows/ci.yml', /symbolic link/],
    ];
    for (const [path, told] of through) {
      const written = await bench.use('write_file', { path, content: 'evil' });
      assert.ok(written.isError, path);
      assert.match(written.text, told, path);
      const edited = await bench.use('edit_file', { path, old_text: 'old', new_text: 'evil' });
      assert.ok(edited.isError, path);
    }
    assert.equal(
      await bench.bash('cat .github/workflows/ci.yml; ls .github'),
      'old\nworkflows\n(Exit code 0.)',
    );
    for (const path of ['plain/a', './plain/../plain/a', '/workspace/plain/a'])
      assert.equal((await bench.use('write_file', { path, content: 'two' })).isError, false, path);
  });

  test('the mode survives a write; a failed one leaves nothing behind', async (t) => {
    const bench = await startToolBench(t);
    await bench.bash('echo old > real; chmod 751 real; mkdir locked; chmod 555 locked');
    assert.equal((await bench.use('write_file', { path: 'real', content: 'new' })).isError, false);
    assert.equal(await bench.bash('stat -c %a real; cat real'), '751\nnew\n(Exit code 0.)');
    assert.equal((await bench.use('write_file', { path: 'locked/x', content: 'x' })).isError, true);
    assert.equal((await bench.use('write_file', { path: 'fresh', content: '' })).isError, false);
    assert.equal(
      await bench.bash('ls -A . locked; stat -c %a fresh'),
      '.:\nfresh\nlocked\nreal\n\nlocked:\n644\n(Exit code 0.)',
    );
  });

  test('an edit wants exactly one place, keeps CR LF and the byte-order mark', async (t) => {
    const bench = await startToolBench(t);
    await bench.bash(`printf '\\xef\\xbb\\xbfone\\r\\ntwo\\r\\none\\r\\n' > dos`);
    assert.match(
      (await bench.use('edit_file', { path: 'dos', old_text: 'one', new_text: '1' })).text,
      /occurs 2 times/,
    );
    assert.match(
      (await bench.use('edit_file', { path: 'dos', old_text: 'three', new_text: '3' })).text,
      /does not occur/,
    );
    assert.equal(
      (await bench.use('edit_file', { path: 'dos', old_text: 'one\ntwo\n', new_text: '1\n2\n' })).isError,
      false,
    );
    assert.equal(
      (await bench.use('edit_file', { path: 'dos', old_text: 'one', new_text: '1', replace_all: true }))
        .isError,
      false,
    );
    assert.match(
      await bench.bash('od -c dos'),
      /357 273 277 {3}1 {2}\\r {2}\\n {3}2 {2}\\r {2}\\n {3}1 {2}\\r {2}\\n/,
    );
    assert.match((await bench.use('read_file', { path: 'dos' })).text, /CR LF/);
  });
});

suite('looking around', () => {
  test('lists without version control and dependencies, and says what is a folder', async (t) => {
    const bench = await startToolBench(t);
    await bench.bash(
      'mkdir -p src/deep/er/est node_modules/x .git; touch src/a .git/config node_modules/x/y; ln -s src link',
    );
    assert.equal((await bench.use('list_files', {})).text, 'link@\nsrc/\nsrc/a\nsrc/deep/\nsrc/deep/er/');
    assert.equal((await bench.use('list_files', { path: 'src', depth: 1 })).text, 'a\ndeep/');
    assert.match((await bench.use('list_files', { path: 'src/a' })).text, /not a folder/);
  });

  test('searches with extended expressions, bounded', async (t) => {
    const bench = await startToolBench(t);
    await bench.bash(
      'mkdir -p d .git; echo "let x = 1" > d/a; echo "let y = 2" > .git/b; printf "let\\0z" > bin; mkfifo pipe; yes "many many" | head -n 5000 > many',
    );
    assert.equal((await bench.use('search_files', { pattern: 'let (x|y)' })).text, 'd/a:1:let x = 1');
    assert.equal((await bench.use('search_files', { pattern: 'absent' })).text, 'No match.');
    assert.equal((await bench.use('search_files', { pattern: '(' })).isError, true);
    const many = (await bench.use('search_files', { pattern: 'many' })).text.split('\n');
    assert.equal(many.length, 200);
  });
});

suite('commands', () => {
  test('stream their output and tell the model both streams and the code', async (t) => {
    const bench = await startToolBench(t);
    const result = await bench.use('run_command', { command: 'echo out; echo err >&2; exit 3' });
    assert.deepEqual([result.isError, result.exitCode], [false, 3]);
    assert.match(result.text, /out\n/);
    assert.match(result.text, /err\n/);
    assert.match(result.text, /\(Exit code 3\.\)$/);
    assert.deepEqual(bench.output.sort(), ['stderr:err\n', 'stdout:out\n']);
  });

  test('text that is cut between the bytes of a character stays whole', async (t) => {
    const bench = await startToolBench(t);
    await bench.use('run_command', {
      command: String.raw`printf '\xe2\x82'; sleep 0.2; printf '\xac\xf0\x9f'; sleep 0.2; printf '\x98\x80'`,
    });
    assert.equal(bench.output.map((piece) => piece.slice('stdout:'.length)).join(''), '€😀');
  });

  test('what goes past the bounds is counted and left out, and memory stays small', async (t) => {
    const bench = await startToolBench(t);
    const result = await bench.use(
      'run_command',
      { command: 'yes 0123456789 | head -c 3M; echo END' },
      { commandMaxOutputBytes: 2 * 1024 * 1024 },
    );
    assert.ok((result.droppedBytes ?? 0) >= 1024 * 1024);
    assert.ok(result.text.length < 40_000);
    assert.match(result.text, /characters left out/);
  });

  test('a command is ended at its time bound with everything it started', async (t) => {
    const bench = await startToolBench(t);
    const result = await bench.use('run_command', {
      command: 'echo before; sleep 77 & sleep 77',
      timeout_seconds: 1,
    });
    assert.equal(result.isError, true);
    assert.match(result.text, /before[\s\S]*Ended after 1 s/);
    assert.doesNotMatch(await bench.bash('cat /proc/[0-9]*/cmdline | tr "\\0" " "'), /sleep 77/);
  });

  test('no profile is read and nothing of the host’s environment is seen', async (t) => {
    process.env['LEMNISCATE_TEST_HOST_SECRET'] = 'do-not-show';
    t.after(() => delete process.env['LEMNISCATE_TEST_HOST_SECRET']);
    const bench = await startToolBench(t);
    assert.doesNotMatch(await bench.bash('env'), /do-not-show|BASH_ENV/);
  });
});
