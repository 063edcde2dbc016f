"""Why events happen, and all that follows from the reason: one row for each cause."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from forewarn.terms import EventSource, EventType


class Cause(StrEnum):
    """Why a VM is about to be disturbed. The values are the words of the command line and the operator API."""

    FREEZE = "freeze"
    LIVE_MIGRATION = "live-migration"
    NETWORK = "network"
    REBOOT = "reboot"
    REDEPLOY = "redeploy"
    PREDICTED_FAILURE = "predicted-failure"
    FAILURE = "failure"
    CRASH = "crash"
    USER_RESTART = "user-restart"
    USER_REDEPLOY = "user-redeploy"
    EVICTION = "eviction"
    DELETION = "deletion"
    REIMAGE = "reimage"


class Effect(StrEnum):
    """What the impact does to a VM."""

    PAUSE = "pause"  # memory, disks and connections are kept
    MIGRATE = "migrate"  # a pause that ends on another host
    RESTART = "restart"  # memory is lost
    REDEPLOY = "redeploy"  # memory and the ephemeral disk are lost, the host is another
    EVICT = "evict"  # deallocated or deleted, by the VM's eviction policy
    DELETE = "delete"
    REIMAGE = "reimage"  # memory and the OS disk are lost


class Row(Struct, frozen=True):
    """What a cause means. ``notice`` is None where the machine's own setting decides."""

    type: EventType
    source: EventSource
    effect: Effect
    notice: timedelta | None
    recovery: timedelta
    description: str
    duration_seconds: int = -1


_MINUTES = {minutes: timedelta(minutes=minutes) for minutes in (5, 10, 15)}
_NONE = timedelta(0)
_USER = timedelta(seconds=30)  # recovery after what a user asked for: ours, as Azure documents none
_P, _U = EventSource.PLATFORM, EventSource.USER
_HOST = "Host server is undergoing maintenance."

CAUSES: dict[Cause, Row] = {
    Cause.FREEZE: Row(EventType.FREEZE, _P, Effect.PAUSE, _MINUTES[15], _MINUTES[10], _HOST, 9),
    Cause.LIVE_MIGRATION: Row(
        EventType.FREEZE,
        _P,
        Effect.MIGRATE,
        _MINUTES[15],
        _MINUTES[5],
        "Virtual machine is being paused because of a memory-preserving Live Migration operation.",
        5,
    ),
    Cause.NETWORK: Row(
        EventType.FREEZE,
        _P,
        Effect.PAUSE,
        _MINUTES[15],
        _MINUTES[10],
        "Host Server infrastructure is undergoing maintenance.",
        0,
    ),
    Cause.REBOOT: Row(EventType.REBOOT, _P, Effect.RESTART, _MINUTES[15], _MINUTES[10], _HOST),
    Cause.REDEPLOY: Row(EventType.REDEPLOY, _P, Effect.REDEPLOY, _MINUTES[10], _MINUTES[10], _HOST),
    Cause.PREDICTED_FAILURE: Row(
        EventType.REDEPLOY,
        _P,
        Effect.REDEPLOY,
        timedelta(days=7),
        _MINUTES[10],
        "Host server is undergoing an emergency repair.",
    ),
    Cause.FAILURE: Row(
        EventType.REDEPLOY, _P, Effect.REDEPLOY, _NONE, _MINUTES[10], "Virtual machine has encountered a failure."
    ),
    Cause.CRASH: Row(
        EventType.REBOOT, _P, Effect.RESTART, _NONE, _MINUTES[10], "Virtual machine has encountered a failure."
    ),
    Cause.USER_RESTART: Row(
        EventType.REBOOT,
        _U,
        Effect.RESTART,
        _MINUTES[15],
        _USER,
        "Virtual machine is going to be restarted as requested by authorized user.",
    ),
    Cause.USER_REDEPLOY: Row(
        EventType.REDEPLOY,
        _U,
        Effect.REDEPLOY,
        _MINUTES[10],
        _USER,
        "Virtual machine is going to be redeployed as requested by authorized user.",
    ),
    Cause.EVICTION: Row(EventType.PREEMPT, _P, Effect.EVICT, timedelta(seconds=30), _NONE, ""),
    Cause.REIMAGE: Row(
        EventType.REBOOT,
        _U,
        Effect.REIMAGE,
        None,
        _USER,
        "Virtual machine is going to be reimaged as requested by authorized user.",
    ),
    Cause.DELETION: Row(EventType.TERMINATE, _U, Effect.DELETE, None, _NONE, ""),
}

# What can be asked of a host. A failure is asked for by its own command.
HOST_MAINTENANCE = (
    Cause.FREEZE,
    Cause.LIVE_MIGRATION,
    Cause.NETWORK,
    Cause.REBOOT,
    Cause.REDEPLOY,
    Cause.PREDICTED_FAILURE,
)
USER_OPERATIONS = (Cause.USER_RESTART, Cause.USER_REDEPLOY)
