"""A story to take home: what happened to an event, as a pytest module that makes it happen again.

The module uses the ``region`` fixture of ``forewarn.testing``. Where somebody approved the event, a handler stands in
its place, to be replaced by the program under test: without its approval the test fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import Query, Response

from forewarn.core import facts as f
from forewarn.core.causes import CAUSES, Cause
from forewarn.core.refusal import Hint, Refused, no_event
from forewarn.core.region import Event, Region
from forewarn.core.specs import EvictionPolicy, ScopeKind
from forewarn.web.operator.desk import TheDesk, TheLook
from forewarn.web.operator.records import MOST_STEPS
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.looks import StoryQuery

router = routes_below("/v1/export", "events")

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
    summary="Save an event's story as a test",
    response_class=Response,
    responses={200: {"content": {"text/x-python": {}}, "description": "A pytest module."}},
)
def export_test(query: Annotated[StoryQuery, Query()], desk: TheDesk, look: TheLook) -> Response:
    """A pytest module that makes the same happen to a VM of the same kind: the event, its approval after the same time
    or none, its taking back. It wants forewarn with its `server` extra and pytest, and passes as it is.
    """
    records = desk.plane.journal.about(query.event.upper(), MOST_STEPS)
    story = [record.fact for record in records if record.seq <= look.seq]
    if not story or not isinstance(story[0], f.EventScheduled | f.EventBornStarted):
        raise no_event(f"There is and was no event {query.event}.", query.event)
    return Response(module_of(story[0].event, story, look.region), media_type="text/x-python; charset=utf-8")


def module_of(event: Event, story: Sequence[f.Fact], region: Region) -> str:
    title = f"{CAUSES[event.cause].type.value} of {', '.join(event.resources[:3])}"
    approval = next((fact for fact in story if isinstance(fact, f.EventApproved)), None)
    imports = "from datetime import timedelta\n\n" if event.cause is Cause.DELETION else ""
    imports += "from forewarn.guest import Client\n" if approval else ""
    name = re.sub(r"\W+", "_", title.lower()).strip("_")[:60]
    lines = [f"def test_{name}(region: Region) -> None:", *(f"    {line}" for line in _steps(event, story, region))]
    body = (_HANDLER if approval else "") + "\n" + "\n".join(lines) + "\n"
    return _HEAD.format(title=title, imports=imports) + body


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
        raise Refused(Hint.INVALID, "The test kit cannot reimage a VM, so this story cannot be saved as a test.")
    else:
        yield f"event = region.maintain(vm.host, {event.cause.value!r})[0]"


def _pass(since: datetime, until: datetime, why: str) -> Iterator[str]:
    if until > since:
        yield f"region.advance(seconds={(until - since).total_seconds():g})  # {why}"
