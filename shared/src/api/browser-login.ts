import { z } from 'zod';

/** Body of `POST /v1/login/browser`: a link's code, or the token of a login. */
export const browserLoginSchema = z.strictObject({
  code: z.string().min(16).max(128).optional(),
  token: z.string().min(16).max(4096).optional(),
});

/** Answer of `POST /v1/login/links`: a code that opens the console in a browser, once. */
export const browserLinkSchema = z.object({ code: z.string(), expiresAt: z.string() });
