// Puts the files of a secret in place: `FILES` is a JSON object of names and contents.
//   write-files.mjs FOLDER
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder] = process.argv.slice(2);
const files = JSON.parse(process.env['FILES'] ?? 'null');
if (folder === undefined || files === null || typeof files !== 'object')
  throw new Error('usage: FILES={"name": "content"} write-files.mjs FOLDER');
for (const [name, content] of Object.entries(files)) {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) || typeof content !== 'string')
    throw new Error(`${JSON.stringify(name)} is no file name with a text`);
  writeFileSync(join(folder, name), content, { mode: 0o600 });
}
