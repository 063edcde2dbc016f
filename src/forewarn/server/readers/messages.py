"""What a server and its readers say to each other, in the order in which it is so, over one channel for each reader.

The order carries the promises: an answer that the server gives follows the news of all that was published before it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec
from msgspec import Struct

from forewarn.web.answers import Taken
from forewarn.web.metadata.settings import Limits
from forewarn.web.slices.bulletins import ScopeSlice, VmSlice
from forewarn.wire.document import NotBeforeFormat


class ReaderOrder(Struct, frozen=True, tag="order"):
    """What a reader is to be. It comes first."""

    sockets: tuple[int, ...]  # descriptors that it has inherited, listening
    number: int  # the descriptor of the shared number
    first_read_delay: timedelta
    not_before_format: NotBeforeFormat
    desk: bool
    short_way: bool
    request_log: bool
    limits: Limits
    staleness_seconds: float
    reads_seconds: float  # within these the server must hear who has read
    log_level: str = "info"
    log_format: str = "text"


class Beat(Struct, frozen=True, tag="beat"):
    """How the server stands. ``elapsed`` is by the clock of the machine, which all its processes share."""

    elapsed: float
    now: datetime  # the region's time then
    speed: float  # of the region's clock
    until: float  # by ``elapsed``: how long the server's own store vouches for what is known


class Edition(Struct, frozen=True, tag="news", omit_defaults=True):
    """Everything that has changed for readers since the edition before."""

    edition: int
    beat: Beat
    whole: bool = False  # nothing that was told before counts any more
    more: bool = False  # the next one belongs to the same edition
    vms: tuple[VmSlice, ...] = ()
    gone: tuple[str, ...] = ()
    scopes: tuple[ScopeSlice, ...] = ()
    hands_on: bool = False  # the server answers everything itself
    watched: tuple[str, ...] = ()  # VMs whose reads the server answers itself, for somebody looks on


class HandedRequest(Struct, frozen=True, tag="asked", omit_defaults=True):
    """A request as it came, for the server to answer."""

    number: int
    verb: bytes
    target: bytes
    fields: list[tuple[bytes, bytes]]
    claims: tuple[str, ...]  # of the caller
    may_name: bool
    body: bytes = b""
    keep_alive: bool = True
    http_1_0: bool = False
    oversized: bool = False
    held: bool = False  # it was let in by the reader, and has waited there


class HandedAnswer(Struct, frozen=True, tag="answered", omit_defaults=True):
    """The server's answer; ``dropped`` where the connection is to go without one."""

    number: int
    before: bytes = b""
    after: bytes = b""
    request_id: str = ""
    dropped: bool = False


class Enough(Struct, frozen=True, tag="enough"):
    """A handed request must be answered now, with what there is: its client has gone, or its time is over."""

    number: int


class ReaderReport(Struct, frozen=True, tag="report", omit_defaults=True):
    """What a reader has done since the last one. The first one says that it listens."""

    reads: dict[str, datetime] = {}
    counted: list[Taken] = []
    connections: int = 0
    waiting: int = 0


class End(Struct, frozen=True, tag="end"):
    """Accept what has come, answer what is owed, and go."""


ToReader: TypeAlias = ReaderOrder | Edition | Beat | HandedAnswer | End
ToServer: TypeAlias = HandedRequest | Enough | ReaderReport

_encoder = msgspec.msgpack.Encoder()
decode_for_reader = msgspec.msgpack.Decoder(ToReader).decode
decode_for_server = msgspec.msgpack.Decoder(ToServer).decode


def encode(message: ToReader | ToServer) -> bytes:
    """As one message of the channel."""
    return _encoder.encode(message)
