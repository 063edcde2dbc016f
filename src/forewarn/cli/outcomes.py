"""Events as people read them, and what came of an operation: shared by every command that schedules something."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from forewarn.cli.api.shapes import Event, Outcome
from forewarn.cli.output import Column, Output
from forewarn.settings.times import parse_instant, show_distance, show_moment

CARDS_AT_MOST = 3

# The wire's word for each cause: the journal keeps causes only, and the core is not installed beside a client.
TYPE_OF_CAUSE = {
    "freeze": "Freeze",
    "live-migration": "Freeze",
    "network": "Freeze",
    "reboot": "Reboot",
    "redeploy": "Redeploy",
    "predicted-failure": "Redeploy",
    "failure": "Redeploy",
    "user-restart": "Reboot",
    "user-redeploy": "Redeploy",
    "eviction": "Preempt",
    "deletion": "Terminate",
    "reimage": "Reboot",
}

_PENDING = ("scheduled", "approved")

EVENT_COLUMNS = (
    Column("ID"),
    Column("TYPE"),
    Column("PHASE"),
    Column("NOT BEFORE"),
    Column("SCOPE", flexible=True),
    Column("RESOURCES", flexible=True),
)


def show_outcome(out: Output, outcome: Outcome) -> None:
    """A few events in full, many as a table; then the server's own sentence about what happened at once."""
    if out.as_json:
        out.json(outcome)
        return
    events = outcome["events"]
    if len(events) > CARDS_AT_MOST:
        show_events(out, events, None)
    else:
        for event in events:
            show_card(out, event, parse_instant(event["scheduled_at"]))
    out.line(outcome["message"])


def merge(outcomes: Sequence[Outcome]) -> Outcome:
    """One answer of several requests that were one wish."""
    if len(outcomes) == 1:
        return outcomes[0]
    events = [event for outcome in outcomes for event in outcome["events"]]
    at_once = [name for outcome in outcomes for name in outcome["at_once"]]
    message = f"{len(events)} events, {len(at_once)} VMs done at once."
    return {"events": events, "at_once": at_once, "message": message}


def show_events(out: Output, events: Iterable[Event], now: datetime | None, empty: str = "") -> None:
    """Events as a table, oldest first as the server lists them."""
    out.table(EVENT_COLUMNS, (_row(event, now) for event in events), empty)


def _row(event: Event, now: datetime | None) -> tuple[object, ...]:
    return (
        event["id"],
        event["type"],
        event["phase"],
        not_before(event, now),
        event["scope"],
        event["resources"],
    )


def not_before(event: Event, now: datetime | None) -> str:
    """The instant and how far off it is; nothing once the event has started, as in documents."""
    if event["phase"] not in _PENDING:
        return ""
    at = event["not_before"]
    return show_moment(at) if now is None else f"{show_moment(at)} ({show_distance(parse_instant(at), now)})"


def show_card(out: Output, event: Event, now: datetime) -> None:
    """One event: what, whom, when, and who has to say yes."""
    out.line(f"{out.paint(event['id'], 'bold')}  {event['type']}  {out.state(event['phase'])}")
    out.fields(
        [
            ("resources", event["resources"]),
            ("not before", not_before(event, now)),
            ("approval", approval(event)),
            ("waits for", event["awaited"] if event["phase"] == "approved" else None),
            ("why", event["description"] or event["cause"]),
        ],
        indent="  ",
    )


def approval(event: Event) -> str:
    """Who must approve, or who did."""
    if event["approved_at"]:
        return f"given by {event['approved_by'] or 'nobody in particular'} at {show_moment(event['approved_at'])}"
    if event["phase"] != "scheduled":
        return "not needed"
    return f"by any VM of {event['scope']}, or: forewarn event approve {event['id']}"
