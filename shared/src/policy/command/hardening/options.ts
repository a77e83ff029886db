import { pathKind } from '../paths/path-kind.ts';
import { isLong, ownWords } from '../refused/call.ts';
import type { Call } from '../refused/call.ts';

/** Options by which a command that only reads starts to run code or to write files. */
interface RiskyOptions {
  /** The options, short and long; long ones also when cut short. */
  readonly options: readonly string[];
  /** Other short options that carry a value, so that the letters of the value are not read as options. */
  readonly valued?: string;
  readonly effect: 'runs code' | 'writes a file' | 'reads options from a file' | 'sets the clock';
  /** Values with which the option is harmless. */
  readonly harmless?: RegExp;
  /** The value is a program of another language, not a command. */
  readonly language?: true;
  /** Subcommands whose option it is, where the same letter means something else elsewhere. */
  readonly of?: RegExp;
}

const list = (text: string): string[] => text.split(' ');
const nowhere = /^(-|\/dev\/(null|stdout|stderr))$/;
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
const docker = [
  evaluated('--privileged --device --pid --cap-add', 'euwphmlv'),
  // a relative folder or a named volume is the project's own
  { ...evaluated('-v --volume', 'euwphml'), harmless: /^[^/]/, of: /^(run|create)$/ },
];
const make = [
  evaluated('--eval', 'CIjloOWf'),
  // another file of the project is as good as its Makefile
  { ...evaluated('-f --file --makefile', 'CIjloOW'), harmless: /^(?!\/|~)(?!.*\.\.)/ },
];

/** By program name; every line is a documented option of that program. */
const table: Readonly<Record<string, readonly RiskyOptions[]>> = {
  find: [writes('-delete -fprint -fprint0 -fls -fprintf')],
  sort: [writes('-o --output', 'kStT'), evaluated('--compress-program', 'kSotT')],
  sed: [{ options: list('-i --in-place'), valued: 'efl', effect: 'writes a file' }],
  yq: [{ options: list('-i --inplace'), effect: 'writes a file' }],
  perl: [program('-e -E', 'IMmFDl'), { options: ['-i'], valued: 'eEIMmFDl', effect: 'writes a file' }],
  ruby: [program('-e', 'rICFEKTWx')],
  python: [{ ...inline, valued: 'mWXQ' }],
  node: [program('-e -p --eval --print -pe', 'rCi')],
  deno: [program('eval')],
  bun: [program('-e --eval -p --print', 'r')],
  php: [program('-r -B -R -E', 'dfct')],
  lua: [program('-e', 'l')],
  luajit: [program('-e', 'l')],
  rscript: [program('-e')],
  osascript: [program('-e')],
  julia: [program('-e -E --eval --print')],
  tar: [
    evaluated(
      '-I -F --to-command --use-compress-program --checkpoint-action --info-script --new-volume-script --rsh-command --rmt-command',
      'fCTXbgKLNV',
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
  ],
  wget: [
    evaluated('--use-askpass -e --execute --config', 'aoiOPAtTwQUDRlI'),
    writes('-O --output-document -o --output-file', 'aeiPAtTwQUDRlIB'),
  ],
  rsync: [{ ...evaluated('-e --rsh --rsync-path', 'fBMT'), harmless: /^ssh( -p ?\d+| -i ?[\w./~-]+)*$/ }],
  scp: [evaluated('-S', 'cDiloFPX'), ...ssh],
  sftp: [evaluated('-S -b', 'BcDFiloPRsX'), ...ssh],
  ssh,
  bat: [evaluated('--pager')],
  gcc: [evaluated('-wrapper -fplugin -specs --specs')],
  rg: [evaluated('--pre --hostname-bin', 'efgtTABCmjrd')],
  less: [writes('-o -O --log-file --LOG-FILE')],
  tree: [writes('-o', 'LPI')],
  man: [evaluated('-P -H --pager --html', 'CLmMsSeErR')],
  go: [evaluated('-exec -toolexec -vettool -overlay -modfile')],
  cargo: [evaluated('--config')],
  rustc: [{ options: ['-C'], valued: 'LoO', effect: 'runs code', harmless: /^(?!linker|link-arg)/ }],
  gradle: [evaluated('-I --init-script -b --build-file', 'gpPD')],
  make,
  gmake: make,
  npm: [evaluated('--script-shell --node-options --globalconfig --userconfig')],
  eslint: [writes('-o --output-file', 'cf')],
  docker,
  podman: docker,
  vim: [evaluated('-c -S --cmd', 'TuiWws')],
  vi: [evaluated('-c -S --cmd', 'TuiWws')],
  ex: [evaluated('-c -S')],
  emacs: [program('--eval --execute -l --load -f --funcall')],
  nc: [evaluated('-e -c', 'iopqswX')],
  ncat: [evaluated('-e -c --exec --sh-exec --lua-exec', 'iopqswX')],
  tcpdump: [evaluated('-z', 'iwrcCGs'), writes('-w', 'ircCGsz')],
  gdb: [evaluated('-ex -iex -x -ix --command --eval-command')],
  enable: [evaluated('-f')],
  expect: [evaluated('-c')],
  hash: [evaluated('-p')],
  bind: [evaluated('-x -f')],
  shuf: [writes('-o --output', 'in')],
  openssl: [writes('-out -keyout -CAserial -writerand')],
  iconv: [writes('-o --output', 'ft')],
  base64: [writes('-o --output', 'bwi')],
  split: [evaluated('--filter')],
  pytest: [{ ...evaluated('-p -c --config-file', 'kmnorWx'), harmless: /^no:/ }],
  date: [{ options: list('-s --set'), valued: 'dfr', effect: 'sets the clock' }],
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
  nvim: 'vim',
  gradlew: 'gradle',
  'docker-compose': 'docker',
};

/** Interpreters carry versions in their names: `python3.12`, `pypy3`, `ruby3.2`. */
function tableFor(name: string): readonly RiskyOptions[] | undefined {
  const plain =
    aliases[name] ??
    name.replace(/^(python|ruby|perl|php|node|lua)-?\d[\d.]*$/, '$1').replace(/^pypy\d*$/, 'python');
  return Object.hasOwn(table, plain) ? table[plain] : undefined;
}

/** An option of the table that a call uses: where it stands, what it does, and the file it writes. */
export interface RiskyOption {
  readonly index: number;
  readonly option: string;
  readonly effect: string;
  readonly path: string | undefined;
  /** What a shell is given or a program is started by, where the option names it. */
  readonly code: string | undefined;
}

/** The risky options of a call; options behind `--` are operands. */
export function riskyOptions(given: Call): RiskyOption[] {
  const call = ownWords(given);
  const entries = tableFor(call.name);
  if (entries === undefined) return [];
  const found: RiskyOption[] = [];
  for (const [index, word] of call.words.entries()) {
    if (index === 0) continue;
    if (word === '--') break;
    for (const entry of entries) {
      if (entry.of !== undefined && !call.words.some((one) => entry.of?.test(one))) continue;
      const hit = matchOption(entry, word, call.words[index + 1]);
      if (hit === undefined || (hit.value !== undefined && entry.harmless?.test(hit.value))) continue;
      const path = entry.effect === 'writes a file' ? hit.value : undefined;
      const code = entry.effect === 'runs code' && entry.language !== true ? hit.value : undefined;
      found.push({ index, option: hit.option, effect: entry.effect, path, code });
    }
  }
  return found;
}

function matchOption(
  entry: RiskyOptions,
  word: string,
  next: string | undefined,
): { option: string; value: string | undefined } | undefined {
  if (entry.options.includes(word)) return { option: word, value: next };
  if (word.startsWith('--')) {
    const option = entry.options.find((long) => long.startsWith('--') && isLong(word, long));
    if (option === undefined) return undefined;
    return { option, value: word.includes('=') ? word.slice(word.indexOf('=') + 1) : next };
  }
  if (!word.startsWith('-')) return undefined;
  const single = /^(-\w{2,})=(.*)$/s.exec(word);
  if (single !== null && entry.options.includes(single[1] ?? ''))
    return { option: single[1] ?? '', value: single[2] };
  for (let at = 1; at < word.length; at += 1) {
    const letter = word[at] ?? '';
    if (entry.options.includes(`-${letter}`))
      return { option: `-${letter}`, value: at + 1 < word.length ? word.slice(at + 1) : next };
    if (entry.valued?.includes(letter) === true || !/[A-Za-z0-9]/.test(letter)) return undefined;
  }
  return undefined;
}

/** An option that writes to a device is refused like a redirection to it. */
export function optionWritesDevice(call: Call): string | undefined {
  const found = riskyOptions(call).find(
    ({ path }) => path !== undefined && pathKind(path, call.cwd) === 'device',
  );
  return found === undefined ? undefined : `writes directly under /dev/ (${found.path ?? ''})`;
}
