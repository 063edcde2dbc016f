"""The open work of a region, counted."""

from __future__ import annotations

from datetime import datetime, timedelta

from forewarn.core.causes import Cause
from forewarn.core.commands import CreateVms, RestartVms, StartCampaign, Tick
from forewarn.core.phases import Phase
from forewarn.core.region import CampaignState
from forewarn.core.specs import VmSpec
from forewarn.terms import EventType
from forewarn.web.signals.survey import OVERDUE_AFTER, STILL_AFTER, Survey, survey
from tests.unit.web.metadata.story import NOON, Story

LONG = timedelta(hours=2)


def looked(story: Story, reads: dict[str, datetime] | None = None) -> Survey:
    return survey(story.region, reads or {}, story.now, LONG)


def test_events_are_counted_by_type_and_phase_and_those_that_no_document_shows_are_not() -> None:
    story = Story()
    story.create("a", "b", "quiet")
    story.enable("a")
    story.enable("b")
    story.tell(RestartVms(("quiet",), "quiet"))
    story.approve(story.restart("a", "first"))
    story.restart("b", "second")
    found = looked(story)
    assert found.events == {(EventType.REBOOT, Phase.STARTED): 1, (EventType.REBOOT, Phase.SCHEDULED): 1}
    assert found.enabled == 2


def test_an_event_is_overdue_a_minute_after_its_deadline_where_nothing_let_it_start() -> None:
    story = Story()
    story.create("a")
    story.enable("a")
    story.restart("a")
    deadline = next(iter(story.region.events.values())).not_before
    story.now = deadline + OVERDUE_AFTER
    assert looked(story).overdue == 0
    story.wait(timedelta(seconds=1))
    assert looked(story).overdue == 1
    story.tell(Tick())
    assert looked(story).overdue == 0


def test_a_scope_is_unread_where_neither_this_node_nor_the_journal_knows_a_read() -> None:
    story = Story()
    story.create("a", "B")
    story.enable("a")
    story.enable("b")
    story.wait(LONG - timedelta(seconds=1))
    assert looked(story).unread == 0
    story.wait(timedelta(seconds=1))
    assert looked(story).unread == 2
    assert looked(story, {"B": story.now}).unread == 1
    assert looked(story, {"B": NOON, "gone": story.now}).unread == 2


def test_a_campaign_stands_still_when_time_alone_has_not_moved_it_for_long() -> None:
    story = Story()
    story.tell(CreateVms(("a",), VmSpec(), "seed", None))
    story.enable("a")
    story.tell(StartCampaign("campaign", Cause.REBOOT))
    found = looked(story)
    assert found.campaigns == {CampaignState.RUNNING: 1}
    (event,) = story.region.events.values()
    story.now = event.not_before + STILL_AFTER
    assert looked(story).still == 0
    story.wait(timedelta(seconds=1))
    assert looked(story).still == 1
    story.tell(Tick())
    assert looked(story).still == 0
