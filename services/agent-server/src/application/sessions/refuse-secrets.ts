import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import { findSecrets } from '@lemniscate/shared/secrets/redact.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';

/** A file of the memory that holds what looks like a secret: where and what kind, never the secret. */
export interface RefusedFile {
  readonly path: string;
  readonly kinds: string[];
}

const maxKinds = 20;

/**
 * Kinds of secrets in a file that an agent wants to keep; none: it may be kept. What is remembered is given to every
 * later session of the agent, so a secret in it would outlive whoever it was given to.
 */
export function secretKinds(path: string, content: Buffer): string[] {
  const found = findSecrets(`${path}\n${content.toString('utf8')}`);
  return [...new Set(found.map(({ kind }) => kind.slice(0, 64)))].slice(0, maxKinds);
}

/** What the memory had at that path when the session began; undefined: nothing. */
export function laidBefore(order: SessionOrder, path: string): FolderFile | undefined {
  const memory = order.attachments?.find(({ folder }) => folder === 'memory');
  return memory?.files.find((file) => file.path === path);
}
