"""The region as a test uses it: plain calls, a clock to turn, and handles to hold on to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from uuid import uuid4

from forewarn.core.causes import Cause
from forewarn.core.commands import (
    CancelEvents,
    Command,
    CreateVms,
    DeleteVms,
    EvictVms,
    FailHosts,
    MaintainHosts,
    RedeployVms,
    RestartVms,
)
from forewarn.core.deciding.events import joined
from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.region import fold
from forewarn.core.rules import Rules
from forewarn.core.specs import EvictionPolicy, ScopeKind, VmSpec
from forewarn.plane.clock import wall_time
from forewarn.testing.checks import Checks
from forewarn.testing.handles import EventHandle, VmHandle
from forewarn.testing.running import RunningRegion, made
from forewarn.web.faults import FaultRule
from forewarn.web.metadata.settings import MetadataSettings

_LOOK_EVERY_SECONDS = 0.005  # not felt in a test, and no load


class Region(Checks):
    """VMs are named by their names everywhere. What makes no sense raises ``Refused`` and changes nothing."""

    @property
    def url(self) -> str:
        """Of the metadata service. A VM's own is ``region.vm(name).url``."""
        return self._running.url

    # Its VMs

    def vm(
        self,
        name: str,
        *,
        availability_set: str = "",
        spot: bool = False,
        delete_on_eviction: bool = False,
        terminate_notice: timedelta | None = None,
        enabled: bool = True,
    ) -> VmHandle:
        """The VM of this name, made if there is none.

        Until a VM of its scope has read, a VM is disturbed without an event. That is rarely what a test is about, so
        the scope is enabled here; ``enabled=False`` leaves that to the first read.
        """
        spec = VmSpec(
            kind=ScopeKind.AVAILABILITY_SET if availability_set else ScopeKind.VM,
            set_name=availability_set,
            spot=spot,
            eviction_policy=EvictionPolicy.DELETE if delete_on_eviction else EvictionPolicy.DEALLOCATE,
            terminate_notice=terminate_notice,
        )
        if fold(name) not in self._running.state.vms:
            self._running.submit(CreateVms((name,), spec, _seed()))
            if enabled:
                self._running.loop.run(self._running.plane.enable(self._running.vm(name)))
        vm = self._running.vm(name)
        if spec not in (VmSpec(), vm.spec):
            raise ValueError(f"there is a VM named '{vm.name}' already, and it is another kind of VM")
        return VmHandle(self._running, vm.name)

    # What befalls them

    def restart(self, vm: str | VmHandle) -> EventHandle:
        """A user restarts the VM: a Reboot, 15 minutes ahead; the one that is open, if there is one."""
        return self._one(RestartVms((_name(vm),), _seed()), Cause.USER_RESTART)

    def redeploy(self, vm: str | VmHandle) -> EventHandle:
        """A user moves the VM to another host: a Redeploy, 10 minutes ahead."""
        return self._one(RedeployVms((_name(vm),), _seed()), Cause.USER_REDEPLOY)

    def evict(self, vm: str | VmHandle) -> EventHandle:
        """Take a Spot VM's place back: a Preempt, 30 seconds ahead."""
        return self._one(EvictVms((_name(vm),), _seed()), Cause.EVICTION)

    def delete(self, vm: str | VmHandle) -> EventHandle | None:
        """Delete the VM: a Terminate if it has a terminate notice, else at once and without an event."""
        events = self._all(DeleteVms((_name(vm),), _seed()))
        return events[0] if events else None

    def maintain(self, host: str, kind: str = "freeze") -> tuple[EventHandle, ...]:
        """Work on a host (``vm.host``): one event for each scope on it. ``kind`` as in ``forewarn host maintain``."""
        return self._all(MaintainHosts((host,), Cause(kind), _seed()))

    def fail(self, host: str) -> tuple[EventHandle, ...]:
        """The host breaks: its VMs are hit now, and what they see is born started."""
        return self._all(FailHosts((host,), _seed()))

    def cancel(self, event: EventHandle, why: str = "the test wants it so") -> None:
        """The platform takes the event back."""
        self._running.submit(CancelEvents((event.id,), why))

    # Its time

    def advance(
        self, by: timedelta = timedelta(0), *, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> datetime:
        """Turn the clock, through every change on the way; the time it is then."""
        to = self.now() + by + timedelta(hours=hours, minutes=minutes, seconds=seconds)
        self._running.loop.run(self._running.plane.advance(to))
        return self.now()

    def next(self) -> datetime | None:
        """Turn the clock to the next change; None if nothing is due, ever."""
        return self._running.loop.run(self._running.plane.advance_to_next())

    def run_until(self, predicate: Callable[[], object], limit: timedelta = timedelta(hours=1)) -> datetime:
        """Turn the clock from change to change until it is so. Fails, with the timeline, at the limit.

        The clock does not wait for other programs: let one that runs beside the test react first (``wait_until``).
        """
        __tracebackhide__ = True
        end = self.now() + limit
        while not predicate():
            due = self._running.loop.call(lambda: next_deadline(self._running.plane.region))
            if due is None or due > end:
                self._running.loop.run(self._running.plane.advance(end))
                if not predicate():
                    self._complain(f"It was not so within {limit} of the region's time.")
                break
            self.next()
        return self.now()

    def wait_until(self, predicate: Callable[[], object], seconds: float = 10.0) -> None:
        """Let real time pass, while the region's stands still, until a program beside the test has made it so."""
        __tracebackhide__ = True
        deadline = time.monotonic() + seconds
        while not predicate():
            if time.monotonic() > deadline:
                self._complain(f"It was not so within {seconds:g} seconds of real time.")
            time.sleep(_LOOK_EVERY_SECONDS)

    # Its faults

    def fault(
        self,
        vm: str | VmHandle | None,
        kind: str,
        *,
        times: int | None = None,
        share: float | None = None,
        delay_seconds: float = 0.0,
    ) -> None:
        """Let answers to a VM (None: to all) go wrong: gone, throttled, error, empty, delay, drop or skip."""
        named = () if vm is None else (self._running.vm(_name(vm)).name,)
        rule = FaultRule(kind, named, times, share, delay_seconds)
        self._running.loop.call(lambda: self._running.faults.add(rule))

    def clear_faults(self) -> None:
        self._running.loop.call(self._running.faults.clear)

    # Inside

    def _one(self, command: RestartVms | RedeployVms | EvictVms, cause: Cause) -> EventHandle:
        found = self._all(command)
        if found:
            return found[0]
        (key,) = command.vms  # the same is open already
        event = joined(self._running.state, self._running.vm(key), cause)
        assert event is not None, f"{cause.value} of {key} led to no event"
        return EventHandle(self._running, event.id)

    def _all(self, command: Command) -> tuple[EventHandle, ...]:
        return tuple(EventHandle(self._running, event.id) for event in made(self._running.submit(command)))


@contextmanager
def open_region(
    *, start: datetime | None = None, rules: Rules | None = None, metadata: MetadataSettings | None = None
) -> Iterator[Region]:
    """A region for as long as the block lasts. It begins at the machine's own time, in whole seconds."""
    begin = start or wall_time().replace(microsecond=0)
    running = RunningRegion(begin, rules or Rules(), metadata or MetadataSettings())
    try:
        yield Region(running)
    finally:
        running.close()


def _name(vm: str | VmHandle) -> str:
    return vm if isinstance(vm, str) else vm.name


def _seed() -> str:
    return str(uuid4()).upper()
