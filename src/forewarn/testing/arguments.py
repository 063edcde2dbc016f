"""What a test hands to a region, read as people mean it; what cannot be meant is refused in a sentence."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

from forewarn.core.causes import HOST_MAINTENANCE, Cause
from forewarn.settings.near import near_miss
from forewarn.settings.times import parse_duration
from forewarn.testing.handles import EventHandle, NoEvent, VmHandle

Duration: TypeAlias = timedelta | str


def read_duration(what: str, given: Duration) -> timedelta:
    """A ``timedelta``, or text as the command line takes it: 10m, 90s, PT15M."""
    if isinstance(given, timedelta):
        if given < timedelta(0):
            raise ValueError(f"{what} is {given}, and time only goes forward")
        return given
    if isinstance(given, str):
        try:
            return parse_duration(given)
        except ValueError as problem:
            raise ValueError(f"{what}: {problem}") from None
    raise ValueError(f"{what} is {given!r}, which has no unit; write '10m' or timedelta(minutes=10)")


def read_vm(given: str | VmHandle) -> str:
    """A VM by its name or its handle."""
    if isinstance(given, VmHandle):
        return given.name
    if isinstance(given, str):
        return given
    raise ValueError(f"a VM is given by its name or by what region.vm() gave back, not by {given!r}")


def read_event(given: EventHandle | NoEvent) -> EventHandle:
    """An event is given by its handle."""
    if isinstance(given, EventHandle):
        return given
    if isinstance(given, NoEvent):
        raise ValueError(given.why)
    raise ValueError(f"an event is given by what region.restart() and the like gave back, not by {given!r}")


def read_host(given: str | VmHandle) -> str:
    """A host by its name, or by a VM that is on it."""
    host = given.host if isinstance(given, VmHandle) else given
    if not isinstance(host, str):
        raise ValueError(f"a host is given by its name (vm.host) or by a VM that is on it, not by {given!r}")
    if not host:
        raise ValueError(f"{given!r} is on no host")
    return host


def read_kind(given: str) -> Cause:
    """A kind of work on a host."""
    known = [cause.value for cause in HOST_MAINTENANCE]
    if isinstance(given, str) and given in known:
        return Cause(given)
    hint = near_miss(given, known) if isinstance(given, str) else ""
    raise ValueError(f"there is no work on hosts of the kind {given!r}; there are {', '.join(known)}{hint}")
