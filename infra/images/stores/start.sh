#!/bin/sh
# One of the stores, for trying a fleet out: start.sh postgres|redis|s3|syslog. Data lies in /data; not for production.
set -eu
case "${1:-}" in
  postgres)
    bin=$(echo /usr/lib/postgresql/*/bin)
    if [ ! -f /data/PG_VERSION ]; then
      printf '%s' "$POSTGRES_PASSWORD" >/tmp/password
      "$bin/initdb" -D /data --username=lemniscate --pwfile=/tmp/password --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
      rm /tmp/password
      echo 'host all all all scram-sha-256' >>/data/pg_hba.conf
    fi
    exec "$bin/postgres" -D /data -c "listen_addresses=${BIND:-*}" -p "${PORT:-5432}" -c unix_socket_directories=/tmp ;;
  redis)
    exec redis-server --bind "${BIND:-*}" --port "${PORT:-6379}" --dir /data --appendonly yes --maxmemory-policy noeviction --protected-mode no ;;
  s3)
    exec node /app/infra/local/src/s3-server.ts "${PORT:-9000}" /data "${BIND:-0.0.0.0}" ;;
  syslog)
    cat >/tmp/rsyslog.conf <<CONF
global(workDirectory="/tmp" defaultNetstreamDriver="ossl" defaultNetstreamDriverCAFile="/certificates/ca.pem"
  defaultNetstreamDriverCertFile="/certificates/syslog.pem" defaultNetstreamDriverKeyFile="/certificates/syslog-key.pem")
module(load="imtcp" streamdriver.name="ossl" streamdriver.mode="1" streamdriver.authmode="anon")
template(name="raw" type="string" string="%rawmsg%\n")
input(type="imtcp" port="${PORT:-6514}" address="${BIND:-0.0.0.0}")
action(type="omfile" file="/data/audit.log" template="raw")
CONF
    exec rsyslogd -n -f /tmp/rsyslog.conf -i /tmp/rsyslogd.pid ;;
  *) echo 'usage: start.sh postgres|redis|s3|syslog' >&2; exit 2 ;;
esac
