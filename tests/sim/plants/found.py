"""With which seed each planted bug is found, and by which rule. ``python -m tests.sim.search --write`` writes this."""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    """A seed for the plant's plan, and the rule that the first violation breaks."""

    seed: int
    rule: str


FOUND: dict[str, Found] = {}
