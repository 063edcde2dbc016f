#!/usr/bin/env bash
# The Debian packages behind the end-to-end tests and the benchmark. Installs only what is missing.
set -euo pipefail
missing=()
need() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || missing+=("$2"); }
need ip iproute2
need curl curl
need node nodejs
need npm npm
need nginx nginx-light
need haproxy haproxy
need wrk wrk
need taskset util-linux
need dnsmasq dnsmasq-base
need systemd-analyze systemd
need mono mono-runtime
need mcs mono-mcs
need cc gcc
[ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
for library in net-http runtime-serialization; do
  dpkg -s "libmono-system-${library}4.0-cil" >/dev/null 2>&1 || missing+=("libmono-system-${library}4.0-cil")
done
no_cluster=/etc/postgresql-common/createcluster.d/forewarn-tests.conf
if ! compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null && ! command -v postgres >/dev/null; then
  missing+=(postgresql)
  # The tests start servers of their own; the package is not to make one, or to run one, while it is installed.
  if mkdir -p "$(dirname "$no_cluster")" 2>/dev/null && echo "create_main_cluster = false" 2>/dev/null >"$no_cluster"; then
    trap 'rm -f "$no_cluster"' EXIT
  fi
fi
if [ "${#missing[@]}" -gt 0 ]; then
  echo "installing ${missing[*]} ..."
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null \
    || { echo "install these packages and try again: ${missing[*]}"; exit 1; }
fi
