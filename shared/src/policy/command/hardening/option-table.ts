import { withoutVersion } from '../refused/own-words.ts';

/** Options by which a command that only reads starts to run code or to write files. */
export interface RiskyOptions {
  /** The options, short and long; long ones also when cut short. */
  readonly options: readonly string[];
  /** Other short options that carry a value, so that the letters of the value are not read as options. */
  readonly valued?: string;
  readonly effect:
    | 'runs code'
    | 'writes a file'
    | 'reads options from a file'
    | 'sets the clock'
    | 'sets the kernel';
  /** Values with which the option is harmless. */
  readonly harmless?: RegExp;
  /** The value is a program of another language, not a command. */
  readonly language?: true;
  /** Long options that the program does not take cut short. */
  readonly exact?: true;
  /** Subcommands whose option it is, where the same letter means something else elsewhere. */
  readonly of?: RegExp;
}

const list = (text: string): string[] => text.split(' ');
const nowhere = /^(-|\/dev\/(null|stdout|stderr))$/;
/** A module that the project's manifest names, no file and no text with code. */
const packageName = /^@?[a-z][\w.-]*(\/[\w.@-]+)*$/i;
const compressor =
  /^(\/usr\/bin\/)?(gzip|pigz|zstd|zstdmt|xz|pxz|bzip2|pbzip2|lbzip2|lz4|lzip|lzop|compress)( -[\w=]+)*$/;
/** Letters of a compiler whose options are words: none of them stands in a cluster. */
const alone = 'abcdefghijklmnopqrstuvwxyzACDEFGHIJKLMNOPQRSTUVWXYZ';
const inline: RiskyOptions = { options: ['-c'], effect: 'runs code', language: true };
const evaluated = (options: string, valued = ''): RiskyOptions => ({
  options: list(options),
  valued,
  effect: 'runs code',
});
const program = (options: string, valued = ''): RiskyOptions => ({
  ...evaluated(options, valued),
  language: true,
});
const writes = (options: string, valued = ''): RiskyOptions => ({
  options: list(options),
  valued,
  effect: 'writes a file',
  harmless: nowhere,
});

/** Settings of ssh that only say how patient or trusting it is. */
const harmlessSsh =
  /^(StrictHostKeyChecking|UserKnownHostsFile|ConnectTimeout|BatchMode|LogLevel|ServerAlive\w+|IdentitiesOnly|Port|User|IdentityFile)[= ]/i;
const ssh = [
  evaluated('-F', 'bcDeEiIJLlmoOpQRSWw'),
  { ...evaluated('-o', 'bcDeEFiIJLlmOpQRSWw'), harmless: harmlessSsh },
];
const ownVolume = /^(?![/~\uE000\uE003])(?!\.\.)(?![^:]*\/\.\.(\/|:|$))/;
const docker = [
  evaluated('--privileged --device --pid --cap-add', 'euwphmlv'),
  // a relative folder or a named volume is the project's own
  { ...evaluated('-v --volume', 'euwphml'), harmless: ownVolume, of: /^(run|create)$/ },
  {
    ...evaluated('--mount'),
    harmless: /^(?!.*\b(source|src)=([/~\uE000\uE003]|[^,]*\.\.))/,
    of: /^(run|create)$/,
  },
  // a container that shares the host's namespaces is none
  { ...evaluated('--userns --ipc --uts --cgroupns'), harmless: /^(?!host$)/, of: /^(run|create)$/ },
  { ...evaluated('--security-opt'), harmless: /^no-new-privileges/ },
];
const make = [evaluated('--eval -E', 'CIjloOWf')];

const vim = [
  evaluated('-c -S --cmd -l', 'TuUiWws'),
  {
    options: list('-u -U -s'),
    valued: 'cTiWwS',
    effect: 'reads options from a file' as const,
    harmless: /^(NONE|NORC|DEFAULTS)$/,
  },
];

/** By program name; every line is a documented option of that program. */
const table: Readonly<Record<string, readonly RiskyOptions[]>> = {
  find: [writes('-delete -fprint -fprint0 -fls -fprintf')],
  sort: [
    writes('-o --output', 'kStT'),
    { ...evaluated('--compress-program', 'kSotT'), harmless: compressor },
  ],
  sed: [{ options: list('-i --in-place'), valued: 'efl', effect: 'writes a file' }],
  yq: [{ options: list('-i --inplace --split-exp'), effect: 'writes a file' }],
  perl: [
    program('-e -E', 'IMmFD'),
    { options: ['-i'], valued: 'eEIMmFD', effect: 'writes a file' },
    // `-M'x; system(…)'` is code
    { ...program('-M -m', 'eEIFDl'), harmless: /^-?[\w:]+(=[\w,:]+)?$/ },
  ],
  ruby: [program('-e', 'rICFEKTWx')],
  rake: [program('-e -E -p --execute --execute-print --execute-continue')],
  elixir: [program('-e --eval')],
  erl: [program('-eval')],
  groovy: [program('-e')],
  scala: [program('-e')],
  clojure: [program('-e --eval')],
  guile: [program('-c')],
  racket: [program('-e --eval')],
  sbcl: [program('--eval')],
  octave: [program('--eval')],
  gnuplot: [program('-e')],
  python: [{ ...inline, valued: 'mWXQ' }],
  node: [
    program('-e -p --eval --print -pe', 'rCi'),
    {
      ...program('-r --require --import --loader --experimental-loader --test-reporter', 'epC'),
      harmless: packageName,
      exact: true,
    },
  ],
  deno: [program('eval')],
  bun: [program('-e --eval -p --print', 'r')],
  php: [
    program('-r -B -R -E', 'dfct'),
    {
      ...program('-d', 'rBREfct'),
      harmless: /^(?!auto_|(zend_)?extension|sendmail_path|include_path|disable_|open_basedir)/i,
    },
  ],
  lua: [program('-e', 'l')],
  luajit: [program('-e', 'l')],
  rscript: [program('-e')],
  osascript: [program('-e')],
  julia: [program('-e -E --eval --print')],
  tar: [
    { ...evaluated('-I --use-compress-program', 'fCFTXbgKLNV'), harmless: compressor },
    evaluated(
      '-F --to-command --checkpoint-action --info-script --new-volume-script --rsh-command --rmt-command',
      'fCITXbgKLNV',
    ),
  ],
  zip: [evaluated('-TT --unzip-command')],
  curl: [
    writes(
      '-o -O --output --remote-name --remote-name-all -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save --hsts --libcurl --output-dir',
      'AbCdEeFHKmPQrtTuUwxXyYz',
    ),
    {
      options: list('-K --config'),
      valued: 'AbcCdDEeFHmoPQrtTuUwxXyYz',
      effect: 'reads options from a file',
    },
    // `%output{FILE}` in the format
    {
      ...writes('-w --write-out', 'AbcCdDEeFHKmoPQrtTuUxXyYz'),
      harmless: /^(?!.*%output\{)/s,
    },
  ],
  wget: [
    evaluated('--use-askpass -e --execute --config', 'aoiOPAtTwQUDRlI'),
    writes(
      '-O --output-document -o --output-file -a --append-output --save-cookies --warc-file --rejected-log --hsts-file',
      'eiPAtTwQUDRlIB',
    ),
  ],
  rsync: [{ ...evaluated('-e --rsh --rsync-path', 'fBMT'), harmless: /^ssh( -p ?\d+| -i ?[\w./~-]+)*$/ }],
  scp: [evaluated('-S', 'cDiloFPX'), ...ssh],
  sftp: [evaluated('-S -b', 'BcDFiloPRsX'), ...ssh],
  ssh,
  bat: [evaluated('--pager')],
  gcc: [evaluated('-wrapper -fplugin -fpass-plugin -specs --specs -load', alone), evaluated('-B', alone)],
  ld: [evaluated('-plugin --plugin -plugin-opt', alone)],
  rg: [evaluated('--pre --hostname-bin', 'efgtTABCmjrd')],
  less: [
    writes('-o -O --log-file --LOG-FILE', 'kbhjptTxyz'),
    {
      options: list('-k --lesskey-file --lesskey-src'),
      valued: 'oObhjptTxyz',
      effect: 'reads options from a file',
    },
  ],
  tree: [writes('-o', 'LPI')],
  man: [
    evaluated('-P -H --pager --html', 'CLmMsSeErR'),
    { options: list('-C --config-file'), valued: 'PHLmMsSeErR', effect: 'reads options from a file' },
  ],
  go: [
    evaluated('-exec -toolexec -vettool -overlay -modfile', alone),
    { ...program('-ldflags --ldflags', alone), harmless: /^(?!.*-extld)/s },
  ],
  cargo: [evaluated('--config')],
  rustc: [{ options: ['-C'], valued: 'LoO', effect: 'runs code', harmless: /^(?!linker|link-arg)/ }],
  gradle: [evaluated('-I --init-script -b --build-file', 'cgpPDx')],
  make,
  gmake: make,
  npm: [evaluated('--script-shell --node-options --globalconfig --userconfig')],
  eslint: [writes('-o --output-file', 'cf')],
  fzf: [evaluated('--preview --bind')],
  ack: [evaluated('--pager')],
  ag: [evaluated('--pager')],
  svn: [evaluated('--diff-cmd --diff3-cmd --editor-cmd --config-option')],
  hg: [evaluated('--config')],
  helm: [evaluated('--post-renderer')],
  install: [evaluated('--strip-program')],
  pandoc: [evaluated('-F --filter -L --lua-filter')],
  protoc: [evaluated('--plugin')],
  xmllint: [writes('-o --output')],
  sdiff: [writes('-o --output')],
  gpg: [writes('-o --output', 'ru')],
  nmap: [writes('-oN -oX -oG -oA -oS', alone), evaluated('--script')],
  strace: [writes('-o --output', 'abeEIOpPsSuUX')],
  ltrace: [writes('-o --output', 'aADeFlnpsuwx')],
  sysctl: [{ options: list('-w -p --write --load --system'), effect: 'sets the kernel' }],
  bash: [{ options: list('--rcfile --init-file'), effect: 'runs code' }],
  docker,
  podman: docker,
  vim,
  vi: vim,
  ex: vim,
  emacs: [program('--eval --execute -l --load -f --funcall')],
  nc: [evaluated('-e -c', 'iopqswX')],
  ncat: [evaluated('-e -c --exec --sh-exec --lua-exec', 'iopqswX')],
  tcpdump: [evaluated('-z', 'iwrcCGs'), writes('-w', 'ircCGsz')],
  tshark: [writes('-w', 'icfYGr')],
  lldb: [program('-o -O --one-line --one-line-before-file', 'sf')],
  gdb: [evaluated('-ex -iex -x -ix --command --eval-command')],
  enable: [evaluated('-f')],
  expect: [evaluated('-c')],
  hash: [evaluated('-p')],
  bind: [evaluated('-x -f')],
  shuf: [writes('-o --output', 'in')],
  openssl: [writes('-out -keyout -CAserial -writerand', alone), evaluated('-engine -provider-path', alone)],
  iconv: [writes('-o --output', 'ft')],
  base64: [writes('-o --output', 'bwi')],
  split: [evaluated('--filter')],
  pytest: [
    { ...program('-p', 'ckmnorWx'), harmless: /^no:/ },
    program('--pdbcls'),
    // the files that pytest would find by itself
    {
      ...program('-c --config-file', 'kmnoprWx'),
      harmless: /(^|\/)(\.?pytest\.(ini|toml)|pyproject\.toml|setup\.cfg|tox\.ini)$/,
    },
    // settings that name nothing to run and no place
    {
      ...program('-o --override-ini', 'ckmnprWx'),
      harmless:
        /^(log_|xfail_strict|junit_|console_output_style|filterwarnings|asyncio_|timeout|faulthandler|norecursedirs|markers|testpaths|addopts=$|verbosity_|tmp_path_|cache_dir=(?![/~]))/,
    },
  ],
  date: [{ options: list('-s --set'), valued: 'dfrI', effect: 'sets the clock' }],
};

const aliases: Readonly<Record<string, string>> = {
  batcat: 'bat',
  cc: 'gcc',
  'g++': 'gcc',
  'c++': 'gcc',
  clang: 'gcc',
  'clang++': 'gcc',
  gfind: 'find',
  gsed: 'sed',
  gtar: 'tar',
  bsdtar: 'tar',
  nodejs: 'node',
  vimdiff: 'vim',
  view: 'vim',
  nvim: 'vim',
  gradlew: 'gradle',
  'py.test': 'pytest',
  tsx: 'node',
  'ts-node': 'node',
  clj: 'clojure',
  gpg2: 'gpg',
  'docker-compose': 'docker',
};

/** The entries of a program, whatever version or other name it is called by. */
export function riskyOptionsOf(name: string): readonly RiskyOptions[] | undefined {
  const plain = aliases[name] ?? withoutVersion(name).replace(/^pypy$/, 'python');
  return Object.hasOwn(table, plain) ? table[plain] : undefined;
}
