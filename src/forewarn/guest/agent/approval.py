"""Approvals, from the POST to the document that shows that it was heard. Until then they are repeated, ever more
rarely: the service takes a second one for the first. Pure but for the thread that sends.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from forewarn.guest.agent.inbox import Inbox, Posted
from forewarn.guest.faults import Closed, Fault, GuestError

_FIRST_PAUSE_SECONDS = 2.0
_LONGEST_PAUSE_SECONDS = 60.0
WORTH_A_WORD = 3  # so many approvals that nobody saw are reported


class Approver(Protocol):
    """The client, as far as it is needed here."""

    def approve(self, *event_ids: str) -> None: ...


@dataclass(slots=True)
class _Try:
    sent: int = 0
    again_at: float = 0.0
    under_way: bool = False


class Approvals:
    """Which approvals are under way, and when the next may be sent."""

    def __init__(self) -> None:
        self._tries: dict[str, _Try] = {}

    def is_due(self, key: str, tick: float) -> bool:
        found = self._tries.get(key)
        return found is None or (not found.under_way and tick >= found.again_at)

    @property
    def under_way(self) -> bool:
        return any(each.under_way for each in self._tries.values())

    def begin(self, key: str) -> None:
        self._tries.setdefault(key, _Try()).under_way = True

    def ended(self, key: str, tick: float) -> int:
        """How many were sent by now."""
        found = self._tries.setdefault(key, _Try())
        pause = min(_FIRST_PAUSE_SECONDS * 2 ** min(found.sent, 10), _LONGEST_PAUSE_SECONDS)
        found.sent, found.under_way, found.again_at = found.sent + 1, False, tick + pause
        return found.sent

    def forget(self, key: str) -> None:
        self._tries.pop(key, None)

    def wake_seconds(self, tick: float) -> float | None:
        """When the next may be sent."""
        pauses = [each.again_at - tick for each in self._tries.values() if not each.under_way and each.again_at > tick]
        return min(pauses) if pauses else None


def post(approver: Approver, key: str, event_id: str, inbox: Inbox) -> None:
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

    threading.Thread(target=work, name=f"approve-{key[:8]}", daemon=True).start()
