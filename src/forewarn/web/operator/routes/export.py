"""A story to take home: what happened to an event, or to several, as a pytest module that makes it happen again.

The module uses the ``region`` fixture of ``forewarn.testing``. Where somebody approved the event, a handler stands in
its place, to be replaced by the program under test: without its approval the test fails.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import Query, Response

from forewarn.core import facts as f
from forewarn.core.causes import CAUSES, Cause
from forewarn.core.refusal import Hint, Refused, no_event
from forewarn.core.region import Event, Region
from forewarn.core.specs import EvictionPolicy, ScopeKind
from forewarn.plane.ports import Journal
from forewarn.web.operator.desk import TheDesk, TheLook
from forewarn.web.operator.history.spans import records
from forewarn.web.operator.records import MOST_STEPS
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.looks import StoryQuery

router = routes_below("/v1/export", "events")

_MOST_TESTS = 100  # ours: a module that somebody still reads
_MOST_RECORDS = 100_000  # ours: read in a second or two
_NO_REIMAGE = "The test kit cannot reimage a VM."
_BEGINNINGS = (f.EventScheduled, f.EventBornStarted)
_BY_USERS = {Cause.USER_RESTART: "restart", Cause.USER_REDEPLOY: "redeploy", Cause.EVICTION: "evict"}
_HEAD = '''"""Saved from a forewarn region: {title}. The clock of the test stands still until it is turned."""

from __future__ import annotations

{imports}from forewarn.testing import Region

'''
_HANDLER = '''
def handler(url: str) -> None:
    """Your program goes here: it is given the address that the VM reads, prepares, and approves."""
    with Client(url) as client:
        document = client.document()
        assert document is not None
        for event in document.events:
            client.approve(event.event_id)

'''


@router.get(
    "/test",
    summary="Save what happened as a test",
    response_class=Response,
    responses={200: {"content": {"text/x-python": {}}, "description": "A pytest module."}},
)
def export_test(query: Annotated[StoryQuery, Query()], desk: TheDesk, look: TheLook) -> Response:
    """A pytest module that makes the same happen to a VM of the same kind: the event, its approval after the same time
    or none, its taking back. It wants forewarn with its `server` extra and pytest, and passes as it is.

    With `after` and `to` it has a test for each event that was made in that stretch of the journal, 100 at most; what
    the test kit cannot do again is named in its first lines.
    """
    if bool(query.event) == (query.after is not None):
        raise Refused(Hint.INVALID, "Name an event, or a stretch of the journal by after and to.")
    journal = desk.plane.journal
    if query.event:
        events = [query.event.upper()]
    else:
        events = _events_between(journal, query.after or 0, min(look.seq, look.seq if query.to is None else query.to))
    stories = [_story(journal, event, look.seq) for event in events]
    return Response(module_of(stories, look.region), media_type="text/x-python; charset=utf-8")


def _events_between(journal: Journal, after: int, to: int) -> list[str]:
    """Those that a document told of, oldest first."""
    if to - after > _MOST_RECORDS:
        raise Refused(
            Hint.INVALID, f"That is a stretch of {to - after} records; choose one of at most {_MOST_RECORDS}."
        )
    facts = (record.fact for record in records(journal, after, to))
    made = (fact.event for fact in facts if isinstance(fact, _BEGINNINGS))
    found = [event.id for event in made if event.announced]
    if not found:
        raise Refused(Hint.NOT_FOUND, f"No event was made after record {after} and up to {to}.")
    if len(found) > _MOST_TESTS:
        raise Refused(Hint.INVALID, f"{len(found)} events were made there; choose a stretch of at most {_MOST_TESTS}.")
    return found


def _story(journal: Journal, event: str, head: int) -> list[f.Fact]:
    story = [record.fact for record in journal.about(event, MOST_STEPS) if record.seq <= head]
    if not story or not isinstance(story[0], _BEGINNINGS):
        raise no_event(f"There is and was no event {event}.", event)
    return story


def module_of(stories: Sequence[Sequence[f.Fact]], region: Region) -> str:
    """One test for each story, and one handler for them all."""
    tests, left_out = dict[str, str](), list[str]()
    told: list[tuple[Event, Sequence[f.Fact]]] = []
    for story in stories:
        assert isinstance(story[0], _BEGINNINGS)
        event = story[0].event
        if len(stories) > 1 and event.cause is Cause.REIMAGE:
            left_out.append(f"# Left out: {_title(event)}. {_NO_REIMAGE}\n")
            continue
        told.append((event, story))
        name = _name(event, tests)
        tests[name] = "\n".join([f"def test_{name}(region: Region) -> None:", *_body(event, story, region)])
    approved = any(isinstance(fact, f.EventApproved) for _, story in told for fact in story)
    imports = "from datetime import timedelta\n\n" if any(event.cause is Cause.DELETION for event, _ in told) else ""
    imports += "from forewarn.guest import Client\n" if approved else ""
    title = _title(told[0][0]) if len(stories) == 1 else f"{len(told)} events"
    head = _HEAD.format(title=title, imports=imports) + "".join(left_out)
    return head + (_HANDLER if approved else "") + "\n" + "\n\n\n".join(tests.values()) + "\n"


def _title(event: Event) -> str:
    return f"{CAUSES[event.cause].type.value} of {', '.join(event.resources[:3])}"


def _name(event: Event, taken: Container[str]) -> str:
    """No two tests are called the same, or only the last of them would run."""
    name = re.sub(r"\W+", "_", _title(event).lower()).strip("_")[:60]
    return next(each for each in (name, *(f"{name}_{number}" for number in range(2, 200))) if each not in taken)


def _body(event: Event, story: Sequence[f.Fact], region: Region) -> Iterator[str]:
    return (f"    {line}" for line in _steps(event, story, region))


def _steps(event: Event, story: Sequence[f.Fact], region: Region) -> Iterator[str]:
    yield f"vm = region.vm({', '.join(_vm_words(event, region))})"
    yield from _beginning(event)
    now = event.scheduled_at
    for fact in story[1:]:
        if isinstance(fact, f.EventApproved):
            yield from _pass(now, fact.at, "when the approval came")
            yield from ("handler(vm.url)", "region.assert_approved_before_deadline(event)")
            now = fact.at
        elif isinstance(fact, f.EventCanceled):
            yield from _pass(now, fact.at, "when it was taken back")
            yield from ("region.cancel(event)", "region.assert_no_impact(vm)")
            return
        elif isinstance(fact, f.EventStarted) and event.scheduled_at == now:  # nobody approved: it was time
            yield from _pass(now, fact.at, "when it started")
            yield 'assert event.phase == "started"'
            now = fact.at
        elif isinstance(fact, f.EventCompleted):
            yield "region.run_until(lambda: event.ended)"


def _vm_words(event: Event, region: Region) -> Iterator[str]:
    """The first VM that it hits, of the same kind as far as the region still knows it."""
    vm = region.vms.get(event.vms[0]) if event.vms else None
    kind, _, set_name = event.scope.partition("/")
    yield repr(event.resources[0] if vm is None else vm.name)
    if kind == ScopeKind.AVAILABILITY_SET.value:
        yield f"availability_set={set_name!r}"
    if event.cause is Cause.EVICTION:
        yield "spot=True"
        if vm is None or vm.spec.eviction_policy is EvictionPolicy.DELETE:
            yield "delete_on_eviction=True"
    if event.cause is Cause.DELETION:
        seconds = (event.not_before - event.scheduled_at).total_seconds()
        yield f"terminate_notice=timedelta(seconds={seconds:g})"


def _beginning(event: Event) -> Iterator[str]:
    if verb := _BY_USERS.get(event.cause):
        yield f"event = region.{verb}(vm)"
    elif event.cause is Cause.DELETION:
        yield from ("event = region.delete(vm)", "assert event is not None")
    elif event.cause is Cause.FAILURE:
        yield "event = region.fail(vm.host)[0]"
    elif event.cause is Cause.REIMAGE:
        raise Refused(Hint.INVALID, f"{_NO_REIMAGE} So this story cannot be saved as a test.")
    else:
        yield f"event = region.maintain(vm.host, {event.cause.value!r})[0]"


def _pass(since: datetime, until: datetime, why: str) -> Iterator[str]:
    if until > since:
        yield f"region.advance(seconds={(until - since).total_seconds():g})  # {why}"
