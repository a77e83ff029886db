import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPatch } from './patch-model.ts';

const patch = `diff --git a/src/line.js b/src/line.js
index 1111111..2222222 100644
--- a/src/line.js
+++ b/src/line.js
@@ -1,3 +1,4 @@
 const a = 1;
-const total = quantity + price;
+const total = quantity * price;
+const more = true;
 export { a };
diff --git a/new.txt b/new.txt
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+hello
\\ No newline at end of file
diff --git a/logo.png b/logo.png
index 4444444..5555555 100644
GIT binary patch
literal 3
Kc\${NkU|;|M0RR9

literal 3
Kc\${NkU|;|M0RR9

diff --git a/old.txt b/older.txt
similarity index 100%
rename from old.txt
rename to older.txt
`;

test('a changed line stands beside its successor, with the words that differ marked', () => {
  const [file] = readPatch(patch);
  assert.equal(file?.path, 'src/line.js');
  const rows = file?.hunks[0]?.rows ?? [];
  assert.equal(rows.length, 4);
  const changed = (side: 'left' | 'right') =>
    rows[1]?.[side]?.pieces.filter((piece) => piece.changed).map(({ text }) => text.trim());
  assert.deepEqual([changed('left'), changed('right')], [['+'], ['*']]);
  assert.equal(rows[2]?.left, null);
  assert.deepEqual([rows[3]?.left?.number, rows[3]?.right?.number], [3, 4]);
});

test('new, binary and renamed files are told by their paths', () => {
  const files = readPatch(patch);
  assert.deepEqual(
    files.map((file) => file.path),
    ['src/line.js', 'new.txt', 'logo.png', 'older.txt'],
  );
  assert.deepEqual(files[2]?.hunks, []);
  assert.equal(files[1]?.hunks[0]?.rows.length, 1);
});

test('a line that looks like a file header inside a hunk stays a line', () => {
  const hostile = `diff --git a/a.txt b/a.txt
index 1111111..2222222 100644
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
--- a/secret
+++ b/secret
 same
`;
  const files = readPatch(hostile);
  assert.equal(files.length, 1);
  assert.equal(files[0]?.hunks[0]?.rows[0]?.right?.pieces.map(({ text }) => text).join(''), '++ b/secret');
});
