#!/usr/bin/env bash
# Wheel, sdist, and the list of what a server is made of (CycloneDX), from a clone. `make packages` calls it.
#   bash release/build.sh [FOLDER]        dist/ unless given; what lies there is replaced
set -euo pipefail
cd "$(dirname "$0")/.."
into="${1:-dist}"
version=$(.venv/bin/python -c 'import forewarn; print(forewarn.__version__)')
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

rm -rf "$into"
.venv/bin/python -m hatchling build -d "$into" >/dev/null
# The list says which version it is about; pyproject.toml leaves that to the source.
sed "s/^dynamic = .*/version = \"$version\"/" pyproject.toml >"$room/pyproject.toml"
PYTHONWARNINGS=ignore .build/release/bin/cyclonedx-py requirements --output-reproducible \
  --pyproject "$room/pyproject.toml" -o "$into/forewarn-$version.cdx.json" requirements/server.txt
.build/package/bin/python -m twine check --strict "$into"/*.whl "$into"/*.tar.gz
ls -1 "$into"
