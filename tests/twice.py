"""Run pytest, and what failed once more, alone: ``python -m tests.twice ARGUMENTS OF PYTEST``.

Thousands of tests start real processes on a machine that others use too. One that fails in the crowd and passes alone
hangs on chance: that is a defect, of the test or of the product, and is named at the end with its first output above.
It does not throw away the whole run. CPython's own test runner does the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

_TESTS_FAILED = 1  # pytest's exit code for that alone
_MANY = 8  # so many do not fail by chance; running them again would only take long


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="forewarn-twice-") as directory:
        first = _pytest([*arguments, "-o", f"cache_dir={directory}"])
        if first != _TESTS_FAILED:
            return first
        kept = Path(directory) / "v/cache/lastfailed"
        failed = sorted(json.loads(kept.read_text())) if kept.exists() else []
    if not 0 < len(failed) <= _MANY:
        return first
    print(f"\nOnce more, alone: {len(failed)} that failed.", flush=True)
    second = _pytest(["-q", *failed])
    if second == 0:
        print("\nFailed first and passed alone, so they hang on chance; please mend, or report with the output above:")
        print("".join(f"  {name}\n" for name in failed), end="", flush=True)
    return second


def _pytest(arguments: list[str]) -> int:
    return subprocess.call([sys.executable, "-m", "pytest", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
