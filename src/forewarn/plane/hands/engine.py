"""The port to what runs machines. One contract suite (``tests/contract/engines``) that every engine passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeAlias

from msgspec import Struct

from forewarn.core.machines.values import Errand, ErrandKind, Listing, Sighting


class Done(Struct, frozen=True):
    """The wanted state was seen."""

    sighting: Sighting


class NotYet(Struct, frozen=True):
    """Under way, or not possible just now; ask again after so many seconds."""

    why: str
    again_after: float


class Failed(Struct, frozen=True):
    """The engine refused, in its own words. ``lasting``: asking again cannot help."""

    why: str
    lasting: bool


class Unknown(Struct, frozen=True):
    """The call hung, or its connection broke in the middle: list, then decide. Never taken for a failure."""

    why: str


ErrandResult: TypeAlias = Done | NotYet | Failed | Unknown


class Warrant(Protocol):
    """The hand's word that an errand is still to be carried out, and how far it has come."""

    @property
    def again(self) -> bool:
        """Whether it was tried before, by any process: a pause that was tried is only ever ended, not begun."""

    def may(self) -> bool:
        """Asked immediately before each change. No means that the lead is lost or the region closes: do nothing."""

    def left(self) -> float:
        """The seconds until the errand's ``until``, by the region's clock; zero or less once that has passed."""


class Remark(Struct, frozen=True):
    """One thing that an engine knows about a machine before anything is asked of it, as ``machine check`` tells it."""

    subject: str  # "identity", "reachable", "migratable", or an errand's kind
    fine: bool
    sentence: str


class EngineFault(Exception):  # noqa: N818 - the name says enough
    """The engine cannot be reached or does not answer. The message says what is wrong and what to do."""


class Engine(Protocol):
    """Runs machines at its hosts. Methods block, are called from worker threads, and raise ``EngineFault`` at most."""

    @property
    def name(self) -> str: ...

    @property
    def kinds(self) -> frozenset[ErrandKind]:
        """What it can do at all; the rest is refused when it is asked for, not when it is due."""

    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        """Look first; act only where the wanted state is not there; look again.

        Calls ``warrant.may()`` immediately before each change, and gives up quietly (``NotYet``) when it says no. Each
        call into the platform has a deadline. Does not wait for long states to pass (a pause, a migration): it begins
        them and answers ``NotYet``; asked again, it finds them by looking.
        """

    def abandon(self, errand: Errand) -> None:
        """Best effort: abort a migration, end a pause."""

    def listing(self, host: str) -> Listing:
        """All machines at that host now."""

    def changes(self, host: str, cursor: str) -> Iterator[str]:
        """Yield a cursor whenever it is worth to list that host again: hints, which may be lost, doubled or late."""

    def adopt(self, host: str, ref: str, vm: str, vm_id: str) -> None:
        """Mark a machine as one of the region's, where the engine has a place for such a mark."""

    def release(self, host: str, ref: str) -> None:
        """Take that mark away. The machine goes on."""

    def remarks(self, host: str, ref: str) -> tuple[Remark, ...]:
        """What is to be known about this machine: what cannot be done to it and why, whether it is known safely."""

    def close(self) -> None:
        """End connections and watching. No machine and no migration ends with it."""
