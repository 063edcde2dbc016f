"""The stories of the demo: one for each event type, told while they happen, and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from forewarn.cli.api.client import OperatorClient
from forewarn.cli.api.shapes import Event, Outcome
from forewarn.cli.demo.guest import Guest, StoryWentWrong
from forewarn.cli.output import Output, filled
from forewarn.terms import Document, EventStatus, ScheduledEvent

_WHO_WIDTH = 14  # the longest name of the stories and a gap
FLEET: tuple[dict[str, object], ...] = (
    {"name": "db", "os_type": "Windows"},
    {"name": "web", "count": 4, "availability_set": "front"},
    {"name": "fe", "count": 3, "cloud_service": "shop", "role": "FrontEnd"},
    {"name": "be", "count": 2, "cloud_service": "shop", "role": "BackEnd"},
    {"name": "batch", "spot": True},
    {"name": "worker", "terminate_notice_seconds": 300},
)


@dataclass
class Narrator:
    """The region as its operator sees it, its guests, and a place to tell."""

    client: OperatorClient
    guests: dict[str, Guest]
    output: Output

    def title(self, text: str) -> None:
        self.output.line()
        self.output.line(self.output.paint(text, "bold"))

    def tell(self, who: str, what: str) -> None:
        now = self.client.clock()["now"][11:19]
        hang = " " * (len(now) + _WHO_WIDTH + 4)
        told = filled(what, self.output.width, hang, hang).lstrip()
        self.output.line(f"  {self.output.paint(now, 'dim')}  {who:<{_WHO_WIDTH}}{told}")

    def asked(self, command: str, outcome: Outcome) -> Event:
        """Tell what the operator typed and which event came of it."""
        if not outcome["events"]:
            raise StoryWentWrong(f"'{command}' made no event: {outcome['message']}")
        event = outcome["events"][0]
        self.tell("operator", f"$ {command}")
        self.tell("region", f"schedules {event['type']} {event['id'][:8]}…, NotBefore {event['not_before'][11:19]}")
        return event

    def seen(self, names: tuple[str, ...], event: Event, status: EventStatus) -> ScheduledEvent:
        """Wait until all of these guests see the event so, and tell it once."""
        found = [self.guests[name].sees(f"{status.value} {event['type']}", _showing(event, status)) for name in names]
        document, shown = found[0]
        who = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
        about = f"{shown.type} of {', '.join(shown.resources)}"
        verb = "sees" if len(names) == 1 else "see"
        self.tell(who, f"{verb} {status.value} {about} (incarnation {document.incarnation})")
        return shown

    def gone(self, names: tuple[str, ...], event: Event, and_then: str) -> None:
        for name in names:
            self.guests[name].sees_no(event["id"])
        self.tell("region", f"the event has left the document; {and_then}")

    def expect(self, what: str, holds: bool) -> None:
        if not holds:
            raise StoryWentWrong(f"it should be so, but is not: {what}")


def _showing(event: Event, status: EventStatus) -> Callable[[Document], ScheduledEvent | None]:
    def wanted(document: Document) -> ScheduledEvent | None:
        return next((e for e in document.events if e.event_id == event["id"] and e.status == status), None)

    return wanted


def reboot(t: Narrator) -> None:
    """Reboot: a user restarts web-0, which approves"""
    front = ("web-0", "web-1", "web-2", "web-3")
    before = t.client.vm("web-0")["boots"]
    event = t.asked("forewarn vm restart web-0", t.client.operate("restart", ["web-0"]))
    shown = t.seen(front, event, EventStatus.SCHEDULED)
    t.tell("web-0", "finishes its work, then approves with a POST")
    t.guests["web-0"].approve(shown)
    t.seen(front, event, EventStatus.STARTED)
    t.gone(front, event, "web-0 has restarted, its memory is lost, its disks are kept")
    t.expect("web-0 booted once more", t.client.vm("web-0")["boots"] == before + 1)


def freeze(t: Narrator) -> None:
    """Freeze: a host is maintained, and its tenants must all agree"""
    host = t.client.vm("db")["host"] or ""
    outcome = t.client.maintain([host], "freeze")
    t.expect("several scopes live on one host", len(outcome["events"]) > 1)
    t.asked(f"forewarn host maintain {host} --kind freeze", outcome)
    events = outcome["events"]
    for event in events[:-1]:
        guest = event["vms"][0]
        t.guests[guest].approve(t.seen((guest,), event, EventStatus.SCHEDULED))
        t.tell(guest, "approves; the host waits for its other tenants")
    last = events[-1]
    guest = last["vms"][0]
    t.expect("nothing has started yet", all(not e["started_at"] for e in t.client.events() if e["host"] == host))
    t.guests[guest].approve(t.seen((guest,), last, EventStatus.SCHEDULED))
    t.tell(guest, "approves: that was the last one")
    for event in events:
        t.seen((event["vms"][0],), event, EventStatus.STARTED)
    for event in events[:-1]:
        t.guests[event["vms"][0]].sees_no(event["id"])
    t.gone((guest,), last, f"the VMs of {host} were paused for {last['duration_seconds']} s and have recovered")


def redeploy(t: Narrator) -> None:
    """Redeploy: a user redeploys db, and nobody approves"""
    before = t.client.vm("db")
    event = t.asked("forewarn vm redeploy db", t.client.operate("redeploy", ["db"]))
    t.seen(("db",), event, EventStatus.SCHEDULED)
    t.tell("db", "does nothing; ten minutes pass")
    t.seen(("db",), event, EventStatus.STARTED)
    t.gone(("db",), event, "db lives on another host, with an empty ephemeral disk")
    after = t.client.vm("db")
    t.expect("db has moved", after["host"] != before["host"])
    t.expect("its ephemeral disk is new", after["ephemeral_disks"] == before["ephemeral_disks"] + 1)


def preempt(t: Narrator) -> None:
    """Preempt: a Spot VM is evicted, with thirty seconds of notice"""
    event = t.asked("forewarn vm evict batch", t.client.operate("evict", ["batch"]))
    t.seen(("batch",), event, EventStatus.SCHEDULED)
    t.tell("batch", "saves what it can")
    t.gone(("batch",), event, "batch is deallocated, as its eviction policy says")
    t.expect("batch is deallocated", t.client.vm("batch")["power"] == "deallocated")


def terminate(t: Narrator) -> None:
    """Terminate: a VM with a terminate notice is deleted, and approves"""
    event = t.asked("forewarn vm delete worker", t.client.operate("delete", ["worker"]))
    shown = t.seen(("worker",), event, EventStatus.SCHEDULED)
    t.tell("worker", "hands its queue over, then approves")
    t.guests["worker"].approve(shown)
    t.gone(("worker",), event, "worker is deleted")
    t.expect("worker is gone", all(vm["name"] != "worker" for vm in t.client.vms()))


STORIES = (reboot, freeze, redeploy, preempt, terminate)
