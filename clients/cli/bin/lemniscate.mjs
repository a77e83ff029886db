#!/usr/bin/env node
// Plain JavaScript, because it may be started by an older Node: it hands over to the Node that the installation brings.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const wanted = 24;
const here = dirname(fileURLToPath(import.meta.url));
const main = join(here, '..', 'src', 'main.ts');
const bundled = join(
  here,
  '../../..',
  'node_modules',
  `node-${process.platform}-${process.arch}`,
  'bin',
  'node',
);

if (Number(process.versions.node.split('.')[0]) >= wanted) {
  await import(main);
} else if (existsSync(bundled)) {
  const child = spawn(bundled, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both; a signal sent to this process alone is passed on.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
} else {
  console.error(
    `lemniscate needs Node ${wanted} or later; this is ${process.version}. Run "npm ci" in its folder first.`,
  );
  process.exitCode = 1;
}
