"""What happened to real machines, their hosts and their errands. ``core.facts`` has all facts and their promise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias, get_args

from msgspec import Struct

from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, SeenWhy


class _Fact(Struct, frozen=True, gc=False, tag_field="fact", tag=True, omit_defaults=True):
    at: datetime


class HostRegistered(_Fact, frozen=True):
    """A host of an engine takes part from now on, or again. Numbers and names of hosts are not used twice."""

    host: int
    name: str
    engine: str
    fault_domain: int
    update_domain: int
    capacity: int
    kinds: tuple[ErrandKind, ...] = ()  # what its engine can do; empty: all


class HostSilent(_Fact, frozen=True):
    """Nothing is heard of a host. Its machines may be running."""

    host: int


class HostBack(_Fact, frozen=True):
    """A silent host answers and is as before; or a lost one is back, and nothing runs there and elsewhere."""

    host: int


class HostFenced(_Fact, frozen=True):
    """A host is known to be off, by its fence or by a person's word."""

    host: int
    by: str = ""  # who says so; empty where its fence does


class HostDraining(_Fact, frozen=True):
    """Nothing is placed there from now on, and what is there is to leave."""

    host: int


class HostResumed(_Fact, frozen=True):
    """Machines may be placed there again."""

    host: int


class HostLeft(_Fact, frozen=True):
    host: int


class MachineAdopted(_Fact, frozen=True):
    """A VM has a real machine from now on; one without ``ref`` is yet to be created."""

    vm: str
    engine: str
    host: str
    ref: str = ""
    boot_mark: str = ""
    power: MachinePower = MachinePower.OFF
    cannot: tuple[ErrandKind, ...] = ()  # what cannot be done to this one, as its engine found
    way: str = ""  # how its requests come to the region, as it was adopted


class MachineReleased(_Fact, frozen=True):
    """The region forgets the machine, which goes on."""

    vm: str


class MachineSeen(_Fact, frozen=True):
    """Something about a machine is not as it was. GONE: it is not at that host."""

    vm: str
    host: str
    power: MachinePower
    ref: str = ""
    boot_mark: str = ""
    why: SeenWhy = SeenWhy.UNKNOWN
    moved: bool = False  # that host is where it is from now on
    stood: int = 0  # seconds, rounded up, that it stood still on the way, where its engine has measured that


class MachineDefined(_Fact, frozen=True):
    """The definition from which an engine can make a machine again at another host if its own is lost."""

    vm: str
    definition: str


class MachineCleared(_Fact, frozen=True):
    """Nothing of a machine is left at a host from which it moved, or where a move to it failed."""

    vm: str
    host: str


class MachineDoubled(_Fact, frozen=True):
    """A machine runs at two hosts (``also`` is the second); empty where it no longer does."""

    vm: str
    also: str = ""


class MachineAlarmed(_Fact, frozen=True):
    """Something that a person should look at; an empty sentence takes it back."""

    vm: str
    alarm: str = ""


class ErrandMade(_Fact, frozen=True):
    errand: Errand
    subject: str  # whose story this belongs to: the event's id, or ``vm/NAME``, or ``host/NUMBER``
    tried: bool = False  # of a pause that is there already: it is only to be ended
    crashed: bool = False  # it had gone off by itself, and is started again


class _OfErrand(_Fact, frozen=True):
    errand_id: str
    subject: str
    kind: ErrandKind
    vm: str = ""


class ErrandTried(_OfErrand, frozen=True):
    """An errand is about to be handed to its engine: from now on that may have done something."""


class ErrandPlaced(_OfErrand, frozen=True):
    """The host where an errand's machine is to be was chosen; empty where there is none for now."""

    to: str = ""


class ErrandHindered(_OfErrand, frozen=True):
    """A try of an errand failed; it is tried again."""

    why: str = ""
    stuck: bool = False  # not at that host: at another one, once it is seen that it does not run there


class ErrandEnded(_OfErrand, frozen=True):
    """What an errand wanted has been seen, so it is done."""


class ErrandGivenUp(_OfErrand, frozen=True):
    why: str = ""


HostFact: TypeAlias = HostRegistered | HostSilent | HostBack | HostFenced | HostDraining | HostResumed | HostLeft
OneErrandFact: TypeAlias = ErrandTried | ErrandPlaced | ErrandHindered | ErrandEnded | ErrandGivenUp
ErrandFact: TypeAlias = ErrandMade | OneErrandFact
OneMachineFact: TypeAlias = (
    MachineReleased | MachineSeen | MachineDefined | MachineCleared | MachineDoubled | MachineAlarmed
)
MachineFact: TypeAlias = MachineAdopted | OneMachineFact
RealFact: TypeAlias = HostFact | MachineFact | ErrandFact


_HOST_FACTS = get_args(HostFact)
_MACHINE_FACTS = (MachineAdopted, *get_args(OneMachineFact))
_ERRAND_FACTS = (ErrandTried, ErrandPlaced, ErrandHindered, ErrandEnded, ErrandGivenUp)

SUBJECTS: dict[type, Callable[[Any], str]] = {
    **dict.fromkeys(_HOST_FACTS, lambda fact: f"host/{fact.host}"),
    **dict.fromkeys(_MACHINE_FACTS, lambda fact: f"vm/{fact.vm}"),
    **dict.fromkeys((ErrandMade, *_ERRAND_FACTS), lambda fact: fact.subject),
}
