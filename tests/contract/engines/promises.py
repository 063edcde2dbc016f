"""A promise of every engine: a case that takes a bench, and what its platform must be able to do for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forewarn.core.machines.values import ErrandKind, MachinePower
from tests.contract.engines.bench import Copy, EngineBench

RUNNING, PAUSED, OFF, GONE = MachinePower.RUNNING, MachinePower.PAUSED, MachinePower.OFF, MachinePower.GONE


@dataclass(frozen=True, slots=True)
class Case:
    """One promise."""

    name: str
    check: Callable[[EngineBench], None]
    core: bool
    kinds: frozenset[ErrandKind]  # the engine must be able to do these
    mishaps: frozenset[str]  # the platform must be able to suffer these

    def why_not(self, bench: EngineBench) -> str:
        """Why it cannot be run there; empty where it can."""
        missing = [*sorted(self.kinds - bench.engine.kinds), *sorted(self.mishaps & bench.lacks)]
        return f"not possible there: {', '.join(missing)}" if missing else ""


CASES: dict[str, Case] = {}


def case(
    *kinds: ErrandKind, core: bool = False, mishaps: tuple[str, ...] = ()
) -> Callable[[Callable[[EngineBench], None]], Callable[[EngineBench], None]]:
    def keep(check: Callable[[EngineBench], None]) -> Callable[[EngineBench], None]:
        name = check.__name__
        CASES[name] = Case(name, check, core, frozenset(kinds), frozenset(mishaps))
        return check

    return keep


def only(copies: Sequence[Copy]) -> Copy:
    assert len(copies) == 1, copies
    return copies[0]


def one(bench: EngineBench, ref: str) -> Copy:
    return only(bench.truth(ref))


def made_ready(bench: EngineBench, kind: ErrandKind, name: str) -> Copy | None:
    """A machine to which this kind of errand may be done; none for one that is to be made."""
    if kind is ErrandKind.CREATE:
        return None
    machine = bench.make(name, bench.hosts[0])
    if kind is ErrandKind.START:
        bench.do("stop", machine.ref, machine.host)
        return one(bench, machine.ref)
    return machine
