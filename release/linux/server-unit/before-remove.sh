#!/bin/sh
# Told by dpkg: remove or upgrade; by rpm: how many of it there will be
set -e
case "$1" in
  remove | 0)
    [ ! -d /run/systemd/system ] || systemctl disable --now forewarn.service
    rm -f /etc/systemd/system/multi-user.target.wants/forewarn.service
    ;;
esac
