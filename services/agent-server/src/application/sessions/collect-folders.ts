import { extract } from 'tar-stream';
import {
  faultOfFolder,
  filesBounds,
  folderPathSchema,
  memoryBounds,
} from '@lemniscate/shared/agents/folder.ts';
import type { FolderBounds, FolderFile } from '@lemniscate/shared/agents/folder.ts';
import { sessionEnds } from '@lemniscate/shared/session/end.ts';
import type { CollectedFolders } from '@lemniscate/shared/protocol/session-result.ts';
import type { Sandbox } from '../ports/sandbox-driver.ts';
import type { Ending } from './ending.ts';
import { laidBefore, secretKinds } from './refuse-secrets.ts';
import type { RefusedFile } from './refuse-secrets.ts';
import type { SessionContext } from './session-context.ts';

type FolderName = Exclude<keyof CollectedFolders, 'refused'>;

const bounds: Readonly<Record<FolderName, FolderBounds>> = { memory: memoryBounds, files: filesBounds };
const collectMs = 30_000;
/** Beside the contents: headers and padding of the archive. */
const overheadBytes = 8 * 1024 * 1024;

const script = `
cd /home/agent || exit 0
for folder do [ -d "$folder" ] && [ ! -L "$folder" ] && found="$found $folder"; done
[ -n "$found" ] || exit 0
exec tar --create --file=- --hard-dereference -- $found`;

/**
 * What the agent has left in `/home/agent`, as the table of ends wants it: read out of the sandbox while it lives, for
 * it is the agent's own word anyway. Everything in it is hostile: only plain files with plain names within the bounds
 * are taken, and a folder that breaks them is left as a whole, with a notice.
 */
export async function collectFolders(
  context: SessionContext,
  sandbox: Sandbox,
  ending: Ending,
): Promise<CollectedFolders | null> {
  const end = sessionEnds[ending.reason];
  const names = (context.order.collect ?? []).filter((name) =>
    name === 'memory' ? end.pushMemory : end.diff === 'yes',
  );
  if (names.length === 0) return null;
  try {
    return await context.timings.measure('collect', () => collect(context, sandbox, names));
  } catch (error) {
    context.interruption.everything.throwIfAborted();
    context.deps.log.warn({ ...context.held, err: error }, 'the folders could not be collected');
    context.journal.emit({
      type: 'notice',
      text: 'What the agent kept outside the repository could not be read.',
    });
    return null;
  }
}

async function collect(
  context: SessionContext,
  sandbox: Sandbox,
  names: readonly FolderName[],
): Promise<CollectedFolders> {
  const maxBytes = names.reduce((sum, name) => sum + bounds[name].totalBytes, overheadBytes);
  const execution = sandbox.run({
    argv: ['bash', '--noprofile', '--norc', '-c', script, 'collect', ...names],
    timeoutMs: collectMs,
    maxOutputBytes: maxBytes,
    signal: context.interruption.everything,
  });
  const found = new Map<FolderName, FolderFile[]>(names.map((name) => [name, []]));
  const skipped: string[] = [];
  const refused: RefusedFile[] = [];
  const reader = extract();
  const reading = readEntries(context, reader, found, { skipped, refused });
  // Observed below; while bytes still come its failure must not be nobody's.
  reading.catch(() => undefined);
  for await (const { stream, bytes } of execution.output)
    if (stream === 'stdout' && !reader.destroyed && !reader.write(bytes)) await drained(reader);
  reader.end();
  const end = await execution.end;
  if (end.droppedBytes > 0) {
    reader.destroy();
    context.journal.emit({
      type: 'notice',
      text: `What the agent kept is larger than ${maxBytes} bytes and was left.`,
    });
    return {};
  }
  await reading;
  for (const path of skipped.slice(0, 20))
    context.journal.emit({
      type: 'notice',
      text: `${path.slice(0, 300)} is no plain file with a plain name and a size within the bounds, and was left; what the memory had there stays.`,
    });
  for (const { path, kinds } of refused.slice(0, 20))
    context.journal.emit({
      type: 'notice',
      text: `memory/${path} holds what looks like a secret (${kinds.join(', ')}) and is not remembered.`.slice(
        0,
        4000,
      ),
    });
  return {
    ...Object.fromEntries([...found].flatMap(([name, files]) => kept(context, name, files))),
    ...(refused.length === 0 ? {} : { refused }),
  };
}

function kept(context: SessionContext, name: FolderName, files: FolderFile[]): [FolderName, FolderFile[]][] {
  const fault = faultOfFolder(files, bounds[name]);
  if (fault === null) return [[name, files]];
  context.journal.emit({
    type: 'notice',
    text: `The folder "${name}" was left as it is: ${fault}.`.slice(0, 4000),
  });
  return [];
}

function drained(reader: ReturnType<typeof extract>): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      reader.off('drain', go);
      reader.off('close', go);
      resolve();
    };
    reader.on('drain', go);
    reader.on('close', go);
  });
}

async function readEntries(
  { deps, order }: SessionContext,
  reader: ReturnType<typeof extract>,
  found: Map<FolderName, FolderFile[]>,
  { skipped, refused }: { readonly skipped: string[]; readonly refused: RefusedFile[] },
): Promise<void> {
  for await (const entry of reader) {
    const { name, type } = entry.header;
    const [folder = '', ...rest] = name.split('/');
    const list = found.get(folder as FolderName);
    const path = folderPathSchema.safeParse(rest.join('/'));
    const limit = bounds[folder as FolderName]?.fileBytes ?? 0;
    // The memory keeps what it had where something cannot be kept: left out, it would read as a file that the agent has removed.
    const keepBefore = (): void => {
      const before = folder === 'memory' ? laidBefore(order, rest.join('/')) : undefined;
      if (before !== undefined) list?.push(before);
    };
    if (type !== 'file' || list === undefined || !path.success || (entry.header.size ?? 0) > limit) {
      if (type !== 'directory') {
        skipped.push(name);
        keepBefore();
      }
      entry.resume();
      continue;
    }
    const pieces: Buffer[] = [];
    for await (const piece of entry as AsyncIterable<Buffer>) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    const kinds = folder === 'memory' ? secretKinds(path.data, bytes) : [];
    if (kinds.length > 0) {
      refused.push({ path: path.data, kinds });
      keepBefore();
      continue;
    }
    const { sha256 } = await deps.objectCache.keep(bytes);
    list.push({ path: path.data, sha256, bytes: bytes.length });
  }
}
