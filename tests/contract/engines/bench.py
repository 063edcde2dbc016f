"""What the contract suite needs of an engine: a way to make machines, and to look at them without the engine.

A bench stands on a platform of its own. ``truth`` asks the platform itself (the twin's memory, ``docker inspect``, the
hypervisor), so that an engine that lies is found out. What a platform cannot be made to do is in ``lacks``: those cases
are skipped, and the suite says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, SeenWhy
from forewarn.plane.hands.engine import Done, Engine, ErrandResult, NotYet

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_ASKED_MOST = 600  # how often an errand is asked for before it counts as never done


@dataclass(frozen=True, slots=True)
class Copy:
    """One machine that exists at one host, as the platform itself says."""

    ref: str
    host: str
    power: MachinePower
    boot_mark: str


class EngineBench(Protocol):
    """A platform for one test."""

    engine: Engine
    hosts: tuple[str, ...]  # where there is one only, nothing can move
    blueprint: str  # what CREATE, REDEPLOY and REIMAGE are made from
    lacks: frozenset[str]  # of MISHAPS

    def make(self, name: str, host: str) -> Copy:
        """A machine that runs, and is the region's."""

    def make_stranger(self, host: str) -> Copy:
        """A machine that runs, and that nobody adopted."""

    def truth(self, ref: str) -> tuple[Copy, ...]:
        """All copies that there are of a machine, by host."""

    def left_of(self, ref: str) -> tuple[str, ...]:
        """What else the platform keeps of a machine of that name: its volumes."""

    def do(self, what: str, ref: str, host: str) -> None:
        """By hand, past the engine: one of DEEDS."""

    def mishap(self, what: str, sentence: str = "") -> None:
        """What the next change is to meet with: one of MISHAPS."""

    def wait(self, seconds: float) -> None:
        """Let so much time pass, as far as this platform needs it."""


DEEDS = ("stop", "boot", "remove", "crash", "shutdown from inside")
MISHAPS = (
    "answer lost",  # it is done, and no answer comes
    "hangs",  # it is not done, and no answer comes
    "refused",  # in the sentence given
    "refused for good",  # the same, and asking again cannot help
    "silent host",  # the first host answers nothing any more; not only to changes
    "crash",  # a machine can be made to crash
    "shutdown from inside",  # a machine can be made to shut itself down
    "hosts apart",  # none; one host's machines are not those of another as well, so that one can be missing
    "slow migration",  # a migration can be caught while it is under way
)


@dataclass
class Permit:
    """The hand's word, as a test wants it."""

    again: bool = False
    allowed: bool = True
    seconds_left: float = 0.0
    asked: int = 0
    ask: Callable[[int], bool] = field(default=lambda asked: True)

    def may(self) -> bool:
        self.asked += 1
        return self.allowed and self.ask(self.asked)

    def left(self) -> float:
        return self.seconds_left


def errand_for(bench: EngineBench, kind: ErrandKind, copy: Copy | None, number: int = 1, *, to: str = "") -> Errand:
    """What the region would ask for, of a machine that is there, or of one that is not made yet."""
    moves = kind in (ErrandKind.MIGRATE, ErrandKind.REDEPLOY)
    starts = kind in (ErrandKind.CREATE, ErrandKind.START)
    goal = bench.hosts[-1] if moves else bench.hosts[0] if starts else ""
    return Errand(
        id=f"0000000{number}-0000-4000-8000-00000000000{number}",
        kind=kind,
        engine=bench.engine.name,
        host=copy.host if copy is not None else "",
        made_at=NOON,
        vm="web-1",
        vm_id="99999999-0000-4000-8000-000000000001",
        ref=copy.ref if copy is not None else "",
        to=to or goal,
        boot_mark=copy.boot_mark if copy is not None else "",
        until=NOON + timedelta(seconds=5) if kind is ErrandKind.PAUSE else None,
        grace=timedelta(seconds=1),
        blueprint=bench.blueprint,
    )


def carry_through(bench: EngineBench, errand: Errand, permit: Permit | None = None) -> ErrandResult:
    """Ask until it is done or failed, as a hand does; ``NotYet`` and ``Unknown`` are asked again."""
    permit = permit or Permit()
    for _ in range(_ASKED_MOST):
        result = bench.engine.carry_out(errand, permit)
        if not isinstance(result, NotYet) and type(result).__name__ != "Unknown":
            return result
        permit.again = True
        bench.wait(result.again_after if isinstance(result, NotYet) else 0.0)
    raise AssertionError(f"{errand.kind} was never done")


def done(result: ErrandResult) -> Done:
    assert isinstance(result, Done), result
    return result


def running(copies: tuple[Copy, ...]) -> list[Copy]:
    return [copy for copy in copies if copy.power is MachinePower.RUNNING]


CRASHED, GUEST = SeenWhy.CRASH, SeenWhy.GUEST
