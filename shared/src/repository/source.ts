import { z } from 'zod';
import { sha256Schema } from '../protocol/identity.ts';
import { largeFileModes } from './lfs-pointer.ts';

const revision = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^-\s\0][^\s\0]*$/, 'must be a revision that does not begin with a dash');
/** A secret in an address would be shown to everybody who may see the session, and in every log. */
const gitUrl = z
  .string()
  .min(1)
  .max(2048)
  .refine((text) => !holdsSecret(text), 'must not hold a password or a token; give the address without it');
const commit = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/, 'must be a full commit id');

/**
 * Where a session's repository comes from, as the caller names it.
 * - `bundle`: a git bundle uploaded before; `commit` is the tip that the working copy is laid from and the diff is
 *   against. It may hold the caller's uncommitted changes as its last commit.
 * - `git`: an address that the agent server fetches from (https or ssh).
 * - `path`: a folder on the agent server's own machine; embedded fleets and workstations only.
 */
export const repositorySourceSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('bundle'),
      sha256: sha256Schema,
      commit,
      name: z.string().min(1).max(256),
    }),
    z.strictObject({ kind: z.literal('git'), url: gitUrl, revision: revision.optional() }),
    z.strictObject({
      kind: z.literal('path'),
      path: z.string().min(1).max(4096),
      revision: revision.optional(),
    }),
  ])
  .meta({ id: 'RepositorySource' });
export type RepositorySource = z.infer<typeof repositorySourceSchema>;

/** How much of a repository is fetched; for huge ones. */
export const fetchDepthSchema = z.strictObject({
  /** Commits of history; absent: all of it. The working copy itself shows fifty at most. */
  depth: z.int().min(1).max(10_000).optional(),
  /** Of files only those that the session's commit has; older contents stay where they are. */
  partial: z.boolean().optional(),
  /**
   * Contents of Git LFS files; absent: their pointers stay. `required`: a session does not begin without all of them;
   * `available`: what cannot be had stays a pointer, and is told.
   */
  lfs: z.enum(largeFileModes).optional(),
});
export type FetchDepth = z.infer<typeof fetchDepthSchema>;

/** The same as it reaches an agent server: a bundle comes with an address to read it from, valid for minutes. */
export const orderedRepositorySchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('bundle'),
    sha256: sha256Schema,
    commit,
    name: z.string(),
    url: z.string(),
    lfs: z.enum(largeFileModes).optional(),
  }),
  z.object({
    kind: z.literal('git'),
    url: z.string(),
    revision: revision.optional(),
    fetch: fetchDepthSchema.optional(),
  }),
  z.object({
    kind: z.literal('path'),
    path: z.string(),
    revision: revision.optional(),
    fetch: fetchDepthSchema.optional(),
  }),
]);
export type OrderedRepository = z.infer<typeof orderedRepositorySchema>;

/** A user name is no secret over ssh; over https it is often a token. */
function holdsSecret(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return password !== '' || (username !== '' && protocol !== 'ssh:');
}
