import { z } from 'zod';
import { sha256Schema } from '../protocol/identity.ts';

/** Bounds of a folder of files that travels with sessions, such as a skill or a memory. */
export interface FolderBounds {
  readonly files: number;
  readonly fileBytes: number;
  readonly totalBytes: number;
}

const mebibyte = 1024 * 1024;
export const skillBounds: FolderBounds = { files: 200, fileBytes: mebibyte, totalBytes: 8 * mebibyte };
export const memoryBounds: FolderBounds = { files: 2_000, fileBytes: mebibyte, totalBytes: 16 * mebibyte };
/** Files that an agent authored: reports and pictures. */
export const filesBounds: FolderBounds = {
  files: 500,
  fileBytes: 32 * mebibyte,
  totalBytes: 64 * mebibyte,
};

/**
 * A path inside a folder: relative, of plain names, no name twice as long as any file system takes. What it may not
 * hold would climb out of the folder, hide, or read differently for a person than for a program.
 */
export const folderPathSchema = z
  .string()
  .min(1)
  .max(400)
  .refine(
    (path) =>
      path.isWellFormed() &&
      !/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\\]/.test(path),
    {
      message: 'must be printable',
    },
  )
  .refine(
    (path) =>
      path
        .split('/')
        .every((name) => name !== '' && name !== '.' && name !== '..' && Buffer.byteLength(name) <= 200),
    { message: 'must be a relative path of plain names' },
  );

/** One file by its content's address. */
export const folderFileSchema = z.strictObject({
  path: folderPathSchema,
  sha256: sha256Schema,
  bytes: z.int().min(0),
});
export type FolderFile = z.infer<typeof folderFileSchema>;

/** Why a list of files is no folder within the bounds, as a sentence; null when it is one. */
export function faultOfFolder(files: readonly FolderFile[], bounds: FolderBounds): string | null {
  if (files.length > bounds.files) return `${files.length} files; at most ${bounds.files} are taken`;
  const large = files.find((file) => file.bytes > bounds.fileBytes);
  if (large !== undefined)
    return `${large.path} has ${large.bytes} bytes; at most ${bounds.fileBytes} are taken`;
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  if (total > bounds.totalBytes) return `${total} bytes in all; at most ${bounds.totalBytes} are taken`;
  return clash(files);
}

/** The one name that file systems without regard to case or to forms of letters see. */
export const foldPath = (path: string): string => path.normalize('NFC').toLowerCase();

/** Two names that some file systems take for one, or a name that is a file and a folder. */
function clash(files: readonly FolderFile[]): string | null {
  const names = new Map<string, string>();
  for (const { path } of files) {
    const folded = foldPath(path);
    const twin = names.get(folded);
    if (twin !== undefined) return `${twin} and ${path} are one name on some file systems`;
    names.set(folded, path);
  }
  for (const folded of names.keys())
    for (let cut = folded.lastIndexOf('/'); cut > 0; cut = folded.lastIndexOf('/', cut - 1))
      if (names.has(folded.slice(0, cut))) return `${names.get(folded)} lies below a file`;
  return null;
}
