#!/bin/sh
# The region in /var/lib/forewarn stays, also when all else is purged: it is nobody's configuration.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
