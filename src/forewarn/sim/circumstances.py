"""What judges may ask of the simulated world, and how they report a violation."""

from __future__ import annotations

from collections.abc import Callable, Container
from datetime import datetime
from typing import Protocol

from forewarn.core.region import Region
from forewarn.sim.machines import Machine

SLACK_SECONDS = 20.0  # two polls: a read, calling off what runs, and the pauses between two turns
DELAYING = frozenset({"partition", "loss", "slow", "throttle"})  # what keeps answers under way

Blame = Callable[[str, str, str], None]  # rule, sentence, subject


class Circumstances(Protocol):
    """A simulated region, as far as it concerns judges."""

    @property
    def truth(self) -> Region: ...

    @property
    def machines(self) -> dict[str, Machine]: ...

    def seconds(self, at: datetime) -> float: ...

    def ticks(self) -> float: ...

    def disturbed(self, vm: str, begin: float, kinds: Container[str] = ...) -> bool: ...
