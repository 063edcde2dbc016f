"""What a test wants to be true of a region. Every message brings the timeline along."""

from __future__ import annotations

from datetime import datetime
from typing import NoReturn

from forewarn.core.facts import EventBornStarted, EventScheduled, Fact, ImpactBegan, VmDeleted
from forewarn.core.region import fold
from forewarn.testing.handles import EventHandle, VmHandle
from forewarn.testing.running import RunningRegion
from forewarn.testing.timeline import Moment, moments, story


class Checks:
    """The part of a region that asserts, and remembers what it was told."""

    def __init__(self, running: RunningRegion) -> None:
        self._running = running
        self._notes: list[Moment] = []

    def now(self) -> datetime:
        """The time of the region, which is not the machine's."""
        return self._running.now()

    def note(self, text: str, by: str = "test") -> Moment:
        """Put a line of your own into the timeline: from any thread, and from the code under test if you like."""
        moment = Moment(self._running.settle(), self.now(), by, text)
        self._notes.append(moment)
        return moment

    def timeline(self) -> list[Moment]:
        """What has happened, oldest first, notes included."""
        self._running.settle()
        return moments(self._running.records(), tuple(self._notes))

    def story(self) -> str:
        """The timeline as text."""
        return story(self.timeline(), self.now())

    def _complain(self, why: str) -> NoReturn:
        """End the test with a sentence and the timeline."""
        __tracebackhide__ = True
        raise AssertionError(f"{why}\n{self.story()}")

    def assert_approved_before_deadline(self, event: EventHandle) -> None:
        """Somebody approved, and before NotBefore: the event did not start by itself."""
        __tracebackhide__ = True
        self._running.settle()
        approved_at = event.approved_at
        if approved_at is None:
            self._complain(f"Nobody has approved {event!r}, which was due not before {event.not_before:%H:%M:%S}.")
        elif approved_at > event.not_before:
            self._complain(f"{event!r} was approved after NotBefore.")

    def assert_prepared_before_impact(self, event: EventHandle, prepared_at: Moment | datetime) -> None:
        """What was prepared was so before the impact began. A note tells the order even where the clock stood still."""
        __tracebackhide__ = True
        self._running.settle()
        began = self._impact_of(event.id)
        if began is None:
            return
        seq, at = began
        late = prepared_at.seq >= seq if isinstance(prepared_at, Moment) else prepared_at > at
        if late:
            self._complain(f"The impact of {event!r} began before the VM was prepared.")

    def assert_no_impact(self, vm: VmHandle | str) -> None:
        """Nothing has been done to the VM so far: no impact of any event, no deletion."""
        __tracebackhide__ = True
        name = vm if isinstance(vm, str) else vm.name
        threats: set[str] = set()
        self._running.settle()
        for record in self._running.records():
            if _struck(record.fact, fold(name), threats):
                self._complain(f"{name} was hit.")

    def _impact_of(self, event_id: str) -> tuple[int, datetime] | None:
        for record in self._running.records():
            if isinstance(record.fact, ImpactBegan) and record.fact.event_id == event_id:
                return record.seq, record.fact.at
        return None


def _struck(fact: Fact, key: str, threats: set[str]) -> bool:
    """Whether this fact hits the VM; ``threats`` collects the events that would."""
    match fact:
        case EventScheduled(event=event) | EventBornStarted(event=event) if key in event.vms:
            threats.add(event.id)
        case ImpactBegan(event_id=event_id):
            return event_id in threats
        case VmDeleted(vm=vm):
            return vm == key
    return False
