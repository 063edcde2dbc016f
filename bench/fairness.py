"""Another VM's read while one VM does too much: how much longer it takes than on a quiet server."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from bench.callers import address_of, name_of
from bench.canary import Canary
from bench.crowd import KINDS, crowd
from bench.figures import Figure, figure_of, percentile
from bench.region import Served, served

PART = "fairness"
_NOISY, _CALM = 0, 1  # which callers they are
_SECONDS = 3.0
_RATIO, _HIGH = 2.0, 50.0  # of the median to that of a quiet server; milliseconds at the 99th percentile
_READS = {"on a kept connection": False, "by a connection of its own": True}


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Two VMs with an address each; the one is quiet, or does one thing after the other, while the other reads."""
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory:
        file = Path(directory) / "region.toml"
        vms = ((name_of(each), address_of(each)) for each in (_NOISY, _CALM))
        file.write_text("".join(f'[[vm]]\nname = "{name}"\naddress = "{address}"\n' for name, address in vms))
        with served("--config", str(file), pinned=True) as region:
            for turn in range(rounds):
                for kind in ("", *KINDS):
                    for reads, each in _READS.items():
                        taken.setdefault((kind, reads), []).append(_read(region, kind, each=each))
                say(
                    f"round {turn + 1}: "
                    + ", ".join(f"{kind or 'quiet'} {_told(taken, kind)}" for kind in ("", *KINDS))
                )
    return [figure for reads in _READS for figure in _figures(taken, reads)]


def _read(region: Served, kind: str, *, each: bool) -> tuple[float, float]:
    """Median and 99th percentile of one while, in milliseconds."""
    busy: AbstractContextManager[None] = (
        crowd(kind, region.metadata_port, address_of(_NOISY)) if kind else nullcontext()
    )
    with busy, Canary(region.metadata_port, source=address_of(_CALM), each=each) as canary:
        time.sleep(_SECONDS)
    return percentile(canary.delays, 0.5), percentile(canary.delays, 0.99)


def _told(taken: dict[tuple[str, str], list[tuple[float, float]]], kind: str) -> str:
    latest = (taken[kind, reads][-1] for reads in _READS)
    return " | ".join(f"{median:.2f}, {high:.1f} ms" for median, high in latest)


def _figures(taken: dict[tuple[str, str], list[tuple[float, float]]], reads: str) -> list[Figure]:
    quiet = taken["", reads]
    what = f"another VM's read {reads}"
    figures = [
        figure_of(PART, f"{what}, quiet, median", [median for median, _ in quiet], "ms"),
        figure_of(PART, f"{what}, quiet, 99th percentile", [high for _, high in quiet], "ms"),
    ]
    for kind in KINDS:
        ratios = [median / before for (median, _), (before, _) in zip(taken[kind, reads], quiet, strict=True)]
        highs = [high for _, high in taken[kind, reads]]
        while_ = f"{what}, while one {kind}"
        figures.append(figure_of(PART, f"{while_}, median to that of a quiet server", ratios, "x", _RATIO))
        figures.append(figure_of(PART, f"{while_}, 99th percentile", highs, "ms", _HIGH))
    return figures
