"""Requests that were understood before: by their bytes, and by what of them matters.

A VM asks the same again and again, and its connection remembers that. But most clients open a connection for each poll,
and on loopback one connection may ask for many VMs: what is kept here is for all connections together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, TypeAlias

from forewarn.web.metadata.answering.outcomes import RememberedAnswer
from forewarn.web.metadata.asking.callers import Caller
from forewarn.web.metadata.asking.request import Essences
from forewarn.web.metadata.settings import Limits

_MOST_KEPT = 16_384  # ours: requests of half a KiB at most, so 8 MiB of them, and as much of essences
_LONGEST_KEPT = 512  # bytes: a request without baggage has a third of it
_MOST_EACH = 4  # ours: of a VM; the programs in it that poll are few, and each asks in the same words

Known: TypeAlias = Mapping[bytes, RememberedAnswer]
NOTHING_KNOWN: Final[Known] = {}


class Recall:
    """Holds a bounded number of short requests; the oldest go first.

    A VM that is known by its network has a few places of its own: no VM can make those of others be forgotten. Callers
    that name themselves in the path, all of them on this machine, share theirs.
    """

    def __init__(self, limits: Limits, most: int = _MOST_KEPT) -> None:
        self._essence = Essences(limits).of
        self._at_desk = _Shelves(most, most)
        self._of_guests = _Shelves(_MOST_EACH, _MOST_EACH * most)

    def keep(self, caller: Caller, request: bytes, known: RememberedAnswer) -> Known:
        """All that is known of this caller by its bytes, to look at without a call.

        Long requests are not kept, so that the memory for all of them is bounded.
        """
        shelves = self._shelves(caller)
        shelves.by_bytes.put(caller, request, known)
        essence = self._essence(request)
        if essence is not None:
            shelves.by_essence.put(caller, essence, known)
        return shelves.by_bytes.of(caller)

    def recall(self, caller: Caller, request: bytes) -> RememberedAnswer | None:
        """What these bytes, or others that ask the same, meant when a caller of the same addresses last sent them."""
        shelves = self._shelves(caller)
        known = shelves.by_bytes.of(caller).get(request)
        if known is None:
            essence = self._essence(request)
            if essence is not None:
                return shelves.by_essence.of(caller).get(essence)
        return known

    def _shelves(self, caller: Caller) -> _Shelves:
        return self._at_desk if caller.may_name else self._of_guests

    def __len__(self) -> int:
        return sum(len(each.by_bytes) + len(each.by_essence) for each in (self._at_desk, self._of_guests))


class _Shelves:
    def __init__(self, most_each: int, most: int) -> None:
        self.by_bytes = _Shelf(most_each, most)
        self.by_essence = _Shelf(most_each, most)


class _Shelf:
    """Requests by their caller, then by their words: so many of one caller, and so many of all.

    In ordered dictionaries: to find the oldest key of a plain one takes a walk over all that were deleted before it.
    """

    def __init__(self, most_each: int, most: int) -> None:
        self._most_each = most_each
        self._most = most
        self._places: OrderedDict[tuple[str, ...], OrderedDict[bytes, RememberedAnswer]] = OrderedDict()
        self._count = 0

    def of(self, caller: Caller) -> Known:
        return self._places.get(caller.claims, NOTHING_KNOWN)

    def put(self, caller: Caller, words: bytes, known: RememberedAnswer) -> None:
        """Where there is no room, the caller's own oldest goes; a new caller takes the room of the oldest one."""
        if len(words) > _LONGEST_KEPT:
            return
        own = self._places.get(caller.claims)
        if own is None:
            while self._count >= self._most:
                self._count -= len(self._places.popitem(last=False)[1])
            own = self._places[caller.claims] = OrderedDict()
        elif words not in own and (len(own) >= self._most_each or self._count >= self._most):
            own.popitem(last=False)
            self._count -= 1
        self._count += words not in own
        own[words] = known

    def __len__(self) -> int:
        return self._count
