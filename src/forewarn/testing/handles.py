"""What a test holds of a region: a VM, and an event."""

from __future__ import annotations

from datetime import datetime
from typing import NoReturn

from forewarn.core.causes import CAUSES
from forewarn.core.commands import Approve
from forewarn.core.looking.documents import document_for
from forewarn.core.region import Vm
from forewarn.guest.endpoint import ADDRESS_VARIABLE
from forewarn.plane.ports import Origin
from forewarn.terms import Document, EventStatus
from forewarn.testing.running import RunningRegion


class EventHandle:
    """One event, from when it is scheduled until long after it has ended."""

    def __init__(self, running: RunningRegion, event_id: str) -> None:
        self._running = running
        self.id = event_id
        event = running.event(event_id)
        self.type = CAUSES[event.cause].type.value
        self.resources = event.resources
        self.not_before = event.not_before
        self.announced = event.announced  # False: no VM of the scope reads, so no document shows it

    @property
    def phase(self) -> str:
        """``scheduled``, ``approved``, ``started``, ``completed`` or ``canceled``."""
        return self._running.event(self.id).phase.value

    @property
    def approved_at(self) -> datetime | None:
        return self._running.event(self.id).approved_at

    @property
    def approved_by(self) -> str:
        """The VM that approved; empty as long as none has."""
        return self._running.event(self.id).approved_by

    @property
    def started_at(self) -> datetime | None:
        return self._running.event(self.id).started_at

    @property
    def impact_began_at(self) -> datetime | None:
        return self._running.event(self.id).impact_began_at

    @property
    def ended(self) -> bool:
        return self.phase in ("completed", "canceled")

    def __repr__(self) -> str:
        return f"<{self.type} {self.id} of {', '.join(self.resources)}: {self.phase}>"


class NoEvent:
    """What a deletion without a notice returns: it is false, and any attribute of it raises with the reason."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"there is no {name}: {self.why}")

    def __repr__(self) -> str:
        return f"<no event: {self.why}>"


class VmHandle:
    """One VM: from inside (``url``, ``document``, ``approve``) and from outside (``host``, ``power``, ``boots``)."""

    def __init__(self, running: RunningRegion, name: str) -> None:
        self._running = running
        self.name = name
        self.url = f"{running.url}/vm/{name}"

    @property
    def environment(self) -> dict[str, str]:
        """What points a program that uses ``forewarn.guest``, or our agent, at this VM's service."""
        return {ADDRESS_VARIABLE: self.url}

    @property
    def host(self) -> str:
        """The host it is on; empty while it is deallocated."""
        number = self._vm().host
        return "" if number is None else self._running.state.hosts[number].name

    @property
    def power(self) -> str:
        return self._vm().power.value

    @property
    def boots(self) -> int:
        """How often it was booted: 1 until the first restart."""
        return self._vm().boots

    @property
    def exists(self) -> bool:
        return self.name.lower() in self._running.state.vms

    def document(self) -> Document:
        """Read as the VM does, which enables its scope; past the socket, so no fault strikes here."""
        vm = self._vm()
        self._running.asked.by_hand(vm.name)
        self._running.loop.run(self._running.plane.enable(vm))
        return document_for(self._running.state, self._running.state.scope_of(vm))

    def approve(self, *events: EventHandle | str) -> None:
        """Approve as the VM does: these events, or without any all that are scheduled in its document."""
        vm = self._vm()
        self._running.asked.by_hand(vm.name)
        named = [event.id if isinstance(event, EventHandle) else event for event in events]
        ids = named or [event.event_id for event in self.document().events if event.status == EventStatus.SCHEDULED]
        assert ids, f"there is no event that {self.name} could approve"
        self._running.submit(Approve(tuple(ids), vm.resource_name, vm.scope), Origin("vm", vm.name))

    def _vm(self) -> Vm:
        return self._running.vm(self.name)

    def __repr__(self) -> str:
        return f"<VM {self.name} at {self.url}>"
