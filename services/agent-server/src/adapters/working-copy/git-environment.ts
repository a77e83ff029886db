/**
 * The environment of every git process that touches a repository we do not trust: no configuration of the machine or
 * of a user, no prompt, no hook, no file-system monitor, no lazy fetch, no submodule recursion, nothing fetched but by
 * the protocols named. Configuration travels in variables, since a hostile repository cannot override those.
 */
export function gitEnvironment(
  options: { protocols?: readonly string[]; extra?: Readonly<Record<string, string>> } = {},
): Record<string, string> {
  const config: Record<string, string> = {
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
    'gc.auto': '0',
    'maintenance.auto': 'false',
    'advice.detachedHead': 'false',
    'init.defaultBranch': 'main',
    // The caches belong to the server, working copies to the sandbox' user: ownership says nothing here.
    'safe.directory': '*',
    'safe.bareRepository': 'all',
  };
  for (const protocol of options.protocols ?? []) config[`protocol.${protocol}.allow`] = 'always';
  const names = Object.keys(config);
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    LANG: 'C.UTF-8',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes -oStrictHostKeyChecking=yes',
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
