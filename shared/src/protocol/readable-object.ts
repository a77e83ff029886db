import { z } from 'zod';
import { sha256Schema } from './identity.ts';

/** An object in the store as a server is told of it: an address to read from, valid for minutes. */
export const readableObjectSchema = z.object({
  url: z.string(),
  sha256: sha256Schema,
  bytes: z.int().min(1),
});
