#!/bin/sh
# Told by dpkg: remove or upgrade; by rpm: how many of it there will be
set -e
compiled_away() { find /usr/share/forewarn -depth -type d -name __pycache__ -exec rm -r {} +; }
case "$1" in
  remove | 0)
    [ ! -d /run/systemd/system ] || systemctl disable --now forewarn-agent.service
    rm -f /etc/systemd/system/multi-user.target.wants/forewarn-agent.service
    compiled_away
    ;;
  upgrade) compiled_away ;; # what comes with the new one is compiled then; rpm compiles it before it asks here
esac
