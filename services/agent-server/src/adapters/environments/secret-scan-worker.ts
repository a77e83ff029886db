import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { findSecrets } from '@lemniscate/shared/secrets/redact.ts';

/** Larger files are data. */
const maxFileBytes = 1024 * 1024;
const maxPlaces = 100;

/**
 * Walks trees that nobody changes any more. No link is followed: neither of a folder, which is not walked, nor of a
 * file, which is not opened.
 */
function scan(root: string, name: string, found: { path: string; kind: string }[]): void {
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      if (found.length >= maxPlaces) return;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      if (!entry.isFile()) continue;
      const text = readText(join(root, path));
      const secret = text === null ? undefined : findSecrets(text)[0];
      if (secret !== undefined) found.push({ path: `${name}/${path}`, kind: secret.kind });
    }
  }
}

function readText(path: string): string | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    // its own maker took the right to read it away; no command of a session can read it either
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return null;
    throw error;
  }
  try {
    const facts = fstatSync(file);
    if (!facts.isFile() || facts.size === 0 || facts.size > maxFileBytes) return null;
    const bytes = Buffer.alloc(facts.size);
    const read = readSync(file, bytes, 0, bytes.length, 0);
    const content = bytes.subarray(0, read);
    // what has a NUL is no text
    return content.includes(0) ? null : content.toString('utf8');
  } finally {
    closeSync(file);
  }
}

const { trees } = workerData as { trees: { readonly name: string; readonly root: string }[] };
const found: { path: string; kind: string }[] = [];
for (const { name, root } of trees) scan(root, name, found);
parentPort?.postMessage(found, []);
