import { commandName } from '../command-name.ts';
import { isWindowsSystemPath } from '../paths/windows-path.ts';
import type { Call } from '../refused/call.ts';
import { refusalOf } from '../refused/families.ts';
import { runAsVerb } from '../refused/privilege.ts';
import { readWindowsShell, windowsShells } from './windows-shells.ts';
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
  return windowsPieces(text).flatMap((piece) => {
    const call = callOfPiece(piece);
    const reason = forms === 'all' || isWindowsForm(call) ? (refusalOf(call) ?? runAsVerb(call)) : undefined;
    if (reason !== undefined) return [{ text: piece.raws.join(' '), reason }];
    const inner = windowsShells.includes(call.name) ? readWindowsShell(call) : undefined;
    return inner !== undefined && 'code' in inner.run
      ? windowsRefusalsIn(inner.run.code, 'all', depth + 1)
      : [];
  });
}

/** The name ends at a parenthesis (`iex(iwr x)`) and begins behind the folders. */
function callOfPiece({ words, raws }: WindowsPiece): Call {
  const first = (words[0] ?? '').replace(/\(.*$/s, '');
  return { name: commandName(first.slice(first.lastIndexOf('\\') + 1)), words, raws, cwd: '' };
}

/** Programs of Windows, cmdlets and aliases that name nothing on Unix. */
const programs =
  /^(cmd|powershell|pwsh|runas|gsudo|psexec(64)?|paexec|nsudo\w*|elevate|advancedrun|del|erase|rd|ri|deltree|rmdir|format|diskpart|icacls|x?cacls|takeown|netsh|net1?|reg|sc|schtasks|iex|start|saps|wmic|vssadmin|wbadmin|bcdedit|pnputil|fsutil|nircmdc?|wsl|sp|rp)$/;
const cmdlet =
  /^(add|clear|copy|disable|enable|format|initialize|invoke|new|remove|rename|set|start|stop|sync|update)-[a-z]+$/;

function isWindowsForm(call: Call): boolean {
  return (
    programs.test(call.name) ||
    cmdlet.test(call.name) ||
    call.raws.slice(1).some((raw) => isWindowsSystemPath(raw))
  );
}
