"""The region as a test uses it: plain calls, a clock to turn, and handles to hold on to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
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
from forewarn.core.region import fold
from forewarn.core.rules import Rules
from forewarn.core.specs import EvictionPolicy, ScopeKind, VmSpec
from forewarn.plane.clock import wall_time
from forewarn.testing.arguments import Duration, read_duration, read_event, read_host, read_kind, read_vm
from forewarn.testing.chosen import Choice, choose
from forewarn.testing.handles import EventHandle, NoEvent, VmHandle
from forewarn.testing.running import RunningRegion, made
from forewarn.testing.turning import TurnedRegion
from forewarn.web.faults import FaultRule
from forewarn.web.metadata.settings import MetadataSettings


class Region(TurnedRegion):
    """VMs are named by their names everywhere. What makes no sense raises ``Refused`` or ``ValueError`` with a
    sentence, and changes nothing."""

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
        terminate_notice: Duration | None = None,
        enabled: bool = True,
    ) -> VmHandle:
        """The VM of this name, made if there is none.

        Until a VM of its scope has read, a VM is disturbed without an event. That is rarely what a test is about, so
        the scope is enabled here; ``enabled=False`` leaves that to the first read.
        """
        name = read_vm(name)
        spec = VmSpec(
            kind=ScopeKind.AVAILABILITY_SET if availability_set else ScopeKind.VM,
            set_name=availability_set,
            spot=spot,
            eviction_policy=EvictionPolicy.DELETE if delete_on_eviction else EvictionPolicy.DEALLOCATE,
            terminate_notice=None if terminate_notice is None else read_duration("terminate_notice", terminate_notice),
        )
        if fold(name) not in self._running.state.vms:
            self._running.submit(CreateVms((name,), spec, _seed()))
            if enabled:
                self._running.loop.run(self._running.plane.enable(self._running.vm(name)))
        vm = self._running.vm(name)
        if spec not in (VmSpec(), vm.spec):
            raise ValueError(f"there is a VM named '{vm.name}' already, and it is another kind of VM")
        return VmHandle(self._running, vm.name)

    # What befalls them. ``notice`` and ``duration`` are of that event alone; without them the region's settings hold.

    def restart(
        self, vm: str | VmHandle, *, notice: Duration | None = None, duration: Duration | None = None
    ) -> EventHandle:
        """A user restarts the VM: a Reboot, 15 minutes ahead; the one that is open, if there is one."""
        return self._one(RestartVms((read_vm(vm),), _seed()), Cause.USER_RESTART, notice, duration)

    def redeploy(
        self, vm: str | VmHandle, *, notice: Duration | None = None, duration: Duration | None = None
    ) -> EventHandle:
        """A user moves the VM to another host: a Redeploy, 10 minutes ahead."""
        return self._one(RedeployVms((read_vm(vm),), _seed()), Cause.USER_REDEPLOY, notice, duration)

    def evict(
        self, vm: str | VmHandle, *, notice: Duration | None = None, duration: Duration | None = None
    ) -> EventHandle:
        """Take a Spot VM's place back: a Preempt, 30 seconds ahead."""
        return self._one(EvictVms((read_vm(vm),), _seed()), Cause.EVICTION, notice, duration)

    def delete(self, vm: str | VmHandle, *, duration: Duration | None = None) -> EventHandle | NoEvent:
        """Delete the VM: a Terminate if it has a terminate notice, else at once; what comes back is then false."""
        name = read_vm(vm)
        events = self._all(DeleteVms((name,), _seed()), Cause.DELETION, None, duration)
        if events:
            return events[0]
        return NoEvent(
            f"{name} was deleted at once, because it has no terminate notice; make it with "
            f"region.vm({name!r}, terminate_notice='10m')"
        )

    def freeze(
        self, vm: str | VmHandle, *, notice: Duration | None = None, duration: Duration | None = None
    ) -> EventHandle:
        """Pause the VM: a Freeze of its host, 15 minutes ahead and 9 seconds long. Other VMs of the host freeze too."""
        name = read_vm(vm)
        events = self.maintain(VmHandle(self._running, name), "freeze", notice=notice, duration=duration)
        key = fold(name)
        return next(event for event in events if key in self._running.event(event.id).vms)

    def maintain(
        self,
        host: str | VmHandle,
        kind: str = "freeze",
        *,
        notice: Duration | None = None,
        duration: Duration | None = None,
    ) -> tuple[EventHandle, ...]:
        """Work on a host (``vm.host``, or a VM that is on it): one event for each scope on it.

        ``kind`` as in ``forewarn host maintain``.
        """
        cause = read_kind(kind)
        return self._all(MaintainHosts((read_host(host),), cause, _seed()), cause, notice, duration)

    def fail(self, host: str | VmHandle, *, duration: Duration | None = None) -> tuple[EventHandle, ...]:
        """The host breaks: its VMs are hit now, and what they see is born started."""
        return self._all(FailHosts((read_host(host),), _seed()), Cause.FAILURE, None, duration)

    def cancel(self, event: EventHandle | NoEvent, why: str = "the test wants it so") -> None:
        """The platform takes the event back."""
        self._running.submit(CancelEvents((read_event(event).id,), why))

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
        named = () if vm is None else (self._running.vm(read_vm(vm)).name,)
        rule = FaultRule(kind, named, times, share, delay_seconds)
        self._running.loop.call(lambda: self._running.faults.add(rule))

    def clear_faults(self) -> None:
        self._running.loop.call(self._running.faults.clear)

    # Inside

    def _one(
        self,
        command: RestartVms | RedeployVms | EvictVms,
        cause: Cause,
        notice: Duration | None,
        duration: Duration | None,
    ) -> EventHandle:
        found = self._all(command, cause, notice, duration)
        if found:
            return found[0]
        (key,) = command.vms  # the same is open already
        event = joined(self._running.state, self._running.vm(key), cause)
        assert event is not None, f"{cause.value} of {key} led to no event"
        return self._hold(event.id)

    def _all(
        self, command: Command, cause: Cause, notice: Duration | None, duration: Duration | None
    ) -> tuple[EventHandle, ...]:
        ahead = None if notice is None else read_duration("notice", notice)
        lasting = None if duration is None else read_duration("duration", duration)
        with self._running.one_offs.chosen(cause, ahead, lasting) as ids:
            ids += [event.id for event in made(self._running.submit(command))]
        return tuple(self._hold(event_id) for event_id in ids)


@contextmanager
def open_region(
    *,
    start: datetime | None = None,
    rules: Rules | None = None,
    metadata: MetadataSettings | None = None,
    **settings: Choice,
) -> Iterator[Region]:
    """A region for as long as the block lasts. It begins at the machine's own time, in whole seconds.

    Settings are those of ``forewarn serve`` that tell how a region behaves: ``profile="azure"``,
    ``notice_user_restart="5m"``. ``rules`` and ``metadata`` are the same as values, and go before them.
    """
    chosen = choose(settings)
    begin = start or wall_time().replace(microsecond=0)
    running = RunningRegion(begin, rules or chosen.rules, metadata or chosen.metadata, chosen.engine)
    try:
        yield Region(running)
    finally:
        running.close()


def _seed() -> str:
    return str(uuid4()).upper()
