"""``python -m tests.platforms.windows.footprint``: what an idle agent costs under wine, beside the same on Linux.

Memory is resident and, in brackets, what no other process shares; the start is processor time from nothing to the first
read of a document. Wine's own part is in it, so it says little about Windows itself. docs/windows.md has the figures.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from requirements.windows import ROOT

from forewarn.testing import Region, open_region
from tests.platforms.windows.wine import Windows, made

ROUNDS = 5
_SETTLED_SECONDS = 3.0  # after the first read, for its threads to come to rest
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> int:
    made()
    with tempfile.TemporaryDirectory() as place, Windows(Path(place) / "drive").running() as windows:
        for name, start in (("Linux", _on_linux), ("wine", lambda config: _on_windows(windows, config))):
            figures = [_measured(Path(place), f"{name}-{each}", start) for each in range(ROUNDS)]
            resident, own, seconds = (statistics.median(column) for column in zip(*figures, strict=True))
            print(f"{name}: {resident:.0f} MiB ({own:.0f} MiB), start {seconds:.2f} s of processor time")
    return 0


def _measured(place: Path, name: str, start: object) -> tuple[float, float, float]:
    config = place / f"{name}.toml"
    with open_region() as region:
        url = region.vm("web-0").url
        config.write_text(f"[agent]\nendpoint = '{url}'\nstate_directory = '{_state(name, place)}'\n")
        assert callable(start)
        process: subprocess.Popen[bytes] = start(config)
        try:
            while not _was_read(region):
                assert process.poll() is None
                time.sleep(0.02)
            seconds = _cpu_seconds(process.pid)
            time.sleep(_SETTLED_SECONDS)
            return (*_memory_mib(process.pid), seconds)
        finally:
            process.kill()
            process.communicate()


def _state(name: str, place: Path) -> str:
    return f"C:\\{name}" if name.startswith("wine") else str(place / name)


def _was_read(region: Region) -> bool:
    return "GET 200" in region.story()


def _on_linux(config: Path) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "forewarn", "agent", "run", "--config", str(config)]
    return subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _on_windows(windows: Windows, config: Path) -> subprocess.Popen[bytes]:
    path = "Z:" + str(config).replace("/", "\\")
    return windows.start("-m", "forewarn", "agent", "run", "--config", path, out=subprocess.PIPE)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory_mib(pid: int) -> tuple[float, float]:
    found: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split()[:2]
        found[name.rstrip(":")] = int(value)
    return found["Rss"] / 1024, (found["Private_Clean"] + found["Private_Dirty"]) / 1024


if __name__ == "__main__":
    sys.exit(main())
