#!/usr/bin/env bash
# Make an environment with the real az in it, pinned: .build/az. The end-to-end tests drive it.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "installing az ..."
"${PYTHON:-python3}" -m venv --clear .build/az
.build/az/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/az.txt
