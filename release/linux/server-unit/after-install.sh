#!/bin/sh
# A server that runs goes on: when it is restarted is for the person to say who looks after its nodes.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
