"""What a test wants to be true of a region. Every message brings the timeline along."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NoReturn

from forewarn.core.facts import EventBornStarted, EventScheduled, Fact, ImpactBegan, VmDeleted
from forewarn.core.region import fold
from forewarn.testing.arguments import read_event, read_vm
from forewarn.testing.handles import EventHandle, NoEvent, VmHandle
from forewarn.testing.moments import Moment
from forewarn.testing.picture.of_records import write_picture
from forewarn.testing.running import RunningRegion
from forewarn.testing.timeline import facts_told, in_order, story


class Checks:
    """The part of a region that asserts, and remembers what it was told."""

    def __init__(self, running: RunningRegion) -> None:
        self._running = running
        self._notes: list[Moment] = []
        self._held: dict[str, EventHandle] = {}  # the events that the test was given

    def now(self) -> datetime:
        """The time of the region, which is not the machine's."""
        return self._running.now()

    def note(self, text: str, by: str = "test") -> Moment:
        """Put a line of your own into the timeline: from any thread, and from the code under test if you like."""
        moment = Moment(self._running.settle(), self.now(), by, text, order=self._running.number())
        self._notes.append(moment)
        return moment

    def timeline(self) -> list[Moment]:
        """What has happened, oldest first: facts, what programs asked over HTTP (folded), notes, who never asked."""
        seq = self._running.settle()
        facts = facts_told(self._running.records())
        asked = self._running.asked
        silent = asked.silent((vm.name for vm in self._running.state.vms.values()), seq, self.now())
        return in_order(facts, asked.moments([fact.seq for fact in facts]), tuple(self._notes), silent)

    def story(self) -> str:
        """The timeline as text."""
        return story(self.timeline(), self.now())

    def picture(self, path: str | Path) -> Path:
        """The same as one HTML page to look at: VMs, hosts and campaigns over time, requests and notes as marks."""
        return write_picture(Path(path), self._running.records(), self.timeline(), self.now())

    def _complain(self, why: str) -> NoReturn:
        """End the test with a sentence and the timeline."""
        __tracebackhide__ = True
        raise AssertionError(f"{why}\n{self.story()}")

    def assert_approved_before_deadline(self, event: EventHandle | NoEvent) -> None:
        """Fail unless the event was approved before NotBefore: it did not start by itself."""
        __tracebackhide__ = True
        event = read_event(event)
        self._running.settle()
        approved_at = event.approved_at
        if approved_at is None:
            self._complain(f"Nobody has approved {event!r}, which was due not before {event.not_before:%H:%M:%S}.")
        elif approved_at > event.not_before:
            self._complain(f"{event!r} was approved after NotBefore.")

    def assert_prepared_before_impact(self, event: EventHandle | NoEvent, prepared_at: str | Moment | datetime) -> None:
        """What was prepared was so before the impact began: a note (by its text, the first of it), or an instant.

        A note tells the order even where the clock stood still.
        """
        __tracebackhide__ = True
        event = read_event(event)
        if isinstance(prepared_at, str):
            prepared_at = self._noted(prepared_at, event)
        elif not isinstance(prepared_at, Moment | datetime):
            raise ValueError(
                f"prepared_at is {prepared_at!r}; it is the text of a note, what region.note() gave back, or a datetime"
            )
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
        name = read_vm(vm)
        threats: set[str] = set()
        self._running.settle()
        for record in self._running.records():
            if _struck(record.fact, fold(name), threats):
                self._complain(f"{name} was hit.")

    def _noted(self, text: str, event: EventHandle) -> Moment:
        """The first note of this text."""
        __tracebackhide__ = True
        found = next((note for note in self._notes if note.text == text), None)
        if found is None:
            known = ", ".join(repr(note.text) for note in self._notes) or "none"
            self._complain(f"There is no note {text!r} that could be before the impact of {event!r}; notes: {known}.")
        return found

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
