/**
 * Environment variables through which a command can be made to run something else. The sandbox removes those of
 * bash before it starts; a command that sets one asks, whatever is free.
 */
const runsCode: readonly string[] = [
  'PATH',
  'ENV',
  'BASH_ENV',
  'SHELLOPTS',
  'BASHOPTS',
  'BASH_ALIASES',
  'BASH_CMDS',
  'BASH_LOADABLES_PATH',
  'EXECIGNORE',
  'PROMPT_COMMAND',
  'PS4',
  'PS0',
  'ZDOTDIR',
  'SHELL',
  'COMSPEC',
  'HOME',
  'XDG_CONFIG_HOME',
  'PYTHONSTARTUP',
  'PYTHONHOME',
  'PYTHONINSPECT',
  'PYTHONBREAKPOINT',
  'PYTEST_ADDOPTS',
  'PYTEST_PLUGINS',
  'RIPGREP_CONFIG_PATH',
  'PERL5OPT',
  'PERL5DB',
  'RUBYOPT',
  'LUA_INIT',
  'PHPRC',
  'PHP_INI_SCAN_DIR',
  'CLASSPATH_PREFIX',
  'GIT_SSH',
  'GIT_SSH_COMMAND',
  'GIT_EXTERNAL_DIFF',
  'GIT_PROXY_COMMAND',
  'GIT_ASKPASS',
  'GIT_EXEC_PATH',
  'GIT_TEMPLATE_DIR',
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_COMMON_DIR',
  'CDPATH',
  'MANOPT',
  'LESSKEY',
  'LESSKEYIN',
  'LESSKEY_CONTENT',
  'VIMINIT',
  'EXINIT',
  'FZF_DEFAULT_COMMAND',
  'FZF_DEFAULT_OPTS',
  'BAT_CONFIG_PATH',
  'ACKRC',
  'GOCACHEPROG',
  'CCACHE_PREFIX',
  'CCACHE_COMPILER',
  'SSH_ASKPASS',
  'SUDO_ASKPASS',
  'RSYNC_RSH',
  'CVS_RSH',
  'TAR_OPTIONS',
  'LESSOPEN',
  'LESSCLOSE',
  'MAKEFLAGS',
  'MAKEFILES',
  'GNUMAKEFLAGS',
  'RUSTC',
  'RUSTC_WRAPPER',
  'RUSTC_WORKSPACE_WRAPPER',
  'RUSTDOC',
  'OPENSSL_CONF',
  'GCONV_PATH',
  'LOCPATH',
  'NLSPATH',
  'TEXTDOMAIN',
  'TEXTDOMAINDIR',
  'NODE_REPL_EXTERNAL_MODULE',
  'DOTNET_STARTUP_HOOKS',
  'COR_PROFILER',
  'CORECLR_PROFILER',
];

const runsCodePatterns =
  /^(LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_.*|BASH_FUNC_.*|GIT_CONFIG.*|npm_config_(script_shell|node_options|shell|globalconfig|userconfig|prefix)|NPM_CONFIG_(SCRIPT_SHELL|NODE_OPTIONS|SHELL|GLOBALCONFIG|USERCONFIG|PREFIX)|CARGO_.*(RUNNER|LINKER|WRAPPER)|CARGO_(HOME|ENCODED_RUSTFLAGS))$/;

/** Variables that are everyday unless their value names something to run. */
const byValue: readonly { readonly name: RegExp; readonly risky: RegExp }[] = [
  {
    name: /^NODE_OPTIONS$/,
    risky: /(^|\s)(-r|--require|--import|--loader|--experimental-loader|--eval|-e|--env-file|--inspect)/,
  },
  {
    name: /^(JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|JAVA_OPTS|MAVEN_OPTS|GRADLE_OPTS|SBT_OPTS)$/,
    risky: /-javaagent|-agentlib|-agentpath|-XX:On|-Xbootclasspath|@/,
  },
  { name: /^GOFLAGS$/, risky: /-(toolexec|exec|overlay|vettool|modfile)/ },
  { name: /^LESS$/, risky: /\+.*[!|]|(^|\s)-[a-zA-Z]*[oOk]|--(log-file|lesskey)/i },
  // a trace goes to the file that it names
  { name: /^GIT_(TRACE\w*|TRACE2\w*|REDIRECT_STDOUT|REDIRECT_STDERR)$/, risky: /^[/~\uE003\uE000]/ },
  { name: /^CMAKE_\w+_(LAUNCHER|COMPILER)$/, risky: /[/\s]/ },
  // a prompt runs its substitutions each time it is shown
  { name: /^PS[123]$/, risky: /\$\(|`/ },
  { name: /^RUSTFLAGS$/, risky: /linker|-Z/ },
  { name: /^(C|CXX|CGO_.*|LD)FLAGS$/, risky: /-fplugin|-wrapper|-B|-specs/ },
];

/** Programs that a pager, editor or browser may be without anything being run. */
const quiet = /^(cat|true|false|none|:|less|more|less -\w+|)$/;
const programs =
  /^(GIT_)?(PAGER|EDITOR|SEQUENCE_EDITOR)$|^(VISUAL|MANPAGER|SYSTEMD_PAGER|AWS_PAGER|GH_PAGER|BAT_PAGER|DELTA_PAGER|BROWSER)$/;
const compilers = /^(CC|CXX|LD|AR|AS|CPP|FC)$/;

/** Variables that bash keeps as whole numbers: a text that they are set to is evaluated as arithmetic. */
const integers =
  'S?RANDOM|SECONDS|OPTIND|HISTCMD|LINENO|BASHPID|BASH_SUBSHELL|EPOCHSECONDS|EPOCHREALTIME|PPID|E?UID';
const integer = new RegExp(`^(${integers})$`);
/** Whether a script names one of them, in whatever way it may be set. */
export const integerName = new RegExp(`(?<![A-Za-z_])(${integers})(?![A-Za-z0-9_])`);
const number = /^[\d\s+*()-]*$/;

/**
 * Why assigning the value to the variable asks, or undefined.
 * @param value what it is set to, with marks for what is not known
 */
export function variableDoubt(name: string, value: string): string | undefined {
  const reason = `sets ${name}, which can make commands run something else`;
  if (runsCode.includes(name) || runsCodePatterns.test(name)) return reason;
  if (integer.test(name))
    return number.test(value) ? undefined : `sets ${name}, whose text is evaluated as arithmetic`;
  if (programs.test(name)) return quiet.test(value) ? undefined : reason;
  if (compilers.test(name)) return /^[\w.+-]+$/.test(value) ? undefined : reason;
  const rule = byValue.find((entry) => entry.name.test(name));
  return rule?.risky.test(value) === true ? reason : undefined;
}
