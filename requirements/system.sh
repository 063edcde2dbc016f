#!/usr/bin/env bash
# The Debian packages behind the tests and the benchmark. Installs only what is missing.
#   bash requirements/system.sh check|test|platforms|bench      each level has what the ones before it have
set -euo pipefail
level="${1:-test}"
case "$level" in
  check) depth=1 ;;
  test) depth=2 ;;
  platforms) depth=3 ;;
  bench) depth=4 ;;
  *) echo "system.sh check|test|platforms|bench, not '$level'"; exit 2 ;;
esac
missing=()
need() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || missing+=("$2"); }

# check: what unit tests and those of the pages run
need systemd-analyze systemd
need mandoc mandoc # both read the man pages
need man man-db
need nginx nginx-light # takes the configuration of docs/nodes.md; the benchmark measures beside it
if ! compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null && ! command -v postgres >/dev/null; then
  missing+=(postgresql)
fi
if [ "$depth" -ge 2 ]; then # test: the clients, namespaces and browsers of the end-to-end tests
  need ip iproute2
  need curl curl
  need node nodejs
  need npm npm
  need haproxy haproxy
  need dnsmasq dnsmasq-base
  need chromium chromium
  compgen -G "/usr/share/fonts/truetype/roboto/*/*/Roboto-Regular.ttf" >/dev/null || missing+=(fonts-roboto-unhinted) # its pictures
  need mono mono-runtime
  need mcs mono-mcs
  need zsh zsh # completion is tried in them
  need fish fish
  need cc gcc
  [ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
  for library in net-http runtime-serialization; do
    dpkg -s "libmono-system-${library}4.0-cil" >/dev/null 2>&1 || missing+=("libmono-system-${library}4.0-cil")
  done
fi
if [ "$depth" -ge 3 ]; then # platforms: what runs machines
  need dockerd docker.io
  need docker docker.io
  need podman podman
  need runc runc
  need libvirtd libvirt-daemon
  need virsh libvirt-clients
  need qemu-system-x86_64 qemu-system-x86
  need qemu-img qemu-utils
  need cpio cpio
  need promtool prometheus # reads a server's figures, and tries the alert rules
  need nc netcat-openbsd # between QEMU's user networking and a socket
  need jq jq # of the example of an engine in shell
  dpkg -s libvirt-daemon-driver-qemu >/dev/null 2>&1 || missing+=(libvirt-daemon-driver-qemu)
  [ -e /usr/lib/python3/dist-packages/libvirt.py ] || missing+=(python3-libvirt)
  [ -e /usr/include/libvirt/libvirt.h ] || missing+=(libvirt-dev) # the extra libvirt is built against it
  need pkg-config pkg-config
  need wine wine # Windows: what runs there is run there
  [ -x /usr/lib/wine/wine64 ] || missing+=(wine64)
  need x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64-win32
  need go golang-go # the recipes of docs/testing.md in other languages
  need javac default-jdk-headless
  [ -e /usr/share/java/junit-jupiter-api.jar ] || missing+=(junit5)
  need firefox-esr firefox-esr # the portal in a second browser
  need mmdebstrap mmdebstrap # roots for images, packages and other versions of Python
  need rpm rpm # looks at ours, and installs it in a root
  need busybox busybox-static # the one program of the tests' image: nothing it needs is outside of it
fi
if [ "$depth" -ge 4 ]; then # bench: load, and peers to measure beside
  need go golang-go
  need wrk wrk
  need taskset util-linux
fi
[ "${#missing[@]}" -gt 0 ] || exit 0

# Neither a daemon nor a database cluster is to start on this machine because a package came: the tests start their own.
# Each of the two files is put there for the time of the installation only, and only where there is none.
ours=()
trap '[ "${#ours[@]}" -eq 0 ] || rm -f "${ours[@]}"' EXIT
for_now() { # PATH TEXT: whoever is not root is told below what to install
  [ ! -e "$1" ] || return 0
  mkdir -p "$(dirname "$1")" 2>/dev/null && printf '%s\n' "$2" 2>/dev/null >"$1" && chmod 755 "$1" && ours+=("$1") || true
}
for_now /usr/sbin/policy-rc.d $'#!/bin/sh\nexit 101'
for_now /etc/postgresql-common/createcluster.d/forewarn-tests.conf "create_main_cluster = false"
echo "installing ${missing[*]} ..."
wait_for_others=(-o DPkg::Lock::Timeout=600) # two clones may be set up at once
apt-get update -qq "${wait_for_others[@]}" \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${wait_for_others[@]}" --no-install-recommends "${missing[@]}" >/dev/null \
  || { echo "install these packages and try again: ${missing[*]}"; exit 1; }
