#!/usr/bin/env bash
# Keeps one image of a release: its archive, which `docker load` takes, and its bill of materials.
#   keep-image.sh IMAGE NAME TAG FOLDER
# IMAGE: the one that was built; lemniscate/NAME:TAG names it from now on.
set -euo pipefail
[ $# = 4 ] || { echo 'usage: keep-image.sh IMAGE NAME TAG FOLDER' >&2; exit 1; }
as=lemniscate/$2:$3
file=$4/image-$2-$3
docker tag "$1" "$as"
docker save "$as" | zstd -q -f -o "$file.tar.zst"
# `true`: an image without a command of its own is taken too; it never runs
container=$(docker create "$1" true)
trap 'docker rm "$container" >/dev/null' EXIT
docker cp "$container:/usr/share/lemniscate/sbom.spdx.json" "$file.spdx.json" >&2
