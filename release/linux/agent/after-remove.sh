#!/bin/sh
# Told by dpkg: remove, purge, upgrade; by rpm: how many of it are left
set -e
[ "$1" != purge ] || rm -rf /var/lib/forewarn-agent
[ ! -d /run/systemd/system ] || systemctl daemon-reload
