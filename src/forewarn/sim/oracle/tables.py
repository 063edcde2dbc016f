"""What the specification says in tables: causes, api-versions, and the numbers of a region."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

# Azure's notices and ours of recovery, written down a second time on purpose
_15, _10, _5 = timedelta(minutes=15), timedelta(minutes=10), timedelta(minutes=5)
_30_SECONDS, _NONE = timedelta(seconds=30), timedelta(0)  # of a Preempt, as Azure documents it, and of users' recovery
_MAINTENANCE = "Host server is undergoing maintenance."


@dataclass(frozen=True, slots=True)
class WorkKind:
    """One cause of events. ``notice`` is None where the VM's own setting says how long it is."""

    type: str
    source: str
    description: str
    notice: timedelta | None
    recovery: timedelta  # between the end of the impact and the event's leaving the document
    duration: int = -1


KINDS = {
    "freeze": WorkKind("Freeze", "Platform", _MAINTENANCE, _15, _10, 9),
    "live-migration": WorkKind(
        "Freeze",
        "Platform",
        "Virtual machine is being paused because of a memory-preserving Live Migration operation.",
        _15,
        _5,
        5,
    ),
    "network": WorkKind("Freeze", "Platform", "Host Server infrastructure is undergoing maintenance.", _15, _10, 0),
    "reboot": WorkKind("Reboot", "Platform", _MAINTENANCE, _15, _10),
    "redeploy": WorkKind("Redeploy", "Platform", _MAINTENANCE, _10, _10),
    "predicted-failure": WorkKind(
        "Redeploy", "Platform", "Host server is undergoing an emergency repair.", timedelta(days=7), _10
    ),
    "failure": WorkKind("Redeploy", "Platform", "Virtual machine has encountered a failure.", _NONE, _10),
    "crash": WorkKind("Reboot", "Platform", "Virtual machine has encountered a failure.", _NONE, _10),
    "user-restart": WorkKind(
        "Reboot",
        "User",
        "Virtual machine is going to be restarted as requested by authorized user.",
        _15,
        _30_SECONDS,
    ),
    "user-redeploy": WorkKind(
        "Redeploy",
        "User",
        "Virtual machine is going to be redeployed as requested by authorized user.",
        _10,
        _30_SECONDS,
    ),
    "eviction": WorkKind("Preempt", "Platform", "", _30_SECONDS, _NONE),
    "reimage": WorkKind(
        "Reboot", "User", "Virtual machine is going to be reimaged as requested by authorized user.", None, _30_SECONDS
    ),
    "deletion": WorkKind("Terminate", "User", "", None, _NONE),
}
USER_OPERATIONS = frozenset({"user-restart", "user-redeploy"})
MAINTENANCE = frozenset({"freeze", "live-migration", "network", "reboot", "redeploy", "predicted-failure"})


@dataclass(frozen=True, slots=True)
class Version:
    """What one api-version leaves out, and what it adds."""

    hidden: frozenset[str] = frozenset()
    underscore: bool = False
    description: bool = True
    source: bool = True
    duration: bool = True


_OLD = frozenset({"Preempt", "Terminate"})
VERSIONS = {
    "2017-03-01": Version(_OLD, True, False, False, False),
    "2017-08-01": Version(_OLD, False, False, False, False),
    "2017-11-01": Version(frozenset({"Terminate"}), False, False, False, False),
    "2019-01-01": Version(frozenset(), False, False, False, False),
    "2019-04-01": Version(source=False, duration=False),
    "2019-08-01": Version(duration=False),
    "2020-07-01": Version(),
}
API_VERSIONS = tuple(VERSIONS)


@dataclass(frozen=True, slots=True)
class OracleSettings:
    """What the owner of a region has chosen otherwise than the tables say; by cause."""

    notices: dict[str, timedelta] = field(default_factory=dict)
    recoveries: dict[str, timedelta] = field(default_factory=dict)
    durations: dict[str, int] = field(default_factory=dict)
    user_operation_limit: int = 10  # 0: none
    disable_after: timedelta = timedelta(hours=24)  # Azure: a scope that is not read for a day is disabled

    def notice(self, cause: str) -> timedelta | None:
        return self.notices.get(cause, KINDS[cause].notice)

    def recovery(self, cause: str) -> timedelta:
        return self.recoveries.get(cause, KINDS[cause].recovery)

    def duration(self, cause: str) -> int:
        return self.durations.get(cause, KINDS[cause].duration)
