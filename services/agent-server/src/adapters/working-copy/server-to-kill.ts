/** A server that dies: asks a remote, which does not answer, and waits to be killed. */
import { createHostGit } from './host-git.ts';

const [configFile = '', remote = ''] = process.argv.slice(2);
await createHostGit(configFile)(['ls-remote', '--', remote], {
  signal: new AbortController().signal,
  timeoutMs: 600_000,
  protocols: ['http'],
});
