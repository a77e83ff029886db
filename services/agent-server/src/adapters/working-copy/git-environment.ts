/** Settings that hold for every git process; a protocol has to be opened by name. */
const settings: Readonly<Record<string, string>> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.attributesFile': '/dev/null',
  'core.excludesFile': '/dev/null',
  'core.quotePath': 'false',
  'core.autocrlf': 'false',
  'core.askPass': 'true',
  'credential.helper': '',
  'submodule.recurse': 'false',
  'fetch.recurseSubmodules': 'false',
  'protocol.allow': 'never',
  'http.followRedirects': 'false',
  // a folder of this machine gives parts of itself, as git hosts do
  'uploadpack.allowFilter': 'true',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'advice.detachedHead': 'false',
  'init.defaultBranch': 'main',
  // The caches belong to the server, working copies to the sandbox' user: ownership says nothing here.
  'safe.directory': '*',
  'safe.bareRepository': 'all',
};

/** Never asks, and never trusts a host that nobody has vouched for. */
export const sshCommand = 'ssh -oBatchMode=yes -oStrictHostKeyChecking=yes';

/** Where the settings lie as a file inside throwaway sandboxes. */
export const sandboxConfigFile = '/git.config';

/** The settings as a configuration file. */
export function gitConfigText(): string {
  return Object.entries(settings)
    .map(([name, value]) => {
      const dot = name.lastIndexOf('.');
      return `[${name.slice(0, dot)}]\n\t${name.slice(dot + 1)} = "${value}"\n`;
    })
    .join('');
}

/**
 * The environment of every git process that touches a repository we do not trust: no configuration of the machine or
 * of a user, no prompt, no hook, no file-system monitor, no lazy fetch, no submodule recursion, nothing fetched but by
 * the protocols named. The settings travel twice: in variables, since no repository can override those, and as the
 * global file, since git takes the variables away from the `upload-pack` that it starts for a local fetch.
 */
export function gitEnvironment(
  configFile: string,
  options: { protocols?: readonly string[]; extra?: Readonly<Record<string, string>> } = {},
): Record<string, string> {
  const config: Record<string, string> = { ...settings };
  for (const protocol of options.protocols ?? []) config[`protocol.${protocol}.allow`] = 'always';
  const names = Object.keys(config);
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    LANG: 'C.UTF-8',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: configFile,
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_SSH_COMMAND: sshCommand,
    GIT_CONFIG_COUNT: String(names.length),
    ...Object.fromEntries(
      names.flatMap((name, index) => [
        [`GIT_CONFIG_KEY_${index}`, name],
        [`GIT_CONFIG_VALUE_${index}`, config[name] ?? ''],
      ]),
    ),
    ...options.extra,
  };
}
