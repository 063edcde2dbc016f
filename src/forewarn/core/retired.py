"""The last incarnations of scopes that are gone.

A document's number names it for ever, also when a VM is deleted and another of its name is made: a reader that still
holds the old one's ETag must not be told that nothing has changed. The numbers of the last scopes to go are remembered,
and a scope of the same name counts on from there.
"""

from __future__ import annotations

from msgspec import Struct

from forewarn.core.maps import Map

REMEMBERED = 10_000  # as many as operations: a reader of something deleted asks again soon or never


class Retired(Struct, frozen=True, gc=False):
    """The last incarnations of scopes that are gone, so that one of the same name goes on counting.

    ``numbers`` has for each scope key that number and the scope's place among all that have gone.
    """

    numbers: Map[str, tuple[int, int]] = Map()
    order: Map[int, str] = Map()  # place -> scope key
    total: int = 0

    @classmethod
    def of(cls, numbers: dict[str, tuple[int, int]], total: int) -> Retired:
        return cls(Map(numbers), Map({place: key for key, (_, place) in numbers.items()}), total)

    def last_of(self, key: str) -> int:
        """The last number that was told under this key; 0 where none is remembered."""
        return self.numbers.get(key, (0, 0))[0]

    def having(self, key: str, incarnation: int) -> Retired:
        """The same with one more scope. Beyond ``REMEMBERED`` the one that went first is forgotten."""
        place = self.total
        numbers, order = self.numbers.set(key, (incarnation, place)), self.order.set(place, key)
        forgotten = order.get(place - REMEMBERED)
        if forgotten is not None:
            numbers, order = numbers.delete(forgotten), order.delete(place - REMEMBERED)
        return Retired(numbers, order, place + 1)

    def without(self, key: str) -> Retired:
        """The same without a scope that is there again."""
        return Retired(self.numbers.delete(key), self.order.delete(self.numbers[key][1]), self.total)


NONE_RETIRED = Retired()
