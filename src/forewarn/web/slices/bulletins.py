"""What an upstream tells a relay, line by line. JSON, so that a person can read along."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from forewarn.core.region import Event, Resource, Vm
from forewarn.core.specs import Orchestration, ScopeKind
from forewarn.plane.ports import Record
from forewarn.wire.document import NotBeforeFormat


class RelayManners(Struct, frozen=True, omit_defaults=True):
    """The settings by which a relay's face must answer as its upstream's would."""

    first_read_delay: timedelta = timedelta(0)
    visibility_lag: timedelta = timedelta(0)
    throttle_per_second: float = 0.0
    not_before_format: NotBeforeFormat = "rfc1123"
    ignore_unknown: bool = False  # an approval of an event that is not there is no mistake
    staleness: timedelta = timedelta(seconds=10)  # as a node's own default
    disable_after: timedelta = timedelta(hours=24)  # as the core's rules have it by default


USUAL_MANNERS = RelayManners()


class ScopeSlice(Struct, frozen=True, omit_defaults=True):
    """What a scope's document is made from, with all events that are in it."""

    key: str
    kind: ScopeKind
    name: str
    enabled_at: datetime | None = None
    incarnation: int = 0
    events: tuple[Event, ...] = ()


class ScaleSetSlice(Struct, frozen=True):
    """What the instances of a scale set are told of it."""

    name: str
    resource_group: str
    orchestration: Orchestration
    single_placement_group: bool
    computer_prefix: str
    seed: str
    created_at: datetime


class VmSlice(Struct, frozen=True, omit_defaults=True):
    """A VM with what it is told of itself."""

    vm: Vm
    scale_set: ScaleSetSlice | None = None
    resources: tuple[Resource, ...] = ()


class Bulletin(Struct, frozen=True, omit_defaults=True):
    """Everything that has changed for a relay since the one before, up to record ``seq``."""

    seq: int
    mark: str  # of that record, see ``mark_of``
    elapsed: float  # seconds of the upstream's steady clock when this was made
    now: datetime  # the region's time
    speed: float | None = None  # of a clock that can be turned; None: it is real
    silence: float = 0.0  # seconds before that in which the upstream's own store was not heard
    whole: bool = False  # nothing that was told before counts any more
    more: bool = False  # the next one belongs to the same instant
    vms: tuple[VmSlice, ...] = ()
    gone: tuple[str, ...] = ()  # keys of VMs that are not the relay's any more
    scopes: tuple[ScopeSlice, ...] = ()
    manners: RelayManners | None = None  # with the first


class StreamOrder(Struct, frozen=True, omit_defaults=True):
    """What a relay asks for when it comes, and where it comes from."""

    vms: tuple[str, ...] = ()
    host: str = ""
    after: int = 0  # the last record that it knows; 0 for one that knows nothing
    mark: str = ""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Bulletin)


def encode(bulletin: Bulletin) -> bytes:
    """One line."""
    return _encoder.encode(bulletin) + b"\n"


def decode(line: bytes) -> Bulletin:
    """Raises what ``msgspec`` raises where it is none."""
    return _decoder.decode(line)


def mark_of(record: Record) -> str:
    """Which record this is: two histories have different ones at the same number, for one is of another instant."""
    return hashlib.sha256(_encoder.encode(record)).hexdigest()[:32]
