/** The two folders that a session's agent can write to, on the host, and who owns what lies in them. */
export interface SnapshotFolders {
  readonly workspace: string;
  readonly home: string;
  readonly user: { readonly uid: number; readonly gid: number };
}

/** A file on its way to or from the object store; `discard` is idempotent. */
export interface SpooledFile {
  readonly file: string;
  readonly sha256: string;
  readonly bytes: number;
  discard(): Promise<void>;
}

/** Both folders in one file, with the digest of each one's part. */
export interface PackedSnapshot extends SpooledFile {
  readonly workspaceDigest: string;
  readonly homeDigest: string;
}

/** An object as an order names it. */
export interface ReadableObject {
  readonly url: string;
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * Workspace and home as one file. Packing and unpacking happen in a throwaway sandbox, and only while nothing of the
 * agent runs. What comes out is what went in: modes, times, links, holes, empty folders, extended attributes.
 */
export interface Snapshots {
  /** @throws CodedError `checkpoint_failed`; the signal's reason */
  pack(folders: SnapshotFolders, signal: AbortSignal): Promise<PackedSnapshot>;
  /** Into two empty folders. @throws CodedError `checkpoint_unreadable`; the signal's reason */
  unpack(file: string, folders: SnapshotFolders, signal: AbortSignal): Promise<void>;
  /** Puts bytes into a file, to be uploaded. */
  spool(bytes: Uint8Array): Promise<SpooledFile>;
  /** Reads an object into a file and verifies it. @throws CodedError `storage_failed`, `digest_mismatch` */
  download(object: ReadableObject, signal: AbortSignal): Promise<SpooledFile>;
  /** Removes what an earlier process left. */
  recover(): Promise<void>;
}
