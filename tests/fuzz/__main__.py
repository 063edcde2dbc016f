"""``make fuzz``: every target for its share of the time. What breaks one is kept in the corpus, and ends in status 1.

Guided by coverage where atheris is installed (Linux on x86-64, a Python it has wheels for); else by chance alone, and
says so.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import random
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.mutating import mutate
from tests.fuzz.seeds import CORPUS
from tests.fuzz.targets import TARGETS

FOUND = Path(".build/fuzz")  # inputs that lead to new paths: worth having for the next run, not worth keeping
_ONE_INPUT_SECONDS = 20
_MEGABYTES = 1024


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for all targets together (default: 10)")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="only these")
    args = parser.parse_args()
    names = args.target or list(TARGETS)
    seconds = max(1, int(args.minutes * 60 / len(names)))
    guided = importlib.util.find_spec("atheris") is not None
    print(f"{len(names)} targets, {seconds} s each, {'guided by coverage' if guided else 'by chance: no atheris here'}")
    broken = [name for name in names if not (_guided(name, seconds) if guided else _by_chance(name, seconds))]
    for name in broken:
        print(f"{name} broke; what broke it is kept in {CORPUS / name}", file=sys.stderr)
    return 1 if broken else 0


def _guided(name: str, seconds: int) -> bool:
    found = FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    options = (
        f"-max_total_time={seconds}",
        f"-timeout={_ONE_INPUT_SECONDS}",
        f"-report_slow_units={_ONE_INPUT_SECONDS}",  # below that it is the machine that is slow
        f"-rss_limit_mb={_MEGABYTES}",
        f"-artifact_prefix={CORPUS / name}/found-",
        "-max_len=8192",
        "-verbosity=0",
        "-print_final_stats=1",
    )
    command = [sys.executable, "-m", "tests.fuzz.guided", name, *options, str(found), str(CORPUS / name)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        print(done.stdout)
    runs = next((line.split()[-1] for line in done.stdout.splitlines() if "number_of_executed_units" in line), "?")
    print(f"{name}: {runs} inputs{'' if done.returncode == 0 else ', BROKEN'}", flush=True)
    return done.returncode == 0


def _by_chance(name: str, seconds: int) -> bool:
    chance, corpus, runs = random.Random(), [path.read_bytes() for path in (CORPUS / name).iterdir()], 0
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        data = mutate(chance, corpus)
        runs += 1
        try:
            TARGETS[name](data)
        except Exception as problem:
            path = CORPUS / name / f"found-{hashlib.sha256(data).hexdigest()[:16]}"
            path.write_bytes(data)
            print(f"{name}: {type(problem).__name__}: {problem}\n  {data[:200]!r}")
            return False
    print(f"{name}: {runs} inputs", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
