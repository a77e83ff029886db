/**
 * Packs the folder named `$1` below /snapshot to standard output. Sorted names and fixed names of the extended headers
 * make the same tree the same bytes. An agent may have taken its own right to read away from a file or a folder: then
 * it is given for the time of the packing, and the true modes travel in a list beside the folder.
 */
export const packScript = `set -eo pipefail
cd /snapshot
part=$1
modes=/tmp/$part.modes
restore() {
  local -a all=()
  mapfile -d '' all <"$modes"
  local i
  for ((i = \${#all[@]} - 1; i >= 0; i--)); do chmod -- "\${all[i]%% *}" "\${all[i]#* }"; done
}
: >"$modes"
trap restore EXIT
find "$part" \\( -type d ! -perm -u=rx -o -type f ! -perm -u=r \\) -printf '%m %p\\0' -exec chmod u+rx -- {} \\; >>"$modes"
LC_ALL=C sort -z -k2 -o "$modes" "$modes"
touch -d @0 "$modes"
beside=()
if [ -s "$modes" ]; then beside=(-C /tmp "$part.modes"); fi
tar --create --format=posix --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime --sort=name \\
  --numeric-owner --owner=0 --group=0 --sparse --xattrs --acls --warning=no-file-ignored "$part" "\${beside[@]}"`;

/**
 * Unpacks both parts from standard input below /snapshot, and applies the lists of modes from the inside out. The
 * names in the archive are those that our own tar gave, so `--absolute-names` opens nothing; it lets the lists land
 * in /tmp.
 */
export const unpackScript = `set -eo pipefail
cd /snapshot
tar --extract --ignore-zeros --preserve-permissions --no-same-owner --xattrs --xattrs-include='*' --acls \\
  --absolute-names --transform='flags=r;s,^\\(workspace\\|home\\)\\.modes$,/tmp/\\1.modes,'
for modes in /tmp/workspace.modes /tmp/home.modes; do
  [ -e "$modes" ] || continue
  mapfile -d '' all <"$modes"
  for ((i = \${#all[@]} - 1; i >= 0; i--)); do chmod -- "\${all[i]%% *}" "\${all[i]#* }"; done
done`;
