import type { ReadableObject } from './snapshots.ts';

/** Who commands run as; what lies in a tree is theirs. */
interface HostUser {
  readonly uid: number;
  readonly gid: number;
}

/** What an environment puts under a session's folders: trees that never change. */
export interface EnvironmentTrees {
  readonly workspace: string;
  readonly home: string;
  /** The trees may be removed once nobody holds them. Idempotent. */
  release(): void;
}

/** A place where a scan has found what looks like a secret; never the secret. */
export interface SecretPlace {
  /** Relative to the environment, as in `workspace/.npmrc`. */
  readonly path: string;
  readonly kind: string;
}

/** Environments as trees on this server, by project and by the digest of their archive. */
export interface Environments {
  /** @throws CodedError `storage_failed`, `digest_mismatch`, `checkpoint_unreadable`; the signal's reason */
  bring(
    projectId: string,
    archive: ReadableObject,
    user: HostUser,
    signal: AbortSignal,
  ): Promise<EnvironmentTrees>;
  /** The same from a file that this server has just packed. */
  keep(
    projectId: string,
    packed: { readonly file: string; readonly sha256: string },
    user: HostUser,
    signal: AbortSignal,
  ): Promise<EnvironmentTrees>;
  /** Forgets a tree that turned out not to be fit for use. */
  drop(projectId: string, sha256: string, user: HostUser): Promise<void>;
  /** Looks for secrets in the text files of both trees. */
  scan(trees: Pick<EnvironmentTrees, 'workspace' | 'home'>, signal: AbortSignal): Promise<SecretPlace[]>;
  /** Digest of what commands see as their system under this profile. */
  baseOf(profileName: string): Promise<string>;
  /** Copies a tree into a folder of a sandbox, for machines that cannot lay one over another. */
  copy(tree: string, folder: string, user: HostUser, signal: AbortSignal): Promise<void>;
  /** Removes the longest unused beyond the bound. @returns what was removed */
  tidy(): Promise<string[]>;
  /** Removes what an earlier process left half-made. */
  recover(): Promise<void>;
}
