"""What the faces of a server can say of themselves at any moment, as far as this server has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol


class ReadersSeen(Protocol):
    """Processes that answer VMs beside the server, as figures tell of them."""

    @property
    def answering(self) -> int:
        """How many of them answer now."""

    @property
    def ended(self) -> int:
        """How many have ended that were not to."""


class Gauges:
    """What parts of this process know of themselves. Filled while faces open, asked for each look at the figures."""

    def __init__(self) -> None:
        self._connections: dict[str, Callable[[], int]] = {}
        self._waiting: Callable[[], int] | None = None
        self._readers: ReadersSeen | None = None
        self._relays: Callable[[], int] = lambda: 0
        self._notified: Mapping[tuple[str, str], int] = {}

    def has(self, face: str, connections: Callable[[], int]) -> None:
        """A face, and how many connections it has."""
        self._connections[face] = connections

    def waits(self, waiting: Callable[[], int]) -> None:
        """How many GETs the metadata face holds."""
        self._waiting = waiting

    def reads(self, readers: ReadersSeen) -> None:
        """The readers of this server."""
        self._readers = readers

    def follow(self, relays: Callable[[], int]) -> None:
        """How many relays follow this node."""
        self._relays = relays

    def told(self) -> tuple[dict[tuple[str, str], int], tuple[int, int], int]:
        """Messages to people; how many readers answer, and how many have ended that were not to; relays."""
        return self.notified(), self.readers(), self._relays()

    def readers(self) -> tuple[int, int]:
        """How many readers answer, and how many have ended that were not to."""
        return (0, 0) if self._readers is None else (self._readers.answering, self._readers.ended)

    def tells(self, notified: Mapping[tuple[str, str], int]) -> None:
        """What became of messages to people, by kind of channel and outcome; it goes on counting."""
        self._notified = notified

    def notified(self) -> dict[tuple[str, str], int]:
        return dict(self._notified)

    def connections(self) -> dict[str, int]:
        return {face: count() for face, count in self._connections.items()}

    def waiting(self) -> int:
        return 0 if self._waiting is None else self._waiting()
