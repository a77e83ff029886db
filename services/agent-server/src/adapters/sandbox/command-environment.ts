/** The whole environment of a command whose caller adds nothing. Nothing of the host's is in it. */
export const commandEnvironment: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/home/agent',
  USER: 'agent',
  LOGNAME: 'agent',
  SHELL: '/bin/bash',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
  // bash whose standard input is a socket, as Node's pipes are, reads ~/.bashrc unless it is below another shell
  SHLVL: '1',
};

/** A throwaway run has no home. */
export const throwawayEnvironment: Readonly<Record<string, string>> = { ...commandEnvironment, HOME: '/tmp' };
