/** A large file of Git LFS: what a pointer in the repository stands for. */
export interface LfsObject {
  /** sha256 of the contents, in hexadecimal. */
  readonly oid: string;
  /** Bytes. */
  readonly size: number;
}

/** What projects may ask for: every large file, or those that can be had. */
export const largeFileModes = ['required', 'available'] as const;
export type LargeFileMode = (typeof largeFileModes)[number];

/**
 * Where the contents lie in a bundle that brings them: a commit whose tree has an object a file, named by its id. What is
 * in them is judged by the id, so whoever sends them can give nothing else.
 */
export const bundledLargeFilesRef = 'refs/lemniscate/large-files';

const version = 'version https://git-lfs.github.com/spec/v1';
const pointer = new RegExp(
  `^${version.replaceAll('.', '\\.')}\noid sha256:([0-9a-f]{64})\nsize (0|[1-9][0-9]{0,15})\n$`,
);

/**
 * Reads a pointer in its canonical form, which is what git-lfs writes; null for any other text. One with extensions or
 * in another order is none: from its contents alone it could not be written again byte for byte.
 * Source: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md#the-pointer
 */
export function parseLfsPointer(text: string): LfsObject | null {
  const [, oid, size] = pointer.exec(text) ?? [];
  if (oid === undefined || size === undefined || !Number.isSafeInteger(Number(size))) return null;
  return { oid, size: Number(size) };
}

/** The canonical pointer, byte for byte. */
export function lfsPointerText({ oid, size }: LfsObject): string {
  return `${version}\noid sha256:${oid}\nsize ${size}\n`;
}
