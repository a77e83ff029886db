import { pathKind, plainPath } from '../paths/path-kind.ts';
import type { Call } from '../refused/call.ts';
import { hasUnknown } from '../syntax/marks.ts';
import type { Doubt } from './doubt.ts';

/** Options whose value is a place: what the program obeys there, or what it writes there. */
interface PlaceOptions {
  /** A file or folder whose rules, settings or code the program follows. */
  readonly obeys?: readonly string[];
  /** Where a program that writes anyway puts what it makes. */
  readonly writes?: readonly string[];
}

const list = (text: string): string[] => text.split(' ');
const makes: PlaceOptions = { obeys: list('-C --directory -I --include-dir -f --file --makefile') };
const packages: PlaceOptions = { obeys: list('--prefix -C --dir --cwd') };
const compiles: PlaceOptions = { writes: ['-o'] };
const configured: PlaceOptions = { obeys: list('-c --config --require -r') };

/**
 * Inside the working copy such a value is the project's own, as the Makefile or the manifest is that the program would
 * follow without it; and what a build leaves there is its purpose. Elsewhere it asks.
 */
const table: Readonly<Record<string, PlaceOptions>> = {
  make: makes,
  gmake: makes,
  ninja: { obeys: list('-C -f') },
  npm: packages,
  pnpm: packages,
  yarn: packages,
  bun: packages,
  cargo: { obeys: list('--manifest-path -C'), writes: list('--target-dir --out-dir --artifact-dir') },
  rustc: { writes: list('-o --out-dir') },
  go: { obeys: ['-C'], writes: list('-o -coverprofile -cpuprofile -memprofile -trace -outputdir') },
  gcc: compiles,
  ld: compiles,
  javac: { writes: ['-d'], obeys: list('-processorpath --processor-path') },
  tsc: { writes: list('--outDir --outFile'), obeys: list('-p --project') },
  mvn: { obeys: list('-f --file -s --settings -gs --global-settings') },
  gradle: {
    obeys: list('-p --project-dir -c --settings-file --include-build -g --gradle-user-home'),
  },
  pytest: {
    obeys: list('-c --config-file --rootdir --confcutdir'),
    writes: list('--junitxml --junit-xml --basetemp --log-file --debug'),
  },
  eslint: {
    obeys: list('-c --config --rulesdir --resolve-plugins-relative-to --parser --plugin -f --format'),
  },
  prettier: { obeys: list('--config --plugin') },
  openssl: { obeys: ['-config'] },
  ctags: { obeys: ['--options'] },
  ruby: { obeys: ['-r'] },
  rake: { obeys: list('-f --rakefile -r --require') },
  rspec: { obeys: list('-r --require -O --options') },
  phpunit: { obeys: list('--bootstrap -c --configuration') },
  terraform: { obeys: ['-chdir'] },
  ...Object.fromEntries(
    list('jest vitest mocha ava webpack rollup vite stylelint tsup turbo playwright babel').map((name) => [
      name,
      configured,
    ]),
  ),
};

const aliases: Readonly<Record<string, string>> = {
  cc: 'gcc',
  'g++': 'gcc',
  'c++': 'gcc',
  clang: 'gcc',
  'clang++': 'gcc',
  mvnw: 'mvn',
  gradlew: 'gradle',
  'py.test': 'pytest',
  tofu: 'terraform',
};

/** Values that lead a free program out of the working copy. */
export function placeDoubts(call: Call): Doubt[] {
  const name = aliases[call.name] ?? call.name;
  const options = Object.hasOwn(table, name) ? table[name] : undefined;
  if (options === undefined) return [];
  const doubts: Doubt[] = [];
  for (const [index, word] of call.words.entries()) {
    if (index === 0 || !word.startsWith('-')) continue;
    if (word === '--') break;
    const next = call.words[index + 1];
    const followed = valueOf(options.obeys ?? [], word, next);
    if (followed !== undefined && isOutside(followed, call.cwd))
      doubts.push({ index, reason: `${word} follows what stands outside the working copy` });
    const written = valueOf(options.writes ?? [], word, next);
    if (written !== undefined && isOutside(written, call.cwd) && !isForAnything(written, call.cwd))
      doubts.push({ index, reason: `${word} writes outside the working copy` });
  }
  return doubts;
}

/** `-o x`, `-ox`, `-o=x`, `--output=x`. */
function valueOf(options: readonly string[], word: string, next: string | undefined): string | undefined {
  for (const option of options) {
    if (word === option) return next;
    if (word.startsWith(`${option}=`)) return word.slice(option.length + 1);
    if (option.length === 2 && word.startsWith(option) && /^[/.~\uE000\uE003]/.test(word.slice(2)))
      return word.slice(2);
  }
  return undefined;
}

/** A relative path that does not climb stays where the program works, wherever that is. */
function isOutside(path: string, cwd: string): boolean {
  if (/^[a-z]+:/i.test(path)) return true;
  const own = plainPath(path, '');
  if (own.base === 'here' && own.climbs === 0) return false;
  const place = plainPath(path, cwd);
  return !(place.base === 'here' && place.climbs === 0);
}

/** Temporary files are nobody's; a sink keeps nothing. */
function isForAnything(path: string, cwd: string): boolean {
  if (path === '-') return true;
  const { base, names } = plainPath(path, cwd);
  if (base === 'root' && /^(var\/)?tmp\/./.test(names.join('/'))) return true;
  return !hasUnknown(path) && pathKind(path, cwd) === 'sink';
}
