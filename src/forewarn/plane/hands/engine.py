"""The port to what runs machines. One contract suite (``tests/contract/engines``) that every engine passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
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


class Way(StrEnum):
    """How a machine's requests come to the region, and what tells there whose they are: docs/machines.md."""

    ADDRESS = "address"  # its source address, on a bridge of its host: libvirt
    NIC = "nic"  # an interface of its own, whose other end stands in a namespace of its own: libvirt
    UNIX = "unix"  # a Unix socket of its own behind QEMU's user networking: libvirt without root
    NETWORK = "network"  # its source address, on a network of the engine where forewarn is a container: containers
    NAMESPACE = "namespace"  # a socket inside its own network namespace: containers


class Finding(Struct, frozen=True):
    """One thing that an engine found out about a machine, as ``machine check`` tells it."""

    topic: str  # one of the names below, or an errand's kind that cannot be carried out
    ok: bool
    sentence: str
    value: str = ""  # where there is one: the address, the hardware address, the namespace, to bind the VM by


REACHABLE, FILTERED, ADDRESS, MAC = "reachable", "filtered", "address", "mac"
NAMESPACE, MIGRATABLE = "namespace", "migratable"
AUTOSTART = "autostart"  # its host starts it by itself, also when it was fenced and its copy runs elsewhere
_PROVING = frozenset({FILTERED, NAMESPACE})  # without one of them nothing shows who calls
_OF_IDENTITY = _PROVING | {ADDRESS, MAC}


def is_identity_safe(findings: Iterable[Finding]) -> bool:
    """Whether what is taken for a machine's call can only come from that machine."""
    told = [each for each in findings if each.topic in _OF_IDENTITY]
    return all(each.ok for each in told) and any(each.topic in _PROVING for each in told)


class EngineFault(Exception):  # noqa: N818 - the name says enough
    """The engine cannot be reached or does not answer. The message says what is wrong and what to do."""


class Engine(Protocol):
    """Runs machines at its hosts. Methods block, are called from worker threads, and raise ``EngineFault`` at most."""

    @property
    def name(self) -> str: ...

    @property
    def kinds(self) -> frozenset[ErrandKind]:
        """The kinds of errands that the engine can do. Others are refused when they are asked for, not when due."""

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

    def examine(self, host: str, ref: str, way: Way) -> tuple[Finding, ...]:
        """What is to be known about this machine: whether that way shows safely who it is, what cannot be done to it.

        A way that this engine has not is a finding that is not ok. Nothing is changed.
        """

    def close(self) -> None:
        """End connections and watching. No machine and no migration ends with it."""
