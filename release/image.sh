#!/usr/bin/env bash
# The container image, from a clone: wheel and packages are gathered, then built in without a network.
#   bash release/image.sh [NAME] [BASE]        BUILD="podman build" is the tool, with its options
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
named=$("$python" -c 'import tomllib; print(tomllib.load(open("release/release.toml", "rb"))["image"])')
name="${1:-${named:-localhost/forewarn}}"
base="${2:-}"
version=$("$python" -c 'import forewarn; print(forewarn.__version__)')
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT

"$python" -m hatchling build -t wheel -d "$context" >/dev/null
cp requirements/server.txt release/Containerfile "$context"
"$python" -m pip --quiet --disable-pip-version-check download --only-binary :all: --require-hashes \
  -r requirements/server.txt -d "$context/wheels"
${BUILD:-podman build} --format docker --build-arg PIP_NO_INDEX=1 ${base:+--build-arg "BASE=$base"} \
  --tag "$name:$version" --tag "$name:latest" --file "$context/Containerfile" "$context"
