import { join } from 'node:path';
import { unpackPackages } from './unpacked-packages.ts';

/**
 * Debian's kubectl, unpacked beside the system and not installed: a machine may have another one of its own.
 * @returns its path
 * @throws CodedError `package_missing`
 */
export function unpackKubectl(say: (line: string) => void): string {
  const program = 'usr/bin/kubectl';
  const root = unpackPackages({ name: 'kubectl', packages: ['kubernetes-client'], proof: program }, say);
  return join(root, program);
}
