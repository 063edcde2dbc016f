#!/bin/sh
# Told by dpkg: install or upgrade; by rpm: how many of it there will be
set -e
theirs=/etc/systemd/system/forewarn-agent.service
if grep -qs "^# Written by 'forewarn agent install'" "$theirs"; then
  echo "forewarn-agent: $theirs came with 'forewarn agent install' and would be started instead of this package's unit." >&2
  echo "forewarn-agent: nothing was changed; remove it with 'forewarn agent uninstall', and install again." >&2
  exit 1
fi
