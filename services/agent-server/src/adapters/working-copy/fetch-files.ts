import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pemCertificates } from '@lemniscate/shared/text/pem.ts';
import { invalidFile } from '../invalid-file.ts';

/** Files that fetching uses, as an operator names them. */
export interface FetchFiles {
  readonly sshKey?: string | undefined;
  readonly knownHosts?: string | undefined;
  readonly authorityFile?: string | undefined;
}

/**
 * Looks at start at the files that fetching will use, so that a wrong one is named here and not as a session's repository
 * that is broken.
 * @throws CodedError `configuration_invalid`
 */
export async function checkFetchFiles({ sshKey, knownHosts, authorityFile }: FetchFiles): Promise<void> {
  await readNamed('LEMNISCATE_FETCH_SSH_KEY', sshKey);
  await readNamed('LEMNISCATE_FETCH_SSH_KNOWN_HOSTS', knownHosts);
  const authorities = await readNamed('LEMNISCATE_FETCH_CA', authorityFile);
  if (authorityFile === undefined || authorities === null) return;
  const found = pemCertificates(authorities);
  if (found.length === 0) throw invalidFile('LEMNISCATE_FETCH_CA', authorityFile, 'holds no PEM certificate');
  for (const pem of found)
    try {
      void new X509Certificate(pem);
    } catch (error) {
      throw invalidFile(
        'LEMNISCATE_FETCH_CA',
        authorityFile,
        'holds a certificate that cannot be read',
        error,
      );
    }
}

async function readNamed(variable: string, file: string | undefined): Promise<string | null> {
  if (file === undefined) return null;
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw invalidFile(variable, file, `cannot be read (${error.code ?? 'unknown'})`, error);
  });
}
