import { unpackPackages } from './unpacked-packages.ts';

/**
 * Debian's syslog-ng, unpacked beside the system and not installed: the package is in conflict with rsyslog, and the
 * tests want both.
 * @returns the folder that it is unpacked in
 * @throws CodedError `package_missing`
 */
export function unpackSyslogNg(say: (line: string) => void): string {
  // with every library that is in no Debian by itself: another program may or may not bring it
  const own = ['syslog-ng-core', 'libivykis0', 'libnet1', 'libwrap0', 'libjson-c5'];
  const packages = [...own, 'libpcre3', 'libglib2.0-0', 'libffi8'];
  return unpackPackages({ name: 'syslog-ng', packages, proof: 'usr/sbin/syslog-ng' }, say);
}
