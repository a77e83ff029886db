/** The whole environment of a command whose caller adds nothing. Nothing of the host's is in it. */
export const commandEnvironment: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/home/agent',
  USER: 'agent',
  LOGNAME: 'agent',
  SHELL: '/bin/bash',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
};

/** A throwaway run has no home. */
export const throwawayEnvironment: Readonly<Record<string, string>> = { ...commandEnvironment, HOME: '/tmp' };
