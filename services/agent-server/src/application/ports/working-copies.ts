import type { DiffSummary } from '@lemniscate/shared/repository/diff.ts';
import type { OrderedRepository } from '@lemniscate/shared/repository/source.ts';

/** What to lay where. */
export interface LayRequest {
  /** Mirrors are never shared between projects. */
  readonly projectId: string;
  readonly repository: OrderedRepository;
  /** The sandbox' empty workspace folder on the host; no process of the sandbox has run yet. */
  readonly folder: string;
  /**
   * The workspace comes from a checkpoint, and this is the commit that it was laid from: nothing is laid, and the diff
   * is against that commit, wherever the repository's branch is by now.
   */
  readonly restoredFrom?: string;
  /** Owner of what is laid: the uid and gid that commands run as. */
  readonly user: { readonly uid: number; readonly gid: number };
  /** Lays a tree under the folder without copying it; absent: the folder takes copies only. */
  readonly layTree?: (tree: string, under?: string) => Promise<void>;
  /** Fills the folder instead of the usual laying, from what the revision has. Not called with `restoredFrom`. */
  readonly fill?: (revision: Revision) => Promise<void>;
  /** Paths of the workspace that came with an environment: no part of a diff unless the repository has them. */
  readonly installed?: readonly string[];
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
}

/** The commit that is to be laid, on the host, where nothing changes it. */
export interface Revision {
  readonly commit: string;
  /** Its files. Hostile: links may lead anywhere. */
  readonly tree: string;
  /** A file of another commit of the same repository; null where this server has no such commit or file. */
  readAt(commit: string, path: string): Promise<string | null>;
  /** The usual laying, with a tree under it of which these paths are no part of a diff. */
  lay(under?: { readonly tree: string; readonly installed: readonly string[] }): Promise<void>;
}

/** The session's diff with its patch in a spool file that `discard` removes. */
export interface WorkingCopyDiff {
  readonly summary: DiffSummary;
  readonly patchFile: string;
  /** What the person should know about the diff, such as files that could not be read. */
  readonly notices: readonly string[];
}

/** One session's copy of its repository. */
export interface WorkingCopy {
  readonly baseCommit: string;
  readonly baseTree: string;
  /** What the person should know, such as submodules that were left out. */
  readonly notices: readonly string[];
  /** Whether the copy began with a file of this name, no link, at its root. Asks the host's own checkout, not the sandbox. */
  beganWith(name: string): Promise<boolean>;
  /**
   * Makes the diff between the base and the workspace, in a throwaway sandbox, with a git directory that the
   * session's sandbox never saw. To be called only when all of the session's processes are gone.
   */
  diff(signal?: AbortSignal): Promise<WorkingCopyDiff>;
  /** Removes the session's git directory and spool; idempotent. The workspace folder belongs to the sandbox. */
  discard(): Promise<void>;
}

/** Mirror cache and working copies of one agent server. Errors carry the `repository_*` and `revision_missing` codes. */
export interface WorkingCopies {
  lay(request: LayRequest): Promise<WorkingCopy>;
  /** Removes cached repositories beyond the bounds; to be called now and then. @returns what was removed */
  tidy(): Promise<string[]>;
  /** Resolves when nothing is being made in the background any more; after it nothing may be laid. */
  close(): Promise<void>;
  /** Removes what an earlier process left half-made; keeps whole mirrors. */
  recover(): Promise<void>;
  /** Keys of the repositories that are at hand. */
  mirrors(): string[];
}
