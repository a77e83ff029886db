#!/usr/bin/env bash
# Starts a container engine of one's own, as root and without systemd, for tests of the docker driver.
#   engine.sh FOLDER           prints the DOCKER_HOST value once the engine answers; its pid is in FOLDER/pid
#   stop it with: kill "$(cat FOLDER/pid)"
# Sandboxes have no network, so the engine needs neither a bridge nor iptables.
set -euo pipefail
folder=${1:?usage: engine.sh FOLDER}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
export DOCKER_HOST=unix://$folder/docker.sock
if docker version >/dev/null 2>&1; then
  echo "$DOCKER_HOST"
  exit 0
fi
command -v dockerd >/dev/null || { echo 'engine: dockerd is missing: apt-get install docker.io' >&2; exit 1; }
runtimes=()
if command -v runsc >/dev/null; then
  cat >"$folder/daemon.json" <<JSON
{ "runtimes": { "runsc": { "path": "$(command -v runsc)",
  "runtimeArgs": ["--network=none", "--platform=ptrace"] } } }
JSON
  runtimes=(--config-file "$folder/daemon.json")
fi
for driver in overlay2 vfs; do
  setsid dockerd --host "$DOCKER_HOST" --data-root "$folder/data" --exec-root "$folder/exec" \
    --pidfile "$folder/pid" --iptables=false --ip6tables=false --bridge=none --storage-driver "$driver" \
    "${runtimes[@]}" </dev/null >"$folder/log" 2>&1 &
  started=$!
  for _ in $(seq 1 60); do
    if docker version >/dev/null 2>&1; then
      echo "$DOCKER_HOST"
      exit 0
    fi
    kill -0 "$started" 2>/dev/null || break
    sleep 0.5
  done
  kill "$started" 2>/dev/null || true
done
echo "engine: dockerd does not start, see $folder/log" >&2
tail -n 5 "$folder/log" >&2
exit 1
