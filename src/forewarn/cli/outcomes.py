"""Events as people read them, and what came of an operation: shared by every command that schedules something."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from forewarn.cli import terse
from forewarn.cli.api.shapes import Event, Outcome
from forewarn.cli.output import Column, Output
from forewarn.settings.times import parse_instant, show_distance, show_moment

CARDS_AT_MOST = 3  # a card takes some eight lines, and a terminal has at least 24; beyond that a table is told
_AWAITED_SHOWN = 5  # five names are about one line of a card

# The wire's word for each cause: the journal keeps causes only, and the core is not installed beside a client.
TYPE_OF_CAUSE = {
    "freeze": "Freeze",
    "live-migration": "Freeze",
    "network": "Freeze",
    "reboot": "Reboot",
    "redeploy": "Redeploy",
    "predicted-failure": "Redeploy",
    "failure": "Redeploy",
    "crash": "Reboot",
    "user-restart": "Reboot",
    "user-redeploy": "Redeploy",
    "eviction": "Preempt",
    "deletion": "Terminate",
    "reimage": "Reboot",
}

_PENDING = ("scheduled", "approved")

_FIRST, _LAST = (
    (Column("ID"), Column("TYPE"), Column("PHASE")),
    (Column("SCOPE", flexible=True, tail=True), Column("RESOURCES", flexible=True)),
)
EVENT_COLUMNS = (*_FIRST, Column("NOT BEFORE"), *_LAST)
PAST_COLUMNS = (*_FIRST, Column("START"), *_LAST)


def show_outcome(out: Output, outcome: Outcome) -> None:
    """A few events in full, many as a table; then the server's own sentence about what happened at once."""
    if out.as_json:
        out.json(outcome)
        return
    say_if_dry(out, outcome.get("dry_run", False))
    events = outcome["events"]
    if len(events) > CARDS_AT_MOST:
        show_events(out, events, parse_instant(events[0]["scheduled_at"]))
    else:
        for event in events:
            show_card(out, event, parse_instant(event["scheduled_at"]))
    out.prose(outcome["message"])


def say_if_dry(out: Output, dry_run: bool) -> None:
    """What follows has not happened, although it reads as if it had."""
    if dry_run:
        out.prose("Dry run, nothing was changed. The answer would be:")


def merge(outcomes: Sequence[Outcome]) -> Outcome:
    """One answer of several requests that were one wish."""
    if len(outcomes) == 1:
        return outcomes[0]
    events = [event for outcome in outcomes for event in outcome["events"]]
    at_once = [name for outcome in outcomes for name in outcome["at_once"]]
    message = f"{len(events)} events, {len(at_once)} VMs done at once."
    return {"events": events, "at_once": at_once, "message": message, "dry_run": outcomes[0].get("dry_run", False)}


def show_events(
    out: Output,
    events: Iterable[Event],
    now: datetime,
    empty: str = "",
    columns: Sequence[Column] = EVENT_COLUMNS,
) -> None:
    """Events as a table, oldest first as the server lists them. Among past ones it says when each was."""
    shown = list(events)
    short = terse.ids(out, (event["id"] for event in shown))
    rows = (
        (
            short(event["id"]),
            event["type"],
            event["phase"],
            _start(out, event, now) if is_pending(event) or columns is PAST_COLUMNS else "",
            event["scope"],
            event["resources"],
        )
        for event in shown
    )
    out.table(columns, rows, empty)


def _start(out: Output, event: Event, now: datetime) -> str:
    return terse.ahead(out, event["not_before"], now) if is_pending(event) else terse.moment(out, event["started_at"])


def is_pending(event: Event) -> bool:
    """Whether its NotBefore still means something: documents leave it empty once an event has started."""
    return event["phase"] in _PENDING


def not_before(event: Event, now: datetime) -> str:
    """The instant and how far off it is."""
    at = event["not_before"]
    return f"{show_moment(at)} ({show_distance(parse_instant(at), now)})" if is_pending(event) else ""


def show_card(out: Output, event: Event, now: datetime) -> None:
    """One event: what, whom, when, and who has to say yes."""
    short = terse.one_id(out, event["id"])
    named = f"{out.paint(short, 'bold')}  " if short else ""  # in a dry run nothing new has an id
    out.line(f"{named}{event['type']}  {out.state(event['phase'])}")
    out.fields(
        [
            ("resources", event["resources"]),
            ("not before", not_before(event, now)),
            ("approval", approval(event, short)),
            ("waits for", waits_for(out, event) if event["phase"] == "approved" else None),
            ("why", event["description"] or event["cause"]),
        ],
        indent="  ",
    )


def waits_for(out: Output, event: Event) -> str:
    """The events of the same work that hold it back: a few by their ids, many by their number."""
    few = ", ".join(map(terse.ids(out, event["awaited"]), event["awaited"][:_AWAITED_SHOWN]))
    more = len(event["awaited"]) - _AWAITED_SHOWN
    return f"{few} and {more} more" if more > 0 else few


def approval(event: Event, short: str) -> str:
    """Who must approve, or who did."""
    if event["approved_at"]:
        return f"given by {event['approved_by'] or 'nobody in particular'} at {show_moment(event['approved_at'])}"
    if event["phase"] != "scheduled":
        return "not needed"
    by = f"by any VM of {event['scope']}"
    return f"{by}, or: forewarn event approve {short}" if short else by
