"""What a guest asks for: documents, approvals, itself, and the stream of readings."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.exchange import Manners, Outcome, Send
from forewarn.guest.faults import Refused
from forewarn.guest.http1 import Response
from forewarn.guest.reading import Reading
from forewarn.guest.watch import Appeared, Ended, Ending, Started, Watcher
from forewarn.terms import Document
from forewarn.wire.times import format_rfc1123
from tests.unit.guest.stage import EMPTY, ID, NOON, REFUSED, Over, Stage, an_event, says, shown

SEEN = Document(2, (an_event(),))
STARTED = Document(3, (an_event(status="Started"),))
APPLIED = "preference-applied"


def readings(stage: Stage, *answers: Outcome) -> list[Reading]:
    given_items = stage.given(stage.session.readings(), answers)
    return [item for item in given_items if isinstance(item, Reading)]


# Single questions


def test_a_document_is_read_as_the_documentation_says() -> None:
    stage = Stage()
    assert stage.play(stage.session.document(), [shown(SEEN)]) == SEEN
    request = stage.sent[0].request
    assert (request.verb, request.target) == ("GET", "/metadata/scheduledevents?api-version=2020-07-01")
    assert stage.headers(0)["Metadata"] == "true"
    assert "X-Forwarded-For" not in stage.headers(0)


@pytest.mark.parametrize("body", [b"", b" \r\n"])
def test_an_empty_answer_is_no_information_and_no_fault(body: bytes) -> None:
    stage = Stage()
    assert stage.play(stage.session.document(), [says(200, body)]) is None
    assert stage.reports == []


def test_an_approval_names_its_events_as_the_documentation_says() -> None:
    stage = Stage()
    stage.play(stage.session.approve((ID, "b")), [says(200)])
    request = stage.sent[0].request
    assert (request.verb, request.target) == ("POST", "/metadata/scheduledevents?api-version=2020-07-01")
    assert json.loads(request.body) == {"StartRequests": [{"EventId": ID}, {"EventId": "b"}]}
    assert stage.headers(0)["Metadata"] == "true"


def test_an_approval_is_repeated_until_it_is_answered() -> None:
    stage = Stage()
    stage.play(stage.session.approve((ID,)), [says(410), REFUSED, says(429), says(200, b"any body")])
    assert len({send.request for send in stage.sent}) == 1
    assert len(stage.sent) == 4


def test_an_approval_of_nothing_is_refused_before_anything_is_sent() -> None:
    stage = Stage()
    with pytest.raises(ValueError, match="at least one"):
        stage.play(stage.session.approve(()), [])
    assert stage.actions == []


def test_an_instance_is_asked_for_with_versions_of_its_own() -> None:
    stage = Stage()
    found = stage.play(stage.session.instance(), [says(400), says(200, b'{"compute":{"name":"web_0"}}')])
    assert found.name == "web_0"
    assert [send.request.target for send in stage.sent] == [
        "/metadata/instance?api-version=2021-12-13",
        "/metadata/instance?api-version=2021-02-01",
    ]
    assert stage.session.versions.current == "2020-07-01"


def test_an_instance_without_a_name_is_asked_again() -> None:
    stage = Stage()
    stage.play(stage.session.instance(), [says(200), says(200, b"{}"), says(200, b'{"compute":{"name":"web"}}')])
    assert len(stage.reports) == 2


# Readings from a server that does nothing but answer


def test_a_plain_server_is_polled() -> None:
    stage = Stage(manners=Manners(poll_seconds=2.0), answer_takes_seconds=0.5)
    found = readings(stage, shown(EMPTY), shown(EMPTY), shown(SEEN), shown(STARTED))
    assert [(reading.document, reading.unchanged) for reading in found] == [
        (EMPTY, False),
        (EMPTY, True),
        (SEEN, False),
        (STARTED, False),
    ]
    assert stage.waits == [1.5] * 4
    assert all("If-None-Match" not in stage.headers(place) for place in range(4))
    assert {send.answer_seconds for send in stage.sent[1:]} == {Manners.timeout_seconds}


def test_a_poll_that_took_long_is_followed_at_once() -> None:
    stage = Stage(answer_takes_seconds=5.0)
    readings(stage, shown(EMPTY), shown(SEEN))
    assert stage.waits == []


def test_a_server_with_tags_only_is_polled_with_them() -> None:
    """One question is asked early and may take longer, because it might have been a server that holds answers back."""
    stage = Stage()
    found = readings(stage, shown(EMPTY, {"etag": '"1"'}), says(304), shown(SEEN, {"etag": '"2"'}), says(304))
    assert [(reading.document, reading.unchanged) for reading in found] == [
        (EMPTY, False),
        (EMPTY, True),
        (SEEN, False),
        (SEEN, True),
    ]
    assert [stage.headers(place).get("If-None-Match") for place in range(4)] == [None, '"1"', '"1"', '"2"']
    assert stage.waits == [pytest.approx(Manners.least_gap_seconds), 1.0, 1.0, 1.0]
    assert [send.answer_seconds for send in stage.sent[1:]] == [40, 10, 10, 10]


# Readings from a server that holds answers back


def test_a_server_that_holds_answers_back_is_let_do_so() -> None:
    stage = Stage()
    stage.given(
        stage.session.readings(), [shown(EMPTY, {"etag": '"1"'}), shown(SEEN, {"etag": '"2"', APPLIED: "wait=30"})]
    )
    assert stage.waits == [pytest.approx(Manners.least_gap_seconds)] * 2
    assert stage.headers(0)["Prefer"] == "wait=30"
    assert "If-None-Match" not in stage.headers(0)
    assert stage.headers(1) == {**stage.headers(0), "If-None-Match": '"1"'}
    assert stage.headers(2) == {**stage.headers(0), "If-None-Match": '"2"'}
    assert [send.answer_seconds for send in stage.sent[1:]] == [Manners.timeout_seconds + 30] * 2


def test_after_waiting_in_vain_the_next_question_follows_at_once() -> None:
    stage = Stage(answer_takes_seconds=30.0)
    held = {"etag": '"1"', APPLIED: "wait=30"}
    readings(stage, shown(EMPTY, held), Response(304, held), Response(304, held))
    assert stage.waits == []


def test_a_server_that_only_says_that_it_waits_is_not_asked_more_often_than_polled() -> None:
    stage = Stage()
    held = {"etag": '"1"', APPLIED: "wait=30"}
    readings(stage, shown(EMPTY, held), Response(304, held), Response(304, held), says(200, b"", **held))
    assert stage.waits[1:] == [1.0] * 3


def test_waiting_can_be_switched_off() -> None:
    stage = Stage(manners=Manners(wait_seconds=0))
    readings(stage, shown(EMPTY, {"etag": '"1"'}), says(304))
    assert all("Prefer" not in stage.headers(place) for place in range(3))
    assert stage.headers(1)["If-None-Match"] == '"1"'


# Readings of a bad day


def test_a_fault_is_a_reading_and_the_next_question_assumes_nothing() -> None:
    stage = Stage()
    found = readings(stage, shown(EMPTY, {"etag": '"1"'}), says(410), shown(EMPTY, {"etag": '"1"'}), says(304))
    assert [reading.fault and reading.fault.status for reading in found] == [None, 410, None, None]
    assert [reading.unchanged for reading in found] == [False, False, True, True]
    assert [stage.headers(place).get("If-None-Match") for place in range(4)] == [None, '"1"', None, '"1"']
    assert found[1].document is None
    assert found[1].retry_seconds == stage.waits[1]


def test_an_empty_answer_is_a_reading_without_a_document() -> None:
    stage = Stage()
    found = readings(stage, shown(SEEN, {"etag": '"2"'}), says(200, b"", etag='"2"'), shown(SEEN))
    assert [(reading.document, reading.fault, reading.unchanged) for reading in found] == [
        (SEEN, None, False),
        (None, None, False),
        (SEEN, None, True),
    ]
    assert "If-None-Match" not in stage.headers(2)


def test_not_modified_from_a_server_that_was_never_read_is_no_information() -> None:
    stage = Stage()
    found = readings(stage, says(304), shown(SEEN))
    assert [reading.document for reading in found] == [None, SEEN]


def test_readings_go_on_whatever_comes() -> None:
    stage = Stage(manners=Manners(patience_seconds=0))
    bad: list[Outcome] = [REFUSED, says(500), says(403), says(200, b"{"), says(200), says(418), *[says(503)] * 20]
    found = readings(stage, *bad, shown(SEEN))
    assert [reading.fault is None for reading in found] == [False] * 4 + [True] + [False] * 21 + [True]
    assert found[-1].document == SEEN
    assert max(stage.waits) <= 4 * Manners.longest_backoff_seconds


def test_a_tag_of_an_older_version_does_not_hide_what_a_newer_one_shows() -> None:
    stage = Stage()

    def host(send: Send) -> Outcome:
        known = dict(send.request.headers).get("If-None-Match")
        old = stage.clock.seconds < 3000
        if stage.clock.seconds > 5000:
            raise Over
        if "2017-08-01" not in send.request.target and old:
            return says(400)
        return says(304) if known == '"2"' else shown(EMPTY if old else SEEN, {"etag": '"2"'})

    found = stage.given(stage.session.readings(), host)
    assert isinstance(found[-1], Reading)
    assert found[-1].document == SEEN


answers = st.sampled_from(
    [
        REFUSED,
        says(500),
        says(404),
        says(200),
        says(200, b"{}"),
        says(304),
        Response(304, {"etag": '"9"', APPLIED: "wait=30"}),
        shown(EMPTY),
        shown(EMPTY, {"etag": '"1"', APPLIED: "wait=30"}),
        shown(SEEN, {"etag": '"2"'}),
        shown(STARTED, {"date": "rubbish"}),
    ]
)


@given(st.lists(answers, max_size=15), st.floats(0, 40))
def test_whatever_is_answered_every_answer_is_one_reading_and_the_service_is_never_hurried(
    story: list[Outcome], takes: float
) -> None:
    stage = Stage(answer_takes_seconds=takes)
    began = stage.clock.seconds
    found = readings(stage, *story)
    assert len(found) == len(story)
    for reading in found:
        assert reading.fault is None or reading.document is None
        assert not reading.unchanged or reading.document is not None
    least = min(Manners.least_gap_seconds, Manners.first_backoff_seconds / 2)
    assert stage.clock.seconds - began >= max(least, takes) * len(story) - 1e-6


# Time


def test_a_reading_has_the_time_of_the_service() -> None:
    stage = Stage()
    service = NOON + timedelta(days=3)
    found = readings(
        stage,
        shown(EMPTY, {"date": format_rfc1123(service), "etag": '"1"'}),
        says(304, date=format_rfc1123(service)),
        shown(EMPTY, {"date": "rubbish"}),
        REFUSED,
    )
    assert [reading.at for reading in found[:2]] == [service] * 2
    assert all(abs(reading.at - NOON) < timedelta(minutes=1) for reading in found[2:])


# Changes


def test_changes_are_what_a_watcher_makes_of_readings() -> None:
    stage = Stage()
    story: list[Outcome] = [
        shown(EMPTY),
        says(410),
        shown(SEEN),
        says(200),
        shown(SEEN),
        shown(STARTED),
        REFUSED,
        shown(Document(4)),
    ]
    changes = stage.given(stage.session.changes(Watcher()), story)
    assert [type(change) for change in changes] == [Appeared, Started, Ended]


def test_a_cancellation_is_judged_by_the_services_time() -> None:
    stage = Stage()
    late = {"date": format_rfc1123(NOON + timedelta(hours=1))}
    (_, end) = stage.given(stage.session.changes(Watcher()), [shown(SEEN), shown(Document(3), late)])
    assert isinstance(end, Ended)
    assert end.how == Ending.UNKNOWN


def test_watching_a_service_that_refuses_from_the_start_ends() -> None:
    stage = Stage()
    with pytest.raises(Refused, match="answered 403"):
        stage.play(stage.session.changes(Watcher()), [says(500), says(403)])


def test_watching_a_service_that_once_answered_goes_on() -> None:
    stage = Stage()
    (change,) = stage.given(stage.session.changes(Watcher()), [shown(EMPTY), says(403), shown(SEEN)])
    assert isinstance(change, Appeared)
