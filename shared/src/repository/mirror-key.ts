import { createHash } from 'node:crypto';
import type { OrderedRepository, RepositorySource } from './source.ts';

/**
 * Names a repository in the caches of agent servers: mirrors are never shared between projects, and a bundle is named
 * by its content.
 */
export function mirrorKey(projectId: string, repository: OrderedRepository | RepositorySource): string {
  const source =
    repository.kind === 'bundle'
      ? repository.sha256
      : repository.kind === 'git'
        ? repository.url
        : repository.path;
  const parts = [projectId, repository.kind, source];
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`);
  return hash.digest('hex').slice(0, 40);
}
