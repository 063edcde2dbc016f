"""What an ``agent.toml`` says, as values.

``agent.config.reading`` makes them from the file; nothing here reads anything.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from enum import StrEnum

SYSTEM = "windows" if sys.platform == "win32" else "linux"  # what rules and steps call this machine's
SYSTEMS = ("linux", "windows")
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
STATE_DIRECTORY = "/var/lib/forewarn-agent"
if sys.platform == "win32":
    from forewarn.durable_windows import program_data

    STATE_DIRECTORY = program_data() + "\\forewarn\\agent"


class Verdict(StrEnum):
    """What to do about an event."""

    IGNORE = "ignore"
    NOTIFY = "notify"
    PREPARE_THEN_APPROVE = "prepare-then-approve"
    APPROVE_NOW = "approve-now"
    PREPARE_ONLY = "prepare-only"  # prepare and never approve


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the policy; the first that fits decides. Empty means any."""

    name: str
    verdict: Verdict
    types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # shell patterns over the VM's own resource name
    statuses: tuple[str, ...] = ()
    shorter_than_seconds: float | None = None  # of DurationInSeconds; an unknown duration (-1) is not short
    steps: tuple[str, ...] | None = None  # which steps, in the file's order; None is all of them
    line: int = 0
    system: str = ""  # linux or windows; empty is both
    any_time: bool = False  # approved outside of maintenance windows too


@dataclass(frozen=True, slots=True)
class ApprovalWindow:
    """When events may be approved early: some days, from one minute of the day to another, in a zone's wall time."""

    name: str
    begins: int  # minute of the day
    ends: int  # likewise; not after ``begins``: on the next day
    days: frozenset[int] = frozenset(range(7))  # on which it begins; Monday is 0
    zone: str = "UTC"
    line: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do before an event, with its reverse. ``settings`` is what its kind needs, checked by the kind."""

    name: str
    kind: str  # command, systemd, http, wait, ready-file, haproxy, kubernetes, kubernetes-node; and those of Windows:
    # service, powershell, iis, nlb, cluster
    settings: dict[str, object] = field(default_factory=dict)
    timeout_seconds: float | None = None
    retries: bool = True
    repeatable: bool = False
    line: int = 0
    system: str = ""  # linux or windows; empty is both


class Sharing(StrEnum):
    """How an event that hits several VMs is approved."""

    TOGETHER = "together"
    ALONE = "alone"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Barrier:
    """How agents tell each other that they are ready."""

    sharing: Sharing = Sharing.TOGETHER
    listen: str = ""  # host:port; empty switches the barrier's own listener off
    address: str = ""  # template of another member's address, with {name}
    secret_file: str = ""
    patience_seconds: float | None = None  # None: until NotBefore


@dataclass(frozen=True, slots=True)
class Notification:
    """Where people are told, and of what."""

    kind: str  # webhook or apprise
    url: str
    on: tuple[str, ...] = ()  # scheduled, preparing, prepared, failed, approved, started, completed, canceled
    line: int = 0


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """Everything an agent was told."""

    path: str = ""
    endpoint: str = ""  # empty: discovered
    name: str = ""  # empty: IMDS compute.name
    poll_seconds: float = 1.0
    margin_seconds: float = 30.0  # ours: kept free before NotBefore, for an approval and one more try of it
    state_directory: str = STATE_DIRECTORY
    status_listen: str = ""  # host:port for /healthz, /readyz, /metrics; empty is off
    unhealthy_after_seconds: float = 60.0  # sixty polls without an answer
    log_format: str = "text"
    rules: tuple[Rule, ...] = ()
    steps: tuple[Step, ...] = ()
    windows: tuple[ApprovalWindow, ...] = ()  # none: approved at any time
    barrier: Barrier = Barrier()
    notifications: tuple[Notification, ...] = ()
