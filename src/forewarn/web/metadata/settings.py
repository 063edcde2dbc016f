"""What the owner of a region may choose about the metadata face."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

from forewarn.wire.document import NotBeforeFormat

_RESERVE_MOST = 512  # ours: descriptors for journal, control faces and listeners

UnknownEvent = Literal["refuse", "ok"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one connection may ask of us. Every limit ends in a clean answer or a closed connection."""

    target_bytes: int = 8 * 1024  # as nginx and Apache take by default
    head_bytes: int = 16 * 1024  # the target and all header fields; IIS and node take as much by default
    header_fields: int = 100  # as Apache's LimitRequestFields
    body_bytes: int = 64 * 1024  # ours: an approval is some 80 bytes an event
    # Ours: pipelined and not yet answered, before we stop reading (back-pressure). Few, for what is taken apart at once
    # keeps others waiting
    queued_requests: int = 4
    remembered_bytes: int = 2 * 1024  # ours: a longer request is parsed each time; clients send a few hundred bytes
    connections: int = 65_536  # ours: the limit of open files is mostly lower, and counts then
    # Ours: of one VM that is known by its network; over loopback all come from one machine
    connections_each: int = 1024
    # Linux' own limit (somaxconn): so many one turn of the loop may accept before any can be refused
    backlog: int = 4096
    descriptors: int = sys.maxsize  # a connection whose number is not below this is refused
    # Ours: of one VM's pipelines, before the others have theirs; an answer takes about as long as a quiet read
    answers_each_turn: int = 2
    answers_all_turn: int = 8  # ours: of all pipelines in one turn of the loop, a seventh of a millisecond
    # From the first byte of a request to its last; ours: a quarter of nginx's, on a link without a way to be slow
    request_seconds: float = 15.0
    idle_seconds: float = 120.0  # nginx keeps an idle connection for 75 s; agents may poll once a minute
    stalled_seconds: float = 30.0  # for a client that does not take its answers; half of nginx's send_timeout
    linger_seconds: float = 2.0  # for a client to read an error before the connection goes, as Apache does
    grace_seconds: float = 2.0  # ours: for what is still owed when the server closes
    # Ours: at most between two looks at all connections; less where the limits above are short
    sweep_seconds: float = 5.0
    wait_seconds: int = 120  # the most that ``Prefer: wait`` is granted: as idle_seconds

    def within(self, open_files: int) -> Limits:
        """What is left of these where a process may have so many files open.

        A new descriptor gets the lowest number that is free, so a high one tells that all below are taken,
        by any part of the process. An eighth, up to 512, is kept for the journal, the control faces and listeners; what
        one burst of connections may take before it can be refused is kept too. One VM gets a quarter of the rest at
        most.
        """
        backlog = min(self.backlog, open_files // 4)
        highest = open_files - min(_RESERVE_MOST, open_files // 8) - backlog
        connections = min(self.connections, highest)
        return replace(
            self,
            connections=connections,
            connections_each=min(self.connections_each, connections // 4),
            backlog=backlog,
            descriptors=min(self.descriptors, highest),
        )


@dataclass(frozen=True, slots=True)
class MetadataSettings:
    """How faithful, how patient and how strict the face is."""

    first_read_delay: timedelta = timedelta(0)
    visibility_lag: timedelta = timedelta(0)
    throttle_per_second: float = 0.0  # requests of one VM; 0 is no limit
    not_before_format: NotBeforeFormat = "rfc1123"
    unknown_event: UnknownEvent = "refuse"
    guest_address: str = "169.254.169.254"  # where a VM in its own network namespace finds us
    guest_port: int = 80  # as on Azure
    guest_sockets: Path | None = None  # where the Unix sockets of VMs are; None: nowhere
    desk: bool = False  # whether a name in the path says which VM it is, wherever the caller is
    retry_seconds: float = 5.0  # ours: between looks for a namespace or an address that is not there yet
    short_way: bool = True  # whether a poll may do without a transport (``http.lane``), where the system can
    request_log: bool = False  # every answer is a line of the log; no request is then known by its bytes
    limits: Limits = field(default_factory=Limits)
