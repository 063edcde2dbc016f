#!/bin/sh
# Told by dpkg: configure, or that something failed; by rpm: how many of it there are
set -e
case "$1" in configure | 1 | 2) ;; *) exit 0 ;; esac
# The unit lets the agent write nothing below /usr, so every start would compile all of it anew.
/usr/bin/python3 -I -m compileall -q /usr/share/forewarn
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart forewarn-agent.service # only one that runs: an upgrade
fi
