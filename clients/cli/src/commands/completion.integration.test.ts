import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

const program = fileURLToPath(new URL('../../bin/lemniscate.mjs', import.meta.url));

test('a real bash that sources the completion completes a subcommand', () => {
  const script = `
    lemniscate() { "$NODE" "$PROGRAM" "$@"; }
    source <(lemniscate completion bash)
    COMP_WORDS=(lemniscate aud); COMP_CWORD=1; COMP_LINE='lemniscate aud'; COMP_POINT=14
    __lemniscate_complete
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const found = execFileSync('bash', ['--norc', '-c', script], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], NODE: process.execPath, PROGRAM: program },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 30_000,
  });
  assert.deepEqual(
    found
      .trim()
      .split('\n')
      .map((line) => line.split(/\s/)[0]),
    ['audit'],
  );
});
