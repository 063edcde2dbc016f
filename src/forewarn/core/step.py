"""The one way in: a command, at an instant, gives facts and the region after them."""

from __future__ import annotations

from datetime import datetime

from forewarn.core.commands import Command
from forewarn.core.deciding.decide import decide
from forewarn.core.deciding.settle import settle
from forewarn.core.draft import Draft
from forewarn.core.facts import Fact
from forewarn.core.region import Region
from forewarn.core.rules import Rules


def step(region: Region, command: Command, now: datetime, rules: Rules) -> tuple[Region, tuple[Fact, ...]]:
    """Raises ``Refused`` and changes nothing, or returns what happened. ``now`` never goes back."""
    assert region.latest_at is None or now >= region.latest_at, "time went backwards"
    draft = Draft(region, now, rules)
    decide(draft, command)
    settle(draft)
    return draft.region, tuple(draft.facts)
