"""What the decisions say of events, as a table, and the VMs, scopes and events that the model remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

SECOND = timedelta(seconds=1)
_M = timedelta(minutes=1)
DAY = timedelta(hours=24)
_HOST = "Host server is undergoing maintenance."


@dataclass(frozen=True)
class Kind:
    """One row of the decisions' table of events."""

    type: str
    source: str
    notice: timedelta
    impact: timedelta
    recovery: timedelta
    description: str
    seconds: int = -1


KINDS = {
    "freeze": Kind("Freeze", "Platform", 15 * _M, 9 * SECOND, 10 * _M, _HOST, 9),
    "live-migration": Kind(
        "Freeze",
        "Platform",
        15 * _M,
        5 * SECOND,
        5 * _M,
        "Virtual machine is being paused because of a memory-preserving Live Migration operation.",
        5,
    ),
    "network": Kind(
        "Freeze", "Platform", 15 * _M, 0 * SECOND, 10 * _M, "Host Server infrastructure is undergoing maintenance.", 0
    ),
    "reboot": Kind("Reboot", "Platform", 15 * _M, 30 * SECOND, 10 * _M, _HOST),
    "redeploy": Kind("Redeploy", "Platform", 10 * _M, 60 * SECOND, 10 * _M, _HOST),
    "predicted-failure": Kind(
        "Redeploy", "Platform", 7 * DAY, 60 * SECOND, 10 * _M, "Host server is undergoing an emergency repair."
    ),
    "failure": Kind(
        "Redeploy", "Platform", 0 * SECOND, 60 * SECOND, 10 * _M, "Virtual machine has encountered a failure."
    ),
    "crash": Kind("Reboot", "Platform", 0 * SECOND, 30 * SECOND, 10 * _M, "Virtual machine has encountered a failure."),
    "user-restart": Kind(
        "Reboot",
        "User",
        15 * _M,
        30 * SECOND,
        30 * SECOND,
        "Virtual machine is going to be restarted as requested by authorized user.",
    ),
    "user-redeploy": Kind(
        "Redeploy",
        "User",
        10 * _M,
        60 * SECOND,
        30 * SECOND,
        "Virtual machine is going to be redeployed as requested by authorized user.",
    ),
    "eviction": Kind("Preempt", "Platform", 30 * SECOND, 5 * SECOND, 0 * SECOND, ""),
    "deletion": Kind("Terminate", "User", 0 * SECOND, 5 * SECOND, 0 * SECOND, ""),
}
USER_KINDS = ("user-restart", "user-redeploy")


@dataclass
class Machine:
    """A VM as far as documents care."""

    name: str
    scope: str
    resource: str
    number: int
    update_domain: int
    spot: bool = False
    deleted_when_evicted: bool = False
    terminate_notice: timedelta | None = None
    down: bool = False


@dataclass
class Audience:
    """A scope."""

    enabled: bool = False
    last_read: datetime | None = None
    auto: set[str] = field(default_factory=set)
    all_down: bool = True
    made: dict[str, int] = field(default_factory=dict)


@dataclass
class Notice:
    """An event, announced or not."""

    id: str
    kind: str
    scope: str
    targets: set[str]
    resources: tuple[str, ...]  # while it is ahead, of the targets; then of those it started with
    not_before: datetime
    announced: bool
    host: int | None = None
    group: str = ""
    campaign: str = ""
    phase: str = "scheduled"
    ends: datetime | None = None
    over: bool = False
    leaves: datetime | None = None

    @property
    def pending(self) -> bool:
        return self.phase in ("scheduled", "approved")
