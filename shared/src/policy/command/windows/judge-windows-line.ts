import { commandName } from '../command-name.ts';
import { drivePath, isWindowsSystemPath } from '../paths/windows-path.ts';
import type { Call } from '../refused/call.ts';
import { refusalOf } from '../refused/families.ts';
import { runAsVerb } from '../refused/privilege.ts';
import { mark } from '../syntax/marks.ts';
import { readForfiles, readWindowsShell, startedLine, windowsShells } from './windows-shells.ts';
import { windowsPieces } from './windows-line.ts';
import type { WindowsPiece } from './windows-line.ts';

/** A piece of a Windows line that no approval lets run. */
export interface WindowsRefusal {
  readonly text: string;
  readonly reason: string;
}

/** Shells inside shells go no deeper than people write them. */
const maxDepth = 4;

/**
 * The refused pieces of a text that is read as a line of Windows. It is asked where bash's grammar fails: paths that
 * end in a backslash, `everyone:(F)`, `iex (…)`. Only forms of Windows count (their programs and cmdlets, and any
 * command on a folder of Windows itself): what bash cannot parse and is nothing of Windows stays unreadable. Code that
 * is handed to a shell of Windows is Windows' whatever it names (`forms` is `all`).
 */
export function windowsRefusalsIn(
  text: string,
  forms: 'windows' | 'all' = 'windows',
  depth = 0,
): WindowsRefusal[] {
  if (depth > maxDepth) return [];
  // ShellExecute of the shell's COM object takes the verb as an argument
  if (/shell\.application/i.test(text) && /["']?\brunas\b/i.test(text))
    return [{ text, reason: 'starts a program as administrator' }];
  const deleted = /\[(?:system\.)?io\.(?:directory|file)\]::delete\(\s*["']([^"']*)["']/i.exec(text)?.[1];
  if (deleted !== undefined && isWindowsSystemPath(deleted))
    return [{ text, reason: `deletes a system directory (${deleted})` }];
  const found: WindowsRefusal[] = [];
  let cwd = '';
  let listed: readonly string[] = [];
  for (const piece of windowsPieces(withLoopValues(text))) {
    const call = { ...callOfPiece(piece), cwd };
    const known = forms === 'all' || cwd !== '' ? 'all' : 'windows';
    found.push(...refusalsOfPiece(withListed(call, listed), known, depth));
    listed = lists.test(call.name) ? call.raws.slice(1) : [];
    if (changes.test(call.name)) cwd = drivePath(call.raws.at(-1) ?? '') ?? cwd;
  }
  return found;
}

const lists = /^(get-childitem|gci|dir|ls|get-item|gi)$/;
const changes = /^(cd|chdir|pushd|set-location|sl|push-location)$/;

/** `Get-ChildItem C:\\ | Remove-Item`: what a listing in front hands on. */
function withListed(call: Call, listed: readonly string[]): Call {
  const own = call.words.slice(1).some((word) => !word.startsWith('-'));
  if (own || !/^(remove-item|ri|rm|del|rd|erase)$/.test(call.name)) return call;
  return { ...call, words: [...call.words, ...listed], raws: [...call.raws, ...listed] };
}

function refusalsOfPiece(call: Call, forms: 'windows' | 'all', depth: number): WindowsRefusal[] {
  const reason = forms === 'all' || isWindowsForm(call) ? (refusalOf(call) ?? runAsVerb(call)) : undefined;
  if (reason !== undefined) return [{ text: call.raws.join(' '), reason }];
  if (call.name === 'start') return windowsRefusalsIn(startedLine(call), forms, depth + 1);
  const inner = windowsShells.includes(call.name)
    ? readWindowsShell(call)
    : call.name === 'forfiles'
      ? readForfiles(call)
      : undefined;
  return inner !== undefined && 'code' in inner.run
    ? windowsRefusalsIn(inner.run.code, 'all', depth + 1)
    : [];
}

const loops: readonly RegExp[] = [
  /\bfor\s+(?:\/[a-z]\s+)*%%?([a-z])\s+in\s*\(([^()]*)\)\s*do\s/i,
  /\bforeach\s*\(\s*\$(\w+)\s+in\s([^()]*)\)/i,
];
/** Longer lines and lists are none of a person. */
const maxLine = 4000;
const maxValues = 200;

/** `for /d %x in (C:\\*) do rd %x`, `foreach ($d in …)`: what the variable stands for, where it is used. */
function withLoopValues(text: string): string {
  if (text.length > maxLine) return text;
  for (const pattern of loops) {
    const loop = pattern.exec(text);
    const [whole, name, values] = loop ?? [];
    if (loop === null || whole === undefined || name === undefined || values === undefined) continue;
    const end = loop.index + whole.length;
    const used = new RegExp(`(?:%%?(?:~\\w*)?|\\$)${name}\\b`, 'gi');
    return text.slice(0, end) + text.slice(end).replaceAll(used, () => values.slice(0, maxValues).trim());
  }
  return text;
}

/** The name ends at a parenthesis (`iex(iwr x)`) and begins behind the folders. */
function callOfPiece({ words, raws }: WindowsPiece): Call {
  const first = (words[0] ?? '').replace(/\(.*$/s, '');
  const name = commandName(first.slice(first.lastIndexOf('\\') + 1));
  return { name, words: words.map(withPatterns), raws, cwd: '' };
}

/** The programs of Windows read file name patterns themselves, in quotes too. */
function withPatterns(word: string): string {
  return word.replaceAll('*', mark.star).replaceAll('?', mark.any);
}

/** Programs of Windows, cmdlets and aliases that name nothing on Unix. */
const programs =
  /^(cmd|powershell|pwsh|runas|gsudo|psexec(64)?|paexec|nsudo\w*|elevate|advancedrun|del|erase|rd|ri|deltree|rmdir|format|diskpart|icacls|x?cacls|takeown|netsh|net1?|reg|sc|schtasks|iex|start|saps|wmic|vssadmin|wbadmin|bcdedit|pnputil|fsutil|nircmdc?|wsl|sp|rp|forfiles|gci|ubuntu\d*)$/;
const cmdlet =
  /^(add|clear|copy|disable|enable|format|initialize|invoke|new|remove|rename|set|start|stop|sync|update)-[a-z]+$/;

function isWindowsForm(call: Call): boolean {
  return (
    programs.test(call.name) ||
    cmdlet.test(call.name) ||
    call.raws.slice(1).some((raw) => isWindowsSystemPath(raw))
  );
}
