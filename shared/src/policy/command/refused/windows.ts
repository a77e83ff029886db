import { isWindowsSystemPath } from '../paths/windows-path.ts';
import type { Call, Refusal } from './call.ts';
import { runsEncoded } from '../windows/windows-shells.ts';

const machineKeys =
  /^["']?(\\\\[^\\]+\\)?(registry::)?(hklm|hkey_local_machine|hkcr|hkey_classes_root|hku|hkey_users)(:|\\|["']?$)/i;

/** The machine's part of the registry is the system's tree on Windows; a person's own part is not. */
const reg: Refusal = (call) =>
  /^delete$/i.test(call.words[1] ?? '') && call.raws.slice(2).some((raw) => machineKeys.test(raw))
    ? 'deletes keys of the system'
    : undefined;

/** `Remove-Item HKLM:\…` and its relatives. */
const removesKeys: Refusal = (call) =>
  call.raws.slice(1).some((raw) => machineKeys.test(raw)) ? 'deletes keys of the system' : undefined;

const asWords = (call: Call): string => call.raws.slice(1).join(' ').toLowerCase();

/** A service of type kernel is a driver, which is Windows' kernel module. */
const sc: Refusal = (call) =>
  /\bcreate\b.*\btype=\s*["']?(kernel|filesys)/.test(asWords(call)) ? 'loads a kernel module' : undefined;

const pnputil: Refusal = (call) =>
  /(^|\s)[-/](add-driver|a|i|install|delete-driver|d)\b/.test(asWords(call))
    ? 'loads a kernel module'
    : undefined;

const bcdedit: Refusal = (call) =>
  /(testsigning|nointegritychecks|loadoptions)/.test(asWords(call))
    ? 'lets unsigned kernel modules load'
    : /(^|\s)\/(delete|deletevalue|import|createstore)\b/.test(asWords(call))
      ? 'deletes what the system starts from'
      : undefined;

const shadows: Refusal = (call) =>
  /\bdelete\b/.test(asWords(call)) &&
  /\b(shadows?|shadowcopy|shadowstorage|catalog|systemstatebackup)\b/.test(asWords(call))
    ? 'deletes the restore points of the system'
    : undefined;

const writesRawDisk: Refusal = (call) =>
  call.raws.slice(1).some((raw) => /\\\\[.?]\\(physicaldrive|harddisk|[a-z]:["']?$)/i.test(raw))
    ? 'writes directly to a disk'
    : undefined;

/** `move C:\\Windows …`, `Rename-Item C:\\Windows …`: gone from where it was. */
const movesAway: Refusal = (call) => {
  const sources = call.raws.slice(1).filter((raw) => !raw.startsWith('-') && !/^\/[a-z-]+$/i.test(raw));
  return isWindowsSystemPath(sources[0] ?? '') ? 'moves a system directory away' : undefined;
};

/** Filter drivers of Windows. */
const filters: Refusal = (call) =>
  /^(load|unload|attach|detach)$/i.test(call.words[1] ?? '') ? 'loads or unloads a kernel module' : undefined;

const encoded: Refusal = (call) =>
  runsEncoded(call) ? 'runs encoded text that was not judged, as eval does' : undefined;

/** `Set-LocalUser`, `Enable-LocalUser` for the built-in administrator. */
const administrator: Refusal = (call) =>
  call.words.slice(1).some((word) => /^administrator$/i.test(word))
    ? 'gives administrator rights'
    : undefined;

/** `Set-ItemProperty HKLM:\… -Name EnableLUA -Value 0`: user account control goes off. */
const accountControl = /enablelua|consentpromptbehavioradmin|localaccounttokenfilterpolicy/i;
const switchesControlOff: Refusal = (call) =>
  accountControl.test(call.raws.join(' ')) && !/^query$/i.test(call.words[1] ?? '')
    ? 'switches off the control of administrator rights'
    : undefined;

/** Forms that only Windows has, by program name, beside the families of their own. */
export const windowsRefusals: readonly Readonly<Record<string, Refusal>>[] = [
  {
    reg,
    'remove-item': removesKeys,
    ri: removesKeys,
    'remove-itemproperty': removesKeys,
    rp: removesKeys,
    sc,
    'sc.exe': sc,
    pnputil,
    bcdedit,
    vssadmin: shadows,
    wmic: shadows,
    wbadmin: shadows,
    fsutil: writesRawDisk,
    copy: writesRawDisk,
    xcopy: writesRawDisk,
    'copy-item': writesRawDisk,
    type: writesRawDisk,
    move: movesAway,
    'move-item': movesAway,
    mi: movesAway,
    mv: movesAway,
    ren: movesAway,
    rename: movesAway,
    'rename-item': movesAway,
    rni: movesAway,
    fltmc: filters,
    powershell: encoded,
    pwsh: encoded,
    'enable-localuser': administrator,
  },
  {
    reg: switchesControlOff,
    'set-itemproperty': switchesControlOff,
    sp: switchesControlOff,
    'new-itemproperty': switchesControlOff,
  },
];
