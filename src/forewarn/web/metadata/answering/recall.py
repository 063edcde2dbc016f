"""Requests that were understood before, by their bytes.

A VM asks the same on its own connection again and again, and its connection remembers that. On loopback one connection
may ask for many VMs, and a VM may be asked for on many connections: what is kept here is for all of them together.
"""

from __future__ import annotations

from collections import OrderedDict

from forewarn.web.metadata.answering.outcomes import RememberedAnswer
from forewarn.web.metadata.asking.callers import Caller

_MOST_KEPT = 16_384  # requests of at most 2 KiB each (Limits.remembered_bytes): 32 MiB at worst
_LONGEST_KEPT = 512  # bytes: a request without baggage has a third of it


class Recall:
    """Holds a bounded number of short requests; the oldest go first."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._known: OrderedDict[tuple[tuple[str, ...], bytes], RememberedAnswer] = OrderedDict()

    def keep(self, caller: Caller, request: bytes, known: RememberedAnswer) -> None:
        """Only for callers that name themselves in the path: any other has one VM, and its connection knows it."""
        if not caller.may_name or len(request) > _LONGEST_KEPT:
            return
        if len(self._known) >= self._most:
            self._known.popitem(last=False)
        self._known[caller.claims, request] = known

    def recall(self, caller: Caller, request: bytes) -> RememberedAnswer | None:
        """What these bytes meant when a caller of the same addresses last sent them."""
        return self._known.get((caller.claims, request))

    def __len__(self) -> int:
        return len(self._known)
