import { hasUnknown, isKnown, mark, showMarks } from '../syntax/marks.ts';
import { isTemporary, pathKind, plainPath } from '../paths/path-kind.ts';
import type { PathKind } from '../paths/path-kind.ts';
import { isWindowsDevice, isWindowsSystemPath } from '../paths/windows-path.ts';
import type { Call, Refusal } from './call.ts';
import { folderOf, gitCommandAt } from '../wrappers/git.ts';
import { hasOption, operandsOf } from './call.ts';

const destroyedKinds: Partial<Record<PathKind, string>> = {
  root: 'deletes a root directory',
  system: 'deletes a system directory',
  systemFile: 'deletes system files',
  device: 'deletes a device',
  sink: 'deletes a device',
};

/** Deletion in every spelling; the flags do not matter when the target is the system's. */
const deletes: Refusal = (call) => deletesPaths(call, operandsOf(call), isRecursive(call));

function isRecursive(call: Call): boolean {
  return hasOption(call.words, 'r', '--recursive') || hasOption(call.words, 'R', '');
}

function deletesPaths(call: Call, paths: readonly string[], recursive: boolean): string | undefined {
  for (const path of paths) {
    const kind = pathKind(path, call.cwd);
    const reason =
      destroyedKinds[kind] ?? (kind === 'home' && recursive ? 'deletes a home directory' : undefined);
    if (reason !== undefined) return `${reason} (${showMarks(path)})`;
  }
  return windowsTarget(call);
}

function windowsTarget(call: Call): string | undefined {
  // PowerShell takes lists: `C:\\Windows,C:\\Users`
  const found = call.raws.slice(1).find((raw) => raw.split(',').some(isWindowsSystemPath));
  return found === undefined ? undefined : `deletes a system directory (${found})`;
}

/** `del` and `rd` of cmd, `Remove-Item` and its aliases: switches begin with a slash or a dash. */
const windowsDeletes: Refusal = (call) => {
  const targets = call.words
    .slice(1)
    .filter((word) => !/^\/[a-z](:[-\w]*)?$/i.test(word) && !(word.startsWith('-') && word !== '-'));
  return deletesPaths(call, targets, true);
};

/** Moving a system directory away destroys the tree; so does a file that takes the place of a device. */
const moves: Refusal = (call) => {
  const operands = operandsOf(call);
  const sources = operands.slice(0, -1).map((path) => pathKind(path, call.cwd));
  const away = sources.some(
    (kind, index) => kind === 'root' || kind === 'system' || isSystemFolder(operands[index] ?? '', call.cwd),
  );
  if (away) return 'moves a system directory away';
  // gone from where it was, like a file that is deleted
  if (sources.includes('systemFile')) return 'moves system files away';
  return replacesDevice(call, operands.at(-1), ['device', 'sink']);
};

/** `/usr/bin`, `/var/lib`: what makes up the tree stands one level lower there. */
function isSystemFolder(path: string, cwd: string): boolean {
  const { base, names } = plainPath(path, cwd);
  return (
    base === 'root' && names.length === 2 && /^(usr|var)$/.test(names[0] ?? '') && isKnown(names[1] ?? '')
  );
}

/** A link takes the place of what stood there, also of `/dev/null`. */
const links: Refusal = (call) => replacesDevice(call, operandsOf(call).at(-1), ['device', 'sink']);

const copies: Refusal = (call) => replacesDevice(call, operandsOf(call).at(-1), ['device']);

/** Programs that write to each of their operands. */
const writesOperands: Refusal = (call) => devicesAmong(call, operandsOf(call));

function devicesAmong(call: Call, paths: readonly string[]): string | undefined {
  const found = paths.find((path) => pathKind(path, call.cwd) === 'device');
  return found === undefined ? undefined : `writes directly under /dev/ (${showMarks(found)})`;
}

function replacesDevice(
  call: Call,
  path: string | undefined,
  kinds: readonly PathKind[],
): string | undefined {
  const targets = [path, targetOption(call)].filter((target) => target !== undefined);
  const found = targets.find((target) => kinds.includes(pathKind(target, call.cwd)));
  return found === undefined ? undefined : `writes directly under /dev/ (${showMarks(found)})`;
}

function targetOption(call: Call): string | undefined {
  const long = call.words.find((word) => word.startsWith('--target-directory='));
  if (long !== undefined) return long.slice('--target-directory='.length);
  const short = call.words.findIndex((word) => word === '-t' || word === '--target-directory');
  return short < 0 ? undefined : call.words[short + 1];
}

/** `dd` and its relatives name their output `of=`. */
const dd: Refusal = (call) => {
  for (const word of call.words.slice(1)) {
    const path = /^(of|ofs)=(.*)$/s.exec(word)?.[2];
    if (path === undefined) continue;
    if (pathKind(path, call.cwd) === 'device' || isWindowsSystemPath(path))
      return `writes directly under /dev/ (${showMarks(path)})`;
  }
  const raw = call.raws.find((one) => one.startsWith('of=') && isWindowsDevice(one.slice(3)));
  return raw === undefined ? undefined : `writes directly to a disk (${raw})`;
};

/** Programs that write what an option names, or their last operand. */
const writesOutput =
  (option: RegExp, alsoLast = false, when: (call: Call) => boolean = () => true): Refusal =>
  (call) => {
    if (!when(call)) return undefined;
    const named = call.words.flatMap((word, index) => {
      const attached = /^(--?[\w-]+)=(.*)$/s.exec(word);
      if (attached !== null && option.test(attached[1] ?? '')) return [attached[2] ?? ''];
      return option.test(call.words[index - 1] ?? '') ? [word] : [];
    });
    return devicesAmong(call, [...named, ...(alsoLast ? operandsOf(call).slice(-1) : [])]);
  };

/** `tar cf`, `tar -rf`, `tar --create --file`: reading from a tape or disk is not writing. */
const tarWrites = (call: Call): boolean =>
  /^[a-zA-Z]*[cru]/.test(call.words[1] ?? '') ||
  call.words.some((word) => /^-[a-zA-Z]*[cru]/.test(word) || /^--(create|append|update)$/.test(word));

/** The last of several operands is what they write. */
const writesSecond: Refusal = (call) => devicesAmong(call, operandsOf(call).slice(1).slice(-1));

/** `print > "/dev/sda"` in an awk program. */
const printsToDevice: Refusal = (call) =>
  devicesAmong(
    call,
    call.words.flatMap((word) => Array.from(word.matchAll(/>\s*"(\/[^"]*)"/g), (found) => found[1] ?? '')),
  );

/** `sed -i … /dev/sda`, and the files that a script's `w` writes. */
const editsDevice: Refusal = (call) => {
  const script = call.words.flatMap((word) =>
    Array.from(word.matchAll(/w\s*(\/dev\/[^\s;}]+)/g), (found) => found[1] ?? ''),
  );
  const edits = call.words.some((word) => /^(-[a-zA-Z]*i|--in-place)/.test(word));
  return devicesAmong(call, [...script, ...(edits ? operandsOf(call) : [])]);
};

const truncates: Refusal = (call) => deletesPaths(call, operandsOf(call), false);

/** `find` deletes below its starting points; what `-exec` runs is judged as the command that it is. */
const find: Refusal = (call) => {
  if (!call.words.includes('-delete')) return undefined;
  const start = call.words
    .slice(1)
    .findIndex((word) => /^[-(!]/.test(word) && !/^-([HLP]|O\d|D)$/.test(word));
  const roots = call.words.slice(1, start + 1).filter((word) => !word.startsWith('-'));
  // it empties its starting points; what is below /tmp is nobody's system
  const emptied = roots.map((path) => (isTemporary(path, call.cwd) ? `${path}/${mark.star}` : path));
  return deletesPaths(call, emptied.length > 0 ? emptied : ['.'], true);
};

const rsync: Refusal = (call) => {
  const target = operandsOf(call).at(-1);
  if (target === undefined) return undefined;
  if (!call.words.some((word) => word.startsWith('--del'))) return replacesDevice(call, target, ['device']);
  return deletesPaths(call, [target], true);
};

/** `git clean` in a system directory removes whatever is not tracked there; `--output` writes like a redirection. */
const git: Refusal = (call) => {
  const written = call.words.flatMap((word) => /^--output=(.*)$/s.exec(word)?.[1] ?? []);
  const device = devicesAmong(call, written);
  if (device !== undefined) return device;
  const clean = gitCommandAt(call.words);
  if (call.words[clean] !== 'clean') return undefined;
  const cwd = folderOf(call.words.slice(0, clean), call.cwd);
  const own = { ...call, words: call.words.slice(clean), cwd };
  const operands = operandsOf(own);
  if (operands.length > 0) return deletesPaths(own, operands, true);
  if (hasOption(own.words, 'n', '--dry-run') || isTemporary('.', cwd)) return undefined;
  return deletesPaths(own, ['.'], true);
};

/** Formatting and partitioning by name: there is no use of these that leaves a disk as it was. */
export const formatters: readonly string[] = [
  'mke2fs',
  'mkdosfs',
  'mkntfs',
  'mkswap',
  'mkreiserfs',
  'mkexfatfs',
  'mkudffs',
  'mkisofs-format',
  'wipefs',
  'wipe',
  'nwipe',
  'scrub',
  'fdformat',
  'mformat',
  'blkdiscard',
  'cfdisk',
  'cgdisk',
  'sgdisk',
  'gdisk',
  'diskpart',
  'format-volume',
  'clear-disk',
  'initialize-disk',
  'remove-partition',
  'sg_format',
  'lvremove',
  'vgremove',
  'pvremove',
  'pvcreate',
];
/** `mkfs`, `mkfs.ext4`, `newfs_hfs`, … */
export const formatterName = /^(mkfs|newfs)([._].+)?$/;

const listsOnly = /^(-l|--list|-d|--dump|-s|--show-size|print|-m|-j|--json|-V|--version|-h|--help)$/;

const partitions: Refusal = (call) => {
  const rest = call.words.slice(1).filter((word) => !word.startsWith('/dev/') && word !== mark.unknown);
  return rest.length > 0 && rest.every((word) => listsOnly.test(word)) ? undefined : 'partitions a disk';
};

const format: Refusal = (call) =>
  call.raws.slice(1).some((raw) => /^["']?([a-z]:[\\/]?|\/fs:.*|\\\\\?\\.*)["']?$/i.test(raw))
    ? 'formats a drive'
    : undefined;

const words =
  (pattern: RegExp, reason: string): Refusal =>
  (call) =>
    call.words.slice(1).some((word) => pattern.test(word)) ? reason : undefined;

const disk = 'formats or erases a disk';

/** Refusals of the family by program name. */
export const destructionRefusals: Readonly<Record<string, Refusal>> = {
  rm: deletes,
  srm: deletes,
  grm: deletes,
  unlink: deletes,
  // `rmdir /s /q` is Windows; /s would otherwise read as a drive
  rmdir: windowsDeletes,
  shred: deletes,
  trash: deletes,
  'trash-put': deletes,
  rimraf: deletes,
  'del-cli': deletes,
  'trash-cli': deletes,
  del: windowsDeletes,
  erase: windowsDeletes,
  rd: windowsDeletes,
  ri: windowsDeletes,
  deltree: windowsDeletes,
  'remove-item': windowsDeletes,
  'clear-content': windowsDeletes,
  mv: moves,
  cp: copies,
  install: copies,
  ln: links,
  ddrescue: copies,
  tee: writesOperands,
  sponge: writesOperands,
  truncate: truncates,
  touch: writesOperands,
  mknod: writesOperands,
  mkfifo: writesOperands,
  tar: writesOutput(/^(-?[a-zA-Z]*f|--file)$/, false, tarWrites),
  gtar: writesOutput(/^(-?[a-zA-Z]*f|--file)$/, false, tarWrites),
  bsdtar: writesOutput(/^(-?[a-zA-Z]*f|--file)$/, false, tarWrites),
  zip: writesOperands,
  cpio: writesOutput(/^(-[a-zA-Z]*[FO]|--file)$/, false, (call) => hasOption(call.words, 'o', '--create')),
  wget: writesOutput(/^(-[a-zA-Z]*O|--output-document|-[a-zA-Z]*o|--output-file)$/),
  openssl: writesOutput(/^-out$/),
  ffmpeg: writesOutput(/^$/, true),
  'qemu-img': writesOutput(/^$/, true, (call) => /^(convert|create|dd)$/.test(call.words[1] ?? '')),
  pg_dump: writesOutput(/^(-f|--file)$/),
  gcc: writesOutput(/^-o$/),
  cc: writesOutput(/^-o$/),
  go: writesOutput(/^-o$/),
  gpg: writesOutput(/^(-o|--output)$/),
  gpg2: writesOutput(/^(-o|--output)$/),
  zstd: writesOutput(/^-o$/),
  lz4: writesOutput(/^$/, true, (call) => operandsOf(call).length > 1),
  iconv: writesOutput(/^(-o|--output)$/),
  base64: writesOutput(/^(-o|--output)$/),
  xxd: writesSecond,
  uniq: writesSecond,
  split: writesSecond,
  awk: printsToDevice,
  gawk: printsToDevice,
  mawk: printsToDevice,
  nawk: printsToDevice,
  sed: editsDevice,
  gsed: editsDevice,
  dd,
  dcfldd: dd,
  dc3dd: dd,
  find,
  gfind: find,
  rsync,
  git,
  fdisk: partitions,
  sfdisk: partitions,
  parted: partitions,
  format,
  diskutil: words(/^(erase|partition|zero|random|secureerase|apfs|reformat)/i, disk),
  cryptsetup: words(/^(luksFormat|reencrypt|erase|luksErase)$/, disk),
  nvme: words(/^(format|sanitize|write-zeroes)$/, disk),
  hdparm: words(/^--(security-erase|trim-sector|dco-restore|make-bad)/, disk),
  badblocks: words(/^-[a-z]*[wn]/, disk),
  mdadm: words(/^--(create|zero-superblock)|^-C$/, disk),
  zpool: words(/^(create|destroy|labelclear)$/, disk),
  zfs: words(/^destroy$/, disk),
};

/** Whether a deletion's target may be anything: it begins with an expansion or climbs to an unknown height. */
export function deletesUnknown(call: Call): boolean {
  if (!['rm', 'grm', 'srm', 'rimraf'].includes(call.name)) return false;
  if (call.name !== 'rimraf' && !isRecursive(call)) return false;
  return operandsOf(call).some((path) => {
    const kind = pathKind(path, call.cwd);
    return ['unknown', 'climb'].includes(kind) || (kind !== 'ordinary' && hasUnknown(path));
  });
}
