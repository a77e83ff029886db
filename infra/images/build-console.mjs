// Builds the web console into a folder, and copies into another one the manifests of the packages that are in it, for the
// bill of materials.
//   build-console.mjs TARGET MANIFESTS
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';

const [target, manifests] = process.argv.slice(2);
if (target === undefined || manifests === undefined)
  throw new Error('usage: build-console.mjs TARGET MANIFESTS');
const root = realpathSync(join(import.meta.dirname, '../..'));
const vite = join(root, 'node_modules/vite/bin/vite.js');
if (!existsSync(vite)) throw new Error('vite is not installed: run npm ci, with the development packages');
execFileSync(
  process.execPath,
  [vite, 'build', '--outDir', resolve(target), '--emptyOutDir', '--bypass-lock', '--logLevel', 'warn'],
  {
    cwd: join(root, 'clients/console'),
    env: { ...process.env, NODE_ENV: 'production' },
    // what it says is about the build; standard output is the caller's
    stdio: ['ignore', 2, 2],
  },
);

mkdirSync(manifests, { recursive: true });
const listed = execFileSync(
  'npm',
  ['ls', '--omit=dev', '--all', '--parseable', '--workspace', '@lemniscate/console'],
  { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'ignore'] },
);
for (const path of listed.trim().split('\n')) {
  const file = join(path, 'package.json');
  const { name, version } = JSON.parse(readFileSync(file, 'utf8'));
  if (name.startsWith('@lemniscate/') || name === 'lemniscate' || name.startsWith('@types/')) continue;
  copyFileSync(file, join(manifests, `${name.replaceAll('/', '+')}@${version}.json`));
}
