"""How long engines take, for docs/performance.md: ``python -m tests.platforms.docker.figures``. Needs root."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from forewarn.core.machines.values import ErrandKind
from tests.contract.engines.bench import Permit, carry_through, errand_for
from tests.platforms.docker.bench import ContainerBench
from tests.platforms.docker.daemons import daemon

_ROUNDS, _MANY = 9, 100


def _seconds(what: Callable[..., object], *arguments: object) -> float:
    begun = time.monotonic()
    what(*arguments)
    return time.monotonic() - begun


def _one_life(bench: ContainerBench) -> dict[str, float]:
    """A container from its making to its end."""
    found = {"create, until it runs": _seconds(carry_through, bench, errand_for(bench, ErrandKind.CREATE, None))}
    (copy,) = bench.truth("web-1")
    pause = errand_for(bench, ErrandKind.PAUSE, copy)
    found["freeze, until it stands"] = _seconds(bench.engine.carry_out, pause, Permit(seconds_left=60.0))
    found["freeze, its end"] = _seconds(bench.engine.carry_out, pause, Permit(True))
    for kind in (ErrandKind.RESTART, ErrandKind.REDEPLOY, ErrandKind.DELETE):
        (copy,) = bench.truth("web-1")
        found[kind.value] = _seconds(carry_through, bench, errand_for(bench, kind, copy, 2, to=bench.hosts[0]))
    return found


def _many(bench: ContainerBench) -> dict[str, float]:
    """A hundred, one after another."""
    found = {"100 containers: create": _seconds(_make_many, bench)}
    copies = [bench.truth(f"many-{number}")[0] for number in range(_MANY)]
    found["listing of 100"] = statistics.median(_seconds(bench.engine.listing, bench.hosts[0]) for _ in range(5))
    pauses = [errand_for(bench, ErrandKind.PAUSE, copy) for copy in copies]
    for name, permit in (("pause", Permit(seconds_left=60.0)), ("resume", Permit(True))):
        found[f"100 containers: {name}"] = sum(_seconds(bench.engine.carry_out, each, permit) for each in pauses)
    return found


def _make_many(bench: ContainerBench) -> None:
    for number in range(_MANY):
        bench.make(f"many-{number}", bench.hosts[0])


def main() -> None:
    for kind in ("dockerd", "podman"):
        with tempfile.TemporaryDirectory() as room, daemon(kind, Path(room) / "0") as only:
            _tell(kind, ContainerBench((only,)))


def _tell(kind: str, bench: ContainerBench) -> None:
    lives = [_one_life(bench) for _ in range(_ROUNDS)]
    found = {name: statistics.median(life[name] for life in lives) for name in lives[0]}
    for name, seconds in (found | _many(bench)).items():
        print(f"{kind:8} {name:28} {seconds * 1000:9.1f} ms", flush=True)
    bench.close()


if __name__ == "__main__":
    main()
