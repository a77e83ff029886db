import type { WrapperGrammar } from './grammar.ts';

const list = (text: string): string[] => text.split(' ');

/** Programs of the system that only change how another command runs: both must be free. */
const plain: Readonly<Record<string, WrapperGrammar>> = {
  env: {
    valued: list('-u --unset -C --chdir -a --argv0'),
    flags: list('--ignore-environment --null --debug --list-signal-handling'),
    code: list('-S --split-string'),
    assignments: true,
  },
  timeout: {
    valued: list('-k --kill-after -s --signal'),
    flags: list('--foreground --preserve-status --verbose'),
    operands: 1,
  },
  gtimeout: { valued: list('-k --kill-after -s --signal'), operands: 1 },
  nohup: {},
  nice: { valued: list('-n --adjustment') },
  ionice: { valued: list('-c --class -n --classdata -p --pid -P -u'), flags: list('--ignore') },
  chrt: { valued: list('-T -P -D --sched-runtime'), operands: 1 },
  taskset: { operands: 1, flags: list('--all-tasks --cpu-list') },
  stdbuf: { valued: list('-i --input -o --output -e --error') },
  unbuffer: {},
  setsid: { flags: list('--ctty --fork --wait') },
  time: { valued: list('-f --format -o --output'), flags: list('--append --verbose --portability --quiet') },
  command: { lookups: list('-v -V') },
  builtin: {},
  noglob: {},
  nocorrect: {},
  busybox: { lookups: list('--list --list-full --help') },
  toybox: { lookups: list('--long --help') },
  catchsegv: {},
  chronic: {},
  ifne: {},
  strace: {
    valued: list(
      '-a -b -e -E -I -o -O -p -P -s -S -u -U -X --trace --output --attach --env --user --string-limit',
    ),
  },
  ltrace: { valued: list('-a -A -D -e -F -l -n -o -p -s -u -w -x') },
  valgrind: {},
  perf: {
    valued: list('-e --event -o --output -p --pid -r --repeat -F -C --cpu'),
    after: list('stat record trace'),
  },
  gdb: { valued: list('-x -ex -iex -p'), after: list('--args -args') },
  rlwrap: { valued: list('-f -H -C -S -b') },
  flock: {
    valued: list('-w --wait --timeout -E --conflict-exit-code'),
    operands: 1,
    code: list('-c --command'),
  },
  script: {
    valued: list('-I -O -B -T -E -o -m --log-in --log-out'),
    code: list('-c --command'),
    operands: 1,
  },
  chroot: { valued: list('--userspec --groups'), flags: list('--skip-chdir'), operands: 1 },
  fakeroot: { valued: list('-l --lib --faked -s -i -b') },
  fakechroot: {},
  proot: { valued: list('-r -b -w -q -R -S -0 --rootfs --bind --cwd') },
  bwrap: {
    valued: list('--chdir --unsetenv --hostname --dev --proc --tmpfs --uid --gid --seccomp --lock-file'),
    flags: list(
      '--unshare-all --die-with-parent --new-session --share-net --clearenv --unshare-net --unshare-pid',
    ),
  },
  unshare: { valued: list('-S --setuid -G --setgid -R --root -w --wd --propagation --setgroups') },
  nsenter: { valued: list('-t --target -S --setuid -G --setgid') },
  setpriv: {
    valued: list(
      '--reuid --regid --ruid --rgid --euid --egid --groups --inh-caps --ambient-caps --bounding-set',
    ),
    flags: list('--no-new-privs --clear-groups --keep-groups --init-groups --reset-env'),
  },
  setarch: { operands: 1 },
  linux32: {},
  linux64: {},
  prlimit: { valued: list('-p --pid -o --output') },
  numactl: { valued: list('-m -N -C -i -p --membind --cpunodebind --physcpubind --interleave --preferred') },
  cgexec: { valued: list('-g') },
  'systemd-run': {
    valued: list(
      '-u --unit -p --property -E --setenv -M --machine -H --host --uid --gid --slice --on-active',
    ),
  },
  'systemd-inhibit': {},
  'dbus-run-session': {},
  'dbus-launch': {},
  'xvfb-run': { valued: list('-e -f -n -p -s -w --server-args --server-num --error-file --auth-file') },
  faketime: { operands: 1 },
  'ssh-agent': { valued: list('-a -t -E -P') },
  proxychains: { valued: list('-f') },
  proxychains4: { valued: list('-f') },
  torsocks: {},
  caffeinate: { valued: list('-t -w') },
  tini: { valued: list('-p -e') },
  'dumb-init': {},
  jobs: { after: list('-x') },
  coproc: {},
  'cross-env': { assignments: true },
  'cross-env-shell': { assignments: true, joins: true },
  watch: {
    valued: list('-n --interval -q --equexit'),
    flags: list('--differences --errexit --chgexit --exec --no-title'),
    joins: true,
  },
  hyperfine: {
    valued: list(
      '-w --warmup -r --runs -m --min-runs -M --max-runs -S --shell -n --command-name --export-json --export-markdown',
    ),
    code: list('-p --prepare -s --setup -c --cleanup'),
    each: true,
  },
  entr: { ownInput: true },
  ssh: {
    valued: list('-b -c -D -E -e -F -i -I -J -L -l -m -O -o -p -Q -R -S -W -w'),
    operands: 1,
    joins: true,
  },
  sshpass: { valued: list('-p -f -d -P') },
};

/** Tools in their own right, that run a command among other things they do. */
const tools: Readonly<Record<string, WrapperGrammar>> = {
  npx: { valued: list('-p --package -w --workspace'), code: list('-c --call') },
  npm: {
    after: list('exec x'),
    valued: list('-p --package -w --workspace --prefix'),
    code: list('-c --call'),
  },
  pnpm: { after: list('exec dlx'), valued: list('-C --dir --filter -F') },
  yarn: { after: list('exec dlx'), valued: list('--cwd -p --package') },
  bunx: {},
  bun: { after: list('x') },
  uv: {
    after: list('run'),
    valued: list('--with --python -p --directory --project --extra --group --env-file -m'),
  },
  uvx: { valued: list('--from --with --python -p') },
  poetry: { after: list('run'), valued: list('-C --directory -P --project') },
  pipenv: { after: list('run') },
  pdm: { after: list('run') },
  rye: { after: list('run') },
  hatch: { after: list('run') },
  conda: { after: list('run'), valued: list('-n --name -p --prefix --cwd') },
  mamba: { after: list('run'), valued: list('-n --name -p --prefix --cwd') },
  bundle: { after: list('exec') },
  mise: { after: list('exec x'), dashes: true },
  asdf: { after: list('exec') },
  pyenv: { after: list('exec') },
  rbenv: { after: list('exec') },
  direnv: { after: list('exec'), operands: 1 },
  dotenv: { valued: list('-e -f -v -p') },
  dotenvx: { after: list('run'), valued: list('-f -e') },
  'env-cmd': { valued: list('-f -e -r') },
  doppler: { after: list('run'), dashes: true, code: list('--command') },
  op: { after: list('run'), dashes: true },
  'nix-shell': { valued: list('-p -A -I --packages'), code: list('--run --command'), operands: 99 },
  nix: { after: list('-c --command') },
  docker: {
    after: list('exec run'),
    valued: list(
      '-e --env -u --user -w --workdir -v --volume -p --publish --name --network --net --entrypoint -h --hostname --mount -m --memory --cpus -l --label --env-file --add-host --platform --pull --gpus --device --cap-add --cap-drop --security-opt --tmpfs --ulimit --restart --ipc --pid -f --file --profile',
    ),
    flags: list('--rm --interactive --tty --detach --privileged --init --read-only --no-deps'),
    operands: 1,
  },
  kubectl: { after: list('exec run debug'), dashes: true },
  lxc: { after: list('exec'), dashes: true },
  multipass: { after: list('exec'), dashes: true },
  wsl: { valued: list('-d --distribution -u --user --cd') },
  vagrant: { after: list('ssh'), code: list('-c --command'), operands: 99 },
  tmux: {
    after: list('new new-session split-window new-window respawn-pane'),
    valued: list('-s -n -t -c -x -y -e -F -p -l'),
  },
  screen: { valued: list('-S -c -h -T -t -p') },
  concurrently: { valued: list('-n --names -c --prefix-colors'), each: true },
  nodemon: { code: list('-x --exec'), valued: list('-w --watch -e --ext -i --ignore'), operands: 99 },
  at: { operands: 99 },
  // cmd's own, for batch files
  call: {},
};

/** Grammar by program name. */
export const wrapperTable: Readonly<Record<string, WrapperGrammar>> = {
  ...plain,
  ...Object.fromEntries(
    Object.entries(tools).map(([name, grammar]) => [name, { ...grammar, tool: true as const }]),
  ),
  podman: { ...tools['docker'], tool: true },
  nerdctl: { ...tools['docker'], tool: true },
  'docker-compose': { ...tools['docker'], tool: true },
};
