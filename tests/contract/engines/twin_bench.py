"""The bench of the twin: two hosts in memory, in which waiting takes no time."""

from __future__ import annotations

from forewarn.core.machines.values import SeenWhy
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinHosts, TwinMachine, TwinMisfortune, TwinMishap
from forewarn.plane.hands.engine import Engine
from tests.contract.engines.bench import Copy

_MISHAPS = {
    "answer lost": TwinMishap.LOST,
    "hangs": TwinMishap.HANGS,
    "refused": TwinMishap.REFUSED,
    "refused for good": TwinMishap.REFUSED,
}


class _NoWait:
    """Of a platform in which nothing takes time."""

    def set(self) -> None: ...

    def is_set(self) -> bool:
        return True

    def wait(self, timeout: float | None = None) -> bool:
        return True


class TwinBench:
    """Two hosts in memory."""

    hosts: tuple[str, ...] = ("alpha", "beta")
    blueprint = "small"
    lacks: frozenset[str] = frozenset()

    def __init__(self, engine: type[TwinEngine] = TwinEngine) -> None:
        self._now = 0.0
        self._platform = TwinHosts(self.hosts, elapsed=lambda: self._now, make_flag=_NoWait)
        self.engine: Engine = engine(self._platform)

    def make(self, name: str, host: str) -> Copy:
        return _copy(self._platform.put(name, host, vm=name))

    def make_stranger(self, host: str) -> Copy:
        return _copy(self._platform.put("stranger", host))

    def truth(self, ref: str) -> tuple[Copy, ...]:
        return tuple(_copy(each) for each in self._platform.copies(ref))

    def left_of(self, ref: str) -> tuple[str, ...]:
        return ()

    def do(self, what: str, ref: str, host: str) -> None:
        match what:
            case "boot":
                self._platform.boot(ref, host)
            case "remove":
                self._platform.drop(ref, host)
            case _:
                why = {"crash": SeenWhy.CRASH, "shutdown from inside": SeenWhy.GUEST}
                self._platform.end(ref, why.get(what, SeenWhy.ASKED))

    def mishap(self, what: str, sentence: str = "") -> None:
        match what:
            case "silent host":
                self._platform.fall_silent(self.hosts[0])
            case "slow migration":
                self._platform.migration_seconds = 30.0
            case _:
                self._platform.misfortunes.append(TwinMisfortune(_MISHAPS[what], sentence=sentence))

    def wait(self, seconds: float) -> None:
        self._now += seconds


def _copy(machine: TwinMachine) -> Copy:
    return Copy(machine.ref, machine.host, machine.power, machine.mark)
