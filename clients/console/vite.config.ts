import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';

const compressible = /\.(js|css|svg)$/;

/** Writes each text asset compressed beside it, so that no request costs the dispatcher a compression. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    // After everything is written: earlier hooks still see placeholders in the code.
    async writeBundle({ dir = '' }, bundle) {
      const files = Object.keys(bundle).filter((fileName) => compressible.test(fileName));
      await Promise.all(files.map((fileName) => compress(join(dir, fileName))));
    },
  };
}

async function compress(file: string): Promise<void> {
  const bytes = await readFile(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  await Promise.all([
    writeFile(`${file}.gz`, gzipSync(bytes, { level: 9 })),
    writeFile(`${file}.br`, brotliCompressSync(bytes, { params })),
  ]);
}

// JSX is compiled by the bundler itself; a plugin for React would add hot reloading alone.
export default defineConfig({
  base: '/console/',
  plugins: [precompress()],
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    target: 'es2023',
    // Everything is its own file: the content policy takes no data addresses for fonts and no inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    emptyOutDir: true,
    rolldownOptions: {
      // "use client" speaks to servers that render, and there is none here.
      checks: { moduleLevelDirective: false },
    },
  },
  server: {
    // `npx vite` beside a running fleet: LEMNISCATE_URL names its API.
    proxy: { '/v1': { target: process.env['LEMNISCATE_URL'] ?? 'http://127.0.0.1:7420' } },
  },
});
