"""Approvals, from the POST to the document that shows that the event has started. Pure but for the thread that sends.

A 200 says that the service has taken it. The event may stay Scheduled for long after that: the other VMs of a shared
event, or the others of a batch that is deleted together, have not approved yet. That is no failure, and no reason to
approve again and again. But a service may forget (Azure moves VMs from host to host), and takes a second approval for
the first: so it is repeated 30 s after it was taken, then 60 s after that, 120 s and so on. That makes 5 approvals in
a notice of 15 minutes and 15 in a week. One that was not taken is tried again after 2 s, 4 s and so on up to a minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from forewarn.guest.agent.inbox import Inbox, Posted
from forewarn.guest.backoff import Backoff
from forewarn.guest.faults import Closed, Fault, GuestError
from forewarn.guest.system.parts import Threads

_NOT_TAKEN = Backoff(2.0, 60.0)  # nothing was heard: again soon, for a Preempt leaves 30 s
# Answered with 200, yet not started: others may be awaited. A week is the longest notice of all
_TAKEN = Backoff(30.0, 7 * 86_400.0)


class Approver(Protocol):
    """The client, as far as it is needed here."""

    def approve(self, *event_ids: str) -> None: ...


@dataclass(slots=True)
class _Try:
    taken: int = 0
    lost: int = 0  # since the last one that was taken
    again_at: float = 0.0
    under_way: bool = False


class Approvals:
    """Which approvals are under way, and when the next may be sent."""

    def __init__(self) -> None:
        self._tries: dict[str, _Try] = {}

    def resume(self, key: str, taken: int, seconds_ago: float, tick: float) -> None:
        """Go on from what an earlier agent has sent. A clock that was set back since then tells nothing."""
        if key not in self._tries and taken > 0 and seconds_ago >= 0:
            self._tries[key] = _Try(taken, again_at=tick + max(0.0, _TAKEN.seconds(taken) - seconds_ago))

    def is_due(self, key: str, tick: float) -> bool:
        found = self._tries.get(key)
        return found is None or (not found.under_way and tick >= found.again_at)

    @property
    def under_way(self) -> bool:
        return any(each.under_way for each in self._tries.values())

    def begin(self, key: str) -> None:
        self._tries.setdefault(key, _Try()).under_way = True

    def ended(self, key: str, tick: float, *, taken: bool) -> None:
        found = self._tries.setdefault(key, _Try())
        found.taken, found.lost = (found.taken + 1, 0) if taken else (found.taken, found.lost + 1)
        pause = _TAKEN.seconds(found.taken) if taken else _NOT_TAKEN.seconds(found.lost)
        found.under_way, found.again_at = False, tick + pause

    def forget(self, key: str) -> None:
        self._tries.pop(key, None)

    def wake_seconds(self, tick: float) -> float | None:
        """When the next approval may be sent."""
        pauses = [each.again_at - tick for each in self._tries.values() if not each.under_way and each.again_at > tick]
        return min(pauses) if pauses else None


def post(threads: Threads, approver: Approver, key: str, event_id: str, inbox: Inbox) -> None:
    """Send one, in a thread of its own; the inbox hears what came of it."""

    def work() -> None:
        fault: Fault | None = None
        try:
            approver.approve(event_id)
        except GuestError as problem:
            fault = problem.fault
        except Closed:
            fault = Fault("the agent is ending")
        except Exception as problem:
            fault = Fault(f"{type(problem).__name__}: {problem}")
        inbox.put(Posted(key, fault))

    threads.start(work, f"approve-{key[:8]}")
