"""What is to be done to a machine, what was seen of one, and all that are at one host."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct


class MachinePower(StrEnum):
    """What an engine says a machine is doing."""

    RUNNING = "running"
    PAUSED = "paused"
    OFF = "off"
    GONE = "gone"


class SeenWhy(StrEnum):
    """Why a machine is off, as far as its engine knows."""

    ASKED = "asked"  # of one that is gone: by who says so, who has just removed it
    GUEST = "guest"  # shut down from inside
    CRASH = "crash"
    UNKNOWN = "unknown"


class Sighting(Struct, frozen=True, omit_defaults=True):
    """What an engine says is there now: one machine."""

    ref: str  # the engine's own name for it; no two machines of an engine have the same, whatever their hosts
    host: str
    power: MachinePower
    boot_mark: str = ""  # opaque; changes whenever the machine loses its memory, and only then
    why: SeenWhy = SeenWhy.UNKNOWN
    errand: str = ""  # the last errand whose id the engine keeps with the machine, where it can
    definition: str = ""  # all that its engine needs to make it again at another host, in the engine's own language
    stood_ms: int = 0  # after a live migration: how long it stood still, where the engine has measured that


class Listing(Struct, frozen=True):
    """All that an engine runs at one host, adopted or not. Where it is complete, absence means gone."""

    host: str
    complete: bool
    machines: tuple[Sighting, ...]
    cursor: str = ""


class ErrandKind(StrEnum):
    """What may be wanted of a machine; each is satisfied by a sighting, as the line says."""

    CREATE = "create"  # runs on ``to``
    START = "start"  # runs on ``to``
    STOP = "stop"  # off, and still at its host
    OFF = "off"  # off, and at no host; one that is no VM's is for a copy that must not be there: gone
    DELETE = "delete"  # gone
    RESTART = "restart"  # runs, with another boot mark
    PAUSE = "pause"  # ``until`` has passed, and it runs
    MIGRATE = "migrate"  # runs on ``to``, with the same boot mark
    REDEPLOY = "redeploy"  # runs on ``to``, with another boot mark and an empty ephemeral disk
    REIMAGE = "reimage"  # runs, with another boot mark and a new disk of its system
    FENCE = "fence"  # the host is known to be off


class Errand(Struct, frozen=True, omit_defaults=True):
    """One thing to be done to one machine. Its id never changes; doing it twice has the effect of doing it once."""

    id: str
    kind: ErrandKind
    engine: str
    host: str  # where the machine is, as far as the region knows; the host itself for FENCE
    made_at: datetime
    vm: str = ""  # the VM's key; empty for FENCE
    vm_id: str = ""  # its GUID
    ref: str = ""  # the engine's own name for the machine; empty before CREATE
    to: str = ""  # the host where it is to be: CREATE, START, MIGRATE, REDEPLOY
    boot_mark: str = ""  # the machine's when this was made
    until: datetime | None = None  # PAUSE: when it is over, by the region's clock
    grace: timedelta = timedelta(0)  # how long the guest may take to obey before it is cut off
    patience: timedelta = timedelta(0)  # after which the errand is given up or called overdue; 0: never
    event: str = ""  # the event whose impact this is; empty outside events
    blueprint: str = ""  # what to create from, by its name in the server's own files
    source_off: bool = False  # REDEPLOY: it is known to be off where it was, whether that host answers or not
    # What the hand adds from what the region knows just then; never in a fact
    definition: str = ""  # what the engine told of it, to make it again
    off_at: tuple[str, ...] = ()  # hosts that are off, or take no part: it does not run there, and they are not asked
    unheard: tuple[str, ...] = ()  # hosts that do not answer: it may run there


class RealMachine(Struct, frozen=True, omit_defaults=True):
    """What a region knows of the real machine of a VM, as far as it has been seen."""

    engine: str
    host: str  # the name of the host where it is; of its last one while it is at none
    seen_at: datetime
    ref: str = ""  # empty until it has been created
    boot_mark: str = ""
    power: MachinePower = MachinePower.OFF
    why: SeenWhy = SeenWhy.UNKNOWN
    alarm: str = ""  # what a person should look at, as a sentence; empty where all is as it should be
    errands: tuple[str, ...] = ()  # open, the first is due, the others wait for it
    crashes: tuple[datetime, ...] = ()  # after which it was started again, within the last minutes
    also: str = ""  # another host where it was seen running
    also_at: datetime | None = None
    doubled: bool = False  # it runs at both: nothing is done to either until one of them is off
    absent: tuple[str, ...] = ()  # hosts whose listings have lacked it since it was missed
    loose: tuple[str, ...] = ()  # hosts where a move that was not finished may have left something of it
    made: int = 0  # errands, ever, so that no two have the same id
    definition: str = ""  # all that its engine needs to make it again elsewhere, as the engine told it
    held: tuple[str, ...] = ()  # errands that turn off copies of it: nothing else is done meanwhile
    cannot: tuple[ErrandKind, ...] = ()  # what its engine found, when it was adopted, that cannot be done to it
    way: str = ""  # how its requests come to the region, as it was adopted
    stood: int = 0  # seconds, rounded up, that it stood the last time it was moved while it ran; 0: not measured

    @property
    def astray(self) -> bool:
        """Whether it is not where it was, or not only there."""
        return bool(self.also or self.absent or self.loose or self.held)


class OpenErrand(Struct, frozen=True, omit_defaults=True):
    """An errand that is not over, and how far it has come."""

    errand: Errand
    tried_at: datetime | None = None  # first; from then on something may have been done
    tries: int = 0  # how often it was tried, or told not to have worked
    why: str = ""  # it did not work the last time
    turned_down: tuple[str, ...] = ()  # hosts that could not take the machine
    stuck_at: datetime | None = None  # the host cannot take it; another is chosen when that one is seen not to run it

    @property
    def is_placed(self) -> bool:
        """Whether it is known where the machine is to be; until then the errand waits for room."""
        return bool(self.errand.to) or self.errand.kind not in PLACED


class ErrandOutcome(StrEnum):
    """What a hand may report of an errand."""

    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"  # the call hung or its connection broke: never taken for a failure
    NOT_YET = "not yet"  # under way, or not possible just now; told once it has taken longer than its patience


class ErrandReport(Struct, frozen=True, omit_defaults=True):
    """What became of one try. What is done is believed only as far as the sighting shows it."""

    outcome: ErrandOutcome
    why: str = ""
    lasting: bool = False  # FAILED: asking again cannot help
    sighting: Sighting | None = None


PLACED = frozenset({ErrandKind.CREATE, ErrandKind.START, ErrandKind.MIGRATE, ErrandKind.REDEPLOY})
STARTS = PLACED | {ErrandKind.RESTART, ErrandKind.REIMAGE}  # after which it runs anew, or elsewhere
ENDS_RUNNING = STARTS | {ErrandKind.PAUSE}
