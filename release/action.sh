#!/usr/bin/env bash
# What action.yml does.
#   action.sh install       forewarn of SOURCE (or of this clone) into an environment of its own, by PYTHON
#   action.sh region        a region of VMS with CLOCK: around COMMAND, or one that stays for the steps that follow
# The runner says where things are: RUNNER_TEMP, and the files GITHUB_ENV, GITHUB_OUTPUT and GITHUB_PATH.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
room="$RUNNER_TEMP/forewarn"
forewarn="$room/bin/forewarn"

install() {
  local source="${SOURCE:-$here}"
  [ -f "$source/src/forewarn/__init__.py" ] || { echo "::error::path: there is no forewarn in '$source'"; exit 1; }
  source=$(cd "$source" && pwd)
  if [ "$(cat "$room/installed-from" 2>/dev/null)" != "$source" ]; then
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
      || { echo "::error::python: forewarn needs Python 3.11 or newer, and '$PYTHON' is not"; exit 1; }
    "$PYTHON" -m venv --clear "$room"
    local pip=("$room/bin/python" -m pip --disable-pip-version-check --quiet install)
    "${pip[@]}" --require-hashes -r "$source/requirements/build.txt" -r "$source/requirements/server.txt"
    "${pip[@]}" --no-deps --no-build-isolation "$source"
    echo "$source" >"$room/installed-from"
  fi
  echo "$room/bin" >>"$GITHUB_PATH"
}

region() {
  local vms ready url endpoint process
  read -r -a vms <<<"$VMS"
  [ "${#vms[@]}" -gt 0 ] || { echo "::error::vms: name at least one"; exit 1; }
  if [ -n "$COMMAND" ]; then
    exec "$forewarn" run "${vms[@]/#/--vm=}" --clock "$CLOCK" -- bash -e -o pipefail -c "$COMMAND"
  fi
  ready=$(mktemp "$RUNNER_TEMP/forewarn-ready.XXXXXX")
  nohup "$forewarn" serve --ephemeral --clock "$CLOCK" --metadata 127.0.0.1:0 --control 127.0.0.1:0 \
    --resource-manager off --ready json >"$ready" 2>"$ready.log" </dev/null &
  process=$!
  until [ -s "$ready" ]; do # one line, when everything answers
    kill -0 "$process" 2>/dev/null || { cat "$ready.log"; echo "::error::the region did not start"; exit 1; }
    sleep 0.1
  done
  url=$(told control "$ready")
  "$forewarn" vm create "${vms[@]}" --read --url "$url" \
    || { kill "$process"; echo "::error::vms: these cannot be made"; exit 1; }
  endpoint="$(told metadata "$ready")/vm/${vms[0]}"
  printf 'FOREWARN_ENDPOINT=%s\nFOREWARN_URL=%s\n' "$endpoint" "$url" >>"$GITHUB_ENV"
  printf 'endpoint=%s\nurl=%s\npid=%s\n' "$endpoint" "$url" "$process" >>"$GITHUB_OUTPUT"
}

told() { "$room/bin/python" -c 'import json, sys; print(json.load(open(sys.argv[2]))[sys.argv[1]])' "$1" "$2"; }

case "${1:-}" in
  install) install ;;
  region) region ;;
  *) echo "action.sh install|region"; exit 2 ;;
esac
