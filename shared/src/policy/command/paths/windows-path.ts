const roots = /^(\\\\[.?]\\)?[a-z]:[\\/]*(\*[.\w*]*)?$|^\\+$/i;
const systemFolders =
  /^([a-z]:)?[\\/]+(windows|winnt|program files( \(x86\))?|programdata|users|boot|recovery|system volume information|perflogs|boot\.ini|bootmgr|ntldr|ntdetect\.com|pagefile\.sys|hiberfil\.sys)([\\/]|$)/i;
const usersBelow = /^([a-z]:)?[\\/]+users[\\/]+[^\\/*]+[\\/]+[^\\/]/i;
const variables =
  /^[%$]?\{?(env:)?(systemroot|windir|systemdrive|programfiles(\(x86\))?|programdata|programw6432)\}?%?(?=[\\/*:]|$)/i;
/** A person's home as a whole. */
const homes =
  /^(%(userprofile|homedrive|homepath)%|\$\{?env:(userprofile|homepath|home)\}?)+[\\/]*(\*(\.\*)?)?$/i;
const devices = /^\\\\[.?]\\(physicaldrive|harddisk|[a-z]:$)/i;

/**
 * Whether the text, as written, names a drive's root or a folder of Windows itself. Bash takes backslashes away, so
 * that this looks at the source text and not at the value.
 */
export function isWindowsSystemPath(written: string): boolean {
  // bash reads `C:\ -r` as one word; Windows ends the path at the blank
  const path = written.replace(/^["']+|["']+$/g, '').replace(/^([a-z]:\\) .*$/is, '$1');
  if (roots.test(path) || devices.test(path) || homes.test(path)) return true;
  if (variables.test(path) && /^[%$]/.test(path)) return true;
  return systemFolders.test(path) && !usersBelow.test(path);
}

/** Whether the text, as written, names a disk itself: `\\\\.\\PhysicalDrive0`. */
export function isWindowsDevice(written: string): boolean {
  return devices.test(written.replace(/^["']+|["']+$/g, ''));
}

/** `C:\\Windows` as it is seen from the shells on Windows that read bash: `/C/Windows`. */
export function drivePath(written: string): string | undefined {
  const found = /^["']*([a-z]):[\\/]+(.*?)["'\s]*$/is.exec(written);
  return found === null ? undefined : `/${found[1] ?? ''}/${(found[2] ?? '').replaceAll('\\', '/')}`;
}
