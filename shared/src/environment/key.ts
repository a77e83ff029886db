import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** Everything that an environment is made of. */
export interface EnvironmentParts {
  /** Digest of the image or of the host's own system that commands see. */
  readonly base: string;
  readonly prepare: string;
  readonly variables: Readonly<Record<string, string>>;
  /** The lockfiles as they are in the session's commit. */
  readonly inputs: readonly {
    readonly path: string;
    readonly sha256: string;
    readonly executable: boolean;
  }[];
}

/** The environment's name: whatever differs in it differs in its parts, and `prepare` sees nothing else. */
export function environmentKey(parts: EnvironmentParts): string {
  const inputs = parts.inputs.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  return createHash('sha256')
    .update('lemniscate/environment/v1')
    .update(canonicalize({ ...parts, inputs }) ?? '')
    .digest('hex');
}
