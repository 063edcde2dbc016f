"""How one node stands in its region: whether what it knows is current, whether it leads, and whether it may decide.

The follower writes down here what the store has said; everything else of a node looks here. A region of one node is
always current and always leads.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from datetime import timedelta

from forewarn.plane.ports import Diverged, JournalFault

_log = logging.getLogger(__name__)


class Standing:
    """Judged by ``elapsed`` at each look.

    A process that was suspended must not answer, or lead, by what it knew before.
    """

    def __init__(
        self, *, shared: bool, staleness: timedelta, lease_seconds: float, elapsed: Callable[[], float]
    ) -> None:
        self._elapsed = elapsed
        self._staleness_seconds = staleness.total_seconds()
        self._lease_seconds = lease_seconds
        self.current_until = -math.inf if shared else math.inf  # by ``elapsed``; GETs compare it without a call
        self._leads_until = -math.inf if shared else math.inf
        self._why_stale = f"This node has not heard from its store for {self._staleness_seconds:g} s."
        self._heard_at: float | None = None  # when the store was last asked and has answered
        self._lead_listeners: list[Callable[[bool], None]] = []
        self.head = 0  # the last record that a shared store was known to have when it was last asked
        self.lost = asyncio.Event()  # the store has lost what this node has seen; nothing can go on from here
        self.odds = ""  # why this node decides nothing, as a sentence; empty as long as its rules are the region's
        self.draining = False  # it is about to go, and works on until it does
        self.closing = False  # it takes no more commands

    @property
    def stale(self) -> str:
        """Why this node may not be current, as a sentence for callers; empty as long as it is."""
        return "" if self._elapsed() < self.current_until else self._why_stale

    @property
    def leads(self) -> bool:
        """Whether this node does what is done once in a region: ticks, impacts, snapshots."""
        return self._elapsed() < self._leads_until

    @property
    def silence(self) -> float:
        """How many seconds ago the store was asked for what it last answered; 0 where there is nothing to ask."""
        return 0.0 if self._heard_at is None else max(0.0, self._elapsed() - self._heard_at)

    @property
    def willing(self) -> bool:
        """Whether it would lead."""
        return not (self.closing or self.draining or self.odds)

    def check(self) -> None:
        """Refuse a command, before anything is done about it, where this node takes none."""
        if self.closing:
            raise JournalFault("The region is shutting down; nothing was written.")
        if self.odds:
            raise JournalFault(f"{self.odds} Nothing was changed; ask another node.")

    def on_lead(self, listener: Callable[[bool], None]) -> None:
        """Call a function on the loop each time this node begins to lead (True) or stops (False)."""
        self._lead_listeners.append(listener)

    # What the store has said

    def heard(self, asked_at: float, *, leads: bool) -> None:
        """The store has answered a question of ``asked_at``, and this node knows all that the store knew then.

        The answer is good from when it was asked, not from when it came: for ``staleness``, and for the length of a
        lease.
        """
        if self.lost.is_set():
            return
        self._heard_at = asked_at
        self.current_until = asked_at + self._staleness_seconds
        self._lead_until(asked_at + self._lease_seconds if leads else -math.inf)

    def unheard(self) -> None:
        """The store has not answered: this node does not lead, and stays current until ``staleness`` is over."""
        self._lead_until(-math.inf)

    def lose(self, fault: Diverged) -> None:
        """Give up: the store's history is not the one this node has in memory, so the node must be started anew."""
        _log.error("%s", fault)
        self._why_stale = "The store has lost what this node has seen, or holds something else in its place."
        self.current_until = self._leads_until = -math.inf
        self.lost.set()

    def _lead_until(self, until: float) -> None:
        led, leads = self.leads, until > -math.inf
        self._leads_until = until
        if leads is led:
            return
        for listener in self._lead_listeners:
            listener(leads)
        _log.info("This node leads the region now." if leads else "This node does not lead the region any more.")
