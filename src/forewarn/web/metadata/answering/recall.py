"""Requests that were understood before: by their bytes, and by what of them matters.

A VM asks the same again and again, and its connection remembers that. But most clients open a connection for each poll,
and on loopback one connection may ask for many VMs: what is kept here is for all connections together.
"""

from __future__ import annotations

from collections import OrderedDict

from forewarn.web.metadata.answering.outcomes import RememberedAnswer
from forewarn.web.metadata.asking.callers import Caller
from forewarn.web.metadata.asking.request import Essences
from forewarn.web.metadata.settings import Limits

_MOST_KEPT = 16_384  # ours: requests of half a KiB at most, so 8 MiB of them, and as much of essences
_LONGEST_KEPT = 512  # bytes: a request without baggage has a third of it
_MOST_EACH = 4  # ours: of a VM; the programs in it that poll are few, and each asks in the same words


class Recall:
    """Holds a bounded number of short requests; the oldest go first."""

    def __init__(self, limits: Limits, most: int = _MOST_KEPT) -> None:
        self._essence = Essences(limits).of
        self._by_bytes = _Shelf(most)
        self._by_essence = _Shelf(most)

    def keep(self, caller: Caller, request: bytes, known: RememberedAnswer) -> None:
        """Long requests are not kept, so that the memory for all of them is bounded."""
        self._by_bytes.put(caller, request, known)
        essence = self._essence(request)
        if essence is not None:
            self._by_essence.put(caller, essence, known)

    def recall(self, caller: Caller, request: bytes) -> RememberedAnswer | None:
        """What these bytes, or others that ask the same, meant when a caller of the same addresses last sent them."""
        known = self._by_bytes.get(caller, request)
        if known is None:
            essence = self._essence(request)
            if essence is not None:
                return self._by_essence.get(caller, essence)
        return known

    def __len__(self) -> int:
        return len(self._by_bytes) + len(self._by_essence)


class _Shelf:
    """A VM that is known by its network has a few places of its own: no VM can make those of others be forgotten.

    Callers that name themselves in the path, all of them on this machine, share theirs.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._named: OrderedDict[tuple[tuple[str, ...], bytes], RememberedAnswer] = OrderedDict()
        self._own: OrderedDict[tuple[str, ...], dict[bytes, RememberedAnswer]] = OrderedDict()

    def put(self, caller: Caller, words: bytes, known: RememberedAnswer) -> None:
        if len(words) > _LONGEST_KEPT:
            return
        if caller.may_name:
            if len(self._named) >= self._most:
                self._named.popitem(last=False)
            self._named[caller.claims, words] = known
            return
        own = self._own.get(caller.claims)
        if own is None:
            if len(self._own) >= self._most:
                self._own.popitem(last=False)
            own = self._own[caller.claims] = {}
        elif len(own) >= _MOST_EACH and words not in own:
            del own[next(iter(own))]
        own[words] = known

    def get(self, caller: Caller, words: bytes) -> RememberedAnswer | None:
        if caller.may_name:
            return self._named.get((caller.claims, words))
        own = self._own.get(caller.claims)
        return None if own is None else own.get(words)

    def __len__(self) -> int:
        return len(self._named) + sum(map(len, self._own.values()))
