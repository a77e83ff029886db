import { createReadStream, existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { App } from './app.ts';

/**
 * What a page of the console may do: its own files, its own API, and nothing else. Trusted types make every way from
 * text to HTML throw, so what an agent said cannot become markup even by a fault of ours.
 */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cache-control': 'no-cache',
} as const;

/** Headers of every answer: no other page may frame it or read it, and no browser may take it for something else. */
const commonHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const;

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};
/** A file's name as the build makes it: one name, no folder, an ending that is known. */
const fileName = /^[\w-][\w.-]*\.(js|css|svg|woff2)$/;
/** The build has laid these beside each text file. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** Every answer says what it is; what is no page of the console may do nothing at all in a browser. */
export function protectAnswers(app: App): void {
  app.addHook('onSend', async (_request, reply) => {
    void reply.headers(commonHeaders);
    if (!reply.hasHeader('content-security-policy'))
      void reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
  });
}

/**
 * Serves the built console below `/console/`. Every page is the same file, which the browser's own router reads the
 * address of.
 * @param folder of the build; null: the address says what to do. It may be built while the dispatcher serves.
 */
export function registerConsoleFiles(app: App, folder: string | null): void {
  app.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/console/'));
  app.get('/console', { schema: { hide: true } }, (_request, reply) => reply.redirect('/console/'));

  app.get('/console/*', { schema: { hide: true } }, async (_request, reply) => {
    const page = folder === null ? null : await readFile(join(folder, 'index.html')).catch(notThere);
    if (page === null)
      throw new CodedError(
        'not_found',
        'The console is not built here. Run "npm run build" and name its folder in LEMNISCATE_CONSOLE_FOLDER.',
      );
    return reply.headers(pageHeaders).send(page);
  });

  app.get(
    '/console/assets/:file',
    { schema: { hide: true, params: z.object({ file: z.string().max(200) }) } },
    (request, reply) => {
      const { file } = request.params;
      const ending = fileName.exec(file)?.[1];
      const path = join(folder ?? '', 'assets', file);
      if (folder === null || ending === undefined || !existsSync(path))
        throw new CodedError('not_found', 'The console has no such file; it may be one of an older build.');
      const accepted = request.headers['accept-encoding'] ?? '';
      const encoding = encodings.find(([name, end]) => accepted.includes(name) && existsSync(path + end));
      if (encoding !== undefined) void reply.header('content-encoding', encoding[0]);
      return reply
        .headers({
          'content-type': types[ending] ?? 'application/octet-stream',
          // Names hold a digest of what is in them.
          'cache-control': 'public, max-age=31536000, immutable',
          vary: 'accept-encoding',
        })
        .send(createReadStream(`${path}${encoding?.[1] ?? ''}`));
    },
  );
}

function notThere(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
