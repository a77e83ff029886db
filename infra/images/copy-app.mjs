// Copies one service with what it needs to run into a folder: its workspace, those that it imports, and the production
// packages of the lockfile. Links stay links, since Node strips types only outside node_modules.
//   copy-app.mjs WORKSPACE TARGET [LEFT-OUT-PACKAGE…]
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';

const [workspace, target, ...leftOut] = process.argv.slice(2);
if (workspace === undefined || target === undefined)
  throw new Error('usage: copy-app.mjs WORKSPACE TARGET [LEFT-OUT…]');
const root = realpathSync(join(import.meta.dirname, '../..'));
const manifest = JSON.parse(readFileSync(join(root, workspace, 'package.json'), 'utf8'));

const listed = execFileSync(
  'npm',
  ['ls', '--omit=dev', '--all', '--parseable', '--workspace', manifest.name],
  { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'ignore'] },
)
  .trim()
  .split('\n');
const unused =
  /\.(test|integration\.test)\.ts$|\/(testing|fixtures|fuzz)(\/|$)|\.d\.[mc]?ts$|\.map$|\/\.turbo(\/|$)/;
const keeps = (path) => !unused.test(path.slice(root.length));

const copied = new Set();
function copyWorkspace(folder) {
  if (copied.has(folder)) return;
  copied.add(folder);
  cpSync(join(root, folder, 'src'), join(target, folder, 'src'), { recursive: true, filter: keepsOwn });
  for (const part of ['package.json', 'migrations'])
    if (existsSync(join(root, folder, part)))
      cpSync(join(root, folder, part), join(target, folder, part), { recursive: true });
}
// What the scripted model replays is called fixtures, and is not one.
function keepsOwn(path) {
  return !/\.test\.ts$|\/testing(\/|$)/.test(path.slice(root.length));
}

mkdirSync(join(target, 'node_modules'), { recursive: true });
writeFileSync(
  join(target, 'package.json'),
  JSON.stringify({ name: 'lemniscate', private: true, type: 'module' }),
);
copyWorkspace(workspace);
for (const path of listed) {
  const place = relative(root, realpathSync(path));
  // what two versions of are needed lies in the workspace that needs the other one
  const name = place.split('node_modules/').at(-1) ?? '';
  if (name === place) {
    if (place !== '' && existsSync(join(root, place, 'src'))) copyWorkspace(place);
    continue;
  }
  if (leftOut.some((one) => name === one || name.startsWith(`${one}-`)) || name.startsWith('@types/'))
    continue;
  cpSync(join(root, place), join(target, place), {
    recursive: true,
    filter: (from) => keeps(from) && (lstatSync(from).isDirectory() || !from.endsWith('.md')),
  });
}
for (const folder of copied) {
  const { name } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const link = join(target, 'node_modules', name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), join(target, folder)), link);
}
process.stdout.write(`${[...copied].join(' ')}\n`);
