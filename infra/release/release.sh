#!/usr/bin/env bash
# Makes a release out of a clean, tagged checkout: images with versioned tags, their bills of materials, the source archive
# that agent servers are installed from, and digests of all of it. Publishes nothing.
#   release.sh VERSION [FOLDER]      FOLDER: default .artifacts/VERSION
# Needs what infra/images/build.sh needs. The tag vVERSION must be checked out, and CHANGELOG.md must have its heading.
#   RELEASE_DRY_RUN=1   without images: the archive, its bill of materials and the digests
set -euo pipefail
version=${1:-}
project=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
fail() { printf 'release: %s\n' "$*" >&2; exit 1; }
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail 'usage: release.sh VERSION [FOLDER], such as 1.2.0'
cd "$project"
[ -z "$(git status --porcelain)" ] || fail 'the checkout has changes: commit them, or release another one'
[ "$(git describe --exact-match --tags 2>/dev/null || true)" = "v$version" ] || fail "the tag v$version is not checked out: git tag v$version"
grep -q "^## \[\?$version" CHANGELOG.md || fail "CHANGELOG.md has no heading for $version"
folder=${2:-$project/.artifacts/$version}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# every build of this commit gets the same times
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

archive=lemniscate-$version.tar.zst
git archive --format=tar --prefix="lemniscate-$version/" HEAD | zstd -q -19 -f -o "$folder/$archive"
node="$project/node_modules/.bin/node"
[ -x "$node" ] || fail 'run npm ci first'
npm sbom --sbom-format spdx --omit dev --package-lock-only >"$folder/lemniscate-$version.spdx.json"

if [ -z "${RELEASE_DRY_RUN:-}" ]; then
  for target in dispatcher audit-exporter agent-server; do
    infra/release/keep-image.sh "$(infra/images/build.sh "$target")" "$target" "$version" "$folder"
  done
  # the roots of docker sandboxes
  for profile in base slim full; do
    infra/release/keep-image.sh "$(infra/images/agent-base/build.sh "$profile")" agent-base "$profile-$version" "$folder"
  done
fi
(cd "$folder" && sha256sum -- *"$version"* >SHA256SUMS)
printf '%s\n' "$folder"
