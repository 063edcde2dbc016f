"""Facts and events by the names that the model uses for them."""

from __future__ import annotations

from forewarn.core import facts as f
from forewarn.core.region import Event


def started_by(fact: f.Fact) -> str:
    if isinstance(fact, f.EventBornStarted):
        return fact.event.id
    return fact.event_id if isinstance(fact, f.EventStarted) else ""


def number_of(host: str) -> int:
    return int(host.removeprefix("host-"))


def by_vm(events: list[Event]) -> dict[str, str]:
    """Ids of events that name one VM each."""
    found: dict[str, str] = {}
    for event in events:
        (key,) = event.vms
        assert key not in found
        found[key] = event.id
    return found


def tenants(events: list[Event]) -> dict[str, tuple[str, list[str]]]:
    """One event for each scope."""
    found = {event.scope: (event.id, list(event.vms)) for event in events}
    assert len(found) == len(events)
    return found
