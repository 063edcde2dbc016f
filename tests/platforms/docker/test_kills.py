"""``kill -9`` of who carries out an errand, or of the engine, at every instant of each kind; then somebody carries on.

No machine runs twice, none is booted twice for one errand, and no pause is forgotten.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator
from functools import partial
from multiprocessing.context import ForkServerProcess
from typing import Any

import pytest

from forewarn.core.machines.values import Errand, ErrandKind, MachinePower
from forewarn.engines.docker.engine import DockerEngine
from forewarn.engines.docker.making import Blueprint
from forewarn.plane.hands.engine import Done, Failed
from tests.contract.engines.bench import Permit, carry_through, errand_for, running
from tests.platforms.docker.bench import ContainerBench
from tests.platforms.docker.daemons import CALL_SECONDS, Daemon
from tests.waiting import until

# How many calls each takes that change something, at most
_CHANGES = {
    ErrandKind.CREATE: 2,
    ErrandKind.START: 1,
    ErrandKind.STOP: 1,
    ErrandKind.RESTART: 2,
    ErrandKind.PAUSE: 1,
    ErrandKind.REDEPLOY: 7,
    ErrandKind.DELETE: 1,
}
_KINDS = sorted(_CHANGES)
# podman takes three seconds for what dockerd does in one, so it is struck where most is open
_INSTANTS = {"dockerd": ("asked", "answered"), "podman": ("asked",)}
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["forewarn.engines.docker.engine"])

pytestmark = pytest.mark.timeout(300)
TALLY: Counter[str] = Counter()  # what docs/machines.md counts


def _carry_out(paths: dict[str, str], blueprints: tuple[Blueprint, ...], errand: Errand) -> None:
    DockerEngine("containers", paths, blueprints, CALL_SECONDS).carry_out(errand, Permit(seconds_left=5.0))


@pytest.fixture(params=["dockerd", "podman"])
def bench(request: pytest.FixtureRequest) -> Iterator[ContainerBench]:
    made = ContainerBench(request.getfixturevalue(request.param))
    yield made
    made.close()


@pytest.mark.parametrize("kind", _KINDS)
def test_who_is_killed_at_any_instant_of_an_errand_is_followed_by_who_ends_it_once(
    kind: ErrandKind, bench: ContainerBench
) -> None:
    for turn in range(1, _CHANGES[kind] + 1):
        for instant in _INSTANTS[bench.kind]:
            story = _Story(bench, kind)
            child = _context.Process(target=_carry_out, args=(bench.paths(), bench.blueprints, story.errand))
            _strike(bench, child, turn, instant)
            child.start()
            child.join(CALL_SECONDS)
            TALLY["kills of a process"] += child.exitcode == -signal.SIGKILL
            bench.settle()
            story.carry_on()


@pytest.mark.parametrize("kind", _KINDS)
def test_an_engine_that_is_killed_in_the_middle_of_an_errand_leaves_it_to_be_ended_once(
    kind: ErrandKind, bench: ContainerBench
) -> None:
    for turn in range(1, _CHANGES[kind] + 1):
        story = _Story(bench, kind)
        victims: list[Daemon] = []
        bench.strike_when("asked", turn, partial(_kill, victims))
        bench.engine.carry_out(story.errand, Permit(seconds_left=5.0))
        bench.settle()
        for daemon in victims:
            TALLY["kills of an engine"] += 1
            daemon.start()
        story.carry_on()


def _kill(victims: list[Daemon], daemon: Daemon) -> None:
    victims.append(daemon)
    daemon.kill()


def _strike(bench: ContainerBench, child: ForkServerProcess, turn: int, instant: str) -> None:
    def kill(_daemon: Daemon) -> None:
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)

    bench.strike_when(instant, turn, kill)


class _Story:
    """One errand for one machine, and what must hold when it is over."""

    def __init__(self, bench: ContainerBench, kind: ErrandKind) -> None:
        self._bench = bench
        bench.clear()
        boots = bench.boots()
        copy = None if kind is ErrandKind.CREATE else bench.make("web-1", bench.hosts[0])
        until(lambda: copy is None or bench.boots() > boots, "the container says that it began")
        if kind is ErrandKind.START and copy is not None:
            bench.do("stop", copy.ref, copy.host)
        self._before = copy
        self.errand = errand_for(bench, kind, copy)
        self._boots = bench.boots()

    def carry_on(self) -> None:
        bench, kind = self._bench, self.errand.kind
        assert len(running(bench.truth("web-1"))) < 2
        result = carry_through(bench, self.errand, Permit(again=True))
        if isinstance(result, Failed) and _LEFT_BEHIND in result.why:
            TALLY["containers that podman cannot start any more"] += 1
            return
        assert isinstance(result, Done), (kind, result)
        copies = bench.truth("web-1")
        boots = 1 if kind in _BOOTS else 0
        until(lambda: bench.boots() >= self._boots + boots, "the container says that it began")
        wrong = {
            "machines doubled": len(running(copies)) > 1,
            "errands doubled": bench.boots() > self._boots + boots,
            "pauses forgotten": any(copy.power is MachinePower.PAUSED for copy in copies),
        }
        TALLY.update(wrong)
        assert not any(wrong.values()), (kind, wrong, copies)
        powers = [copy.power for copy in copies]
        assert powers == _ENDS.get(kind, [MachinePower.RUNNING]), (kind, copies)
        if kind is ErrandKind.PAUSE:
            assert copies == (self._before,)


# Of podman, killed while it made the container known to runc: it does not clean up after itself (docs/machines.md).
_LEFT_BEHIND = "container with given ID already exists: OCI runtime error"
_BOOTS = (ErrandKind.CREATE, ErrandKind.START, ErrandKind.RESTART, ErrandKind.REDEPLOY)
_ENDS: dict[ErrandKind, list[Any]] = {ErrandKind.DELETE: [], ErrandKind.STOP: [MachinePower.OFF]}


def test_enough_was_killed_for_the_counts_to_say_something() -> None:
    """Runs last in this file; ``-s`` shows the counts that docs/machines.md has."""
    print(dict(TALLY))
    assert TALLY["kills of a process"] == 0 or TALLY["kills of a process"] > 20


def test_a_new_container_that_a_killed_engine_left_half_started_is_made_once_more(bench: ContainerBench) -> None:
    """As a hundred containers showed it when dockerd was killed: nothing starts such a one any more."""
    bench.clear()
    boots = bench.boots()
    bench.mishap("nothing")  # its volume is made
    bench.mishap("nothing")  # it is created
    bench.mishap("refused", "task 4b088b4eaeb7: already exists")
    result = carry_through(bench, errand_for(bench, ErrandKind.CREATE, None), Permit())

    assert isinstance(result, Done), result
    assert [copy.power for copy in bench.truth("web-1")] == [MachinePower.RUNNING]
    until(lambda: bench.boots() > boots, "the container says that it began")
    assert bench.boots() == boots + 1
