import type { Call } from '../refused/call.ts';
import type { Inner } from '../wrappers/inner.ts';

/** The shells of Windows that run the text that they are given. */
export const windowsShells: readonly string[] = ['cmd', 'powershell', 'pwsh'];

/** Options of PowerShell that carry a value (about_PowerShell_exe); each may be cut short. */
const valued: readonly string[] = [
  'executionpolicy',
  'windowstyle',
  'version',
  'inputformat',
  'outputformat',
  'configurationname',
  'configurationfile',
  'psconsolefile',
  'workingdirectory',
  'custompipename',
  'settingsfile',
];
const abbreviations: readonly string[] = ['ep', 'ex', 'wd'];

/** `cmd /c …`, `powershell -Command …`: the rest of the words after the switch is the code. */
export function readWindowsShell(call: Call): Inner | undefined {
  const { from, glued } = call.name === 'cmd' ? codeOfCmd(call) : { from: codeOfPowerShell(call), glued: '' };
  if (from >= call.words.length && glued === '') return undefined;
  const rest = [...(glued === '' ? [] : [glued]), ...call.raws.slice(from)];
  const code = rest.length === 1 && glued === '' ? (call.words[from] ?? '') : rest.join(' ');
  return { from, run: { code, windows: true } };
}

/** `forfiles /p FOLDER /c "cmd /c del @file"`: the code, with the folder's content for what is found. */
export function readForfiles(call: Call): Inner | undefined {
  const valueOf = (option: RegExp): number => call.words.findIndex((word) => option.test(word)) + 1;
  const from = valueOf(/^\/c$/i);
  const code = from === 0 ? undefined : call.words[from];
  if (code === undefined) return undefined;
  const place = valueOf(/^\/p$/i);
  const folder = place === 0 ? '.' : (call.raws[place] ?? '.').replace(/^["']|["'\\/]+$/g, '');
  const found = code.replace(/@(file|path|relpath)\b/gi, () => `${folder}\\*`);
  return { from, run: { code: found, windows: true } };
}

/** `start "title" /b PROGRAM …`: what it starts, as written. */
export function startedLine(call: Call): string {
  const from = call.raws.findIndex(
    (raw, index) => index > 0 && !/^[-/]/.test(raw) && !(index === 1 && raw.startsWith('"')),
  );
  return from < 0 ? '' : call.raws.slice(from).join(' ');
}

/** `/c`, `/s /c`, `/q/c`; what is written to it without a blank (`/cdir`) belongs to the code. */
function codeOfCmd(call: Call): { readonly from: number; readonly glued: string } {
  for (const [index, raw] of call.raws.entries()) {
    const found = index === 0 ? null : /^["']?(?:\/[a-z](?::\w+)?)*\/[ckr](.*)$/is.exec(raw);
    if (found !== null) return { from: index + 1, glued: (found[1] ?? '').replace(/^["']$/, '') };
  }
  return { from: call.words.length, glued: '' };
}

function codeOfPowerShell(call: Call): number {
  for (let index = 1; index < call.words.length; index += 1) {
    const option = optionOf(call.words[index] ?? '');
    // without a switch, the first operand is the code
    if (option === undefined) return index;
    if (isEncoded(option) || isCut(option, 'file')) break;
    if (isCut(option, 'command')) return index + 1;
    if (abbreviations.includes(option) || valued.some((name) => isCut(option, name))) index += 1;
  }
  return call.words.length;
}

function optionOf(word: string): string | undefined {
  return /^[-/]([A-Za-z]+):?$/.exec(word)?.[1]?.toLowerCase();
}

/** PowerShell takes every beginning of an option's name. */
function isCut(option: string, name: string): boolean {
  return name.startsWith(option);
}

function isEncoded(option: string): boolean {
  return option === 'ec' || isCut(option, 'encodedcommand');
}

/** Base64, or a variable that may hold it. */
const encoded = /^([A-Za-z0-9+/]+={0,2}|[$%\uE000].*)$/s;

/** Whether PowerShell is given code in base64 (`-EncodedCommand`, `-enc`, `-e`): text that nobody has read. */
export function runsEncoded(call: Call): boolean {
  if (call.name !== 'powershell' && call.name !== 'pwsh') return false;
  return call.words.slice(1).some((word, index) => {
    const option = optionOf(word);
    return option !== undefined && isEncoded(option) && encoded.test(call.words[index + 2] ?? '');
  });
}
