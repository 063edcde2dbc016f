"""One question on its way: retries, versions, places, timeouts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.endpoint import AZURE, Endpoint, Places
from forewarn.guest.exchange import DHCP_AGAIN_SECONDS, Action, AskDhcp, Lost, Manners, Outcome, Send
from forewarn.guest.faults import Refused, Unavailable
from forewarn.guest.versions import PREFER_AGAIN_SECONDS
from forewarn.terms import Document
from forewarn.wire.errors import BAD_VERSION, MISSING_HEADER, THROTTLED
from forewarn.wire.versions import API_VERSIONS
from tests.unit.guest.stage import EMPTY, HERE, ID, REFUSED, Stage, an_event, says, shown

SEEN = Document(2, (an_event(),))
CLASSIC = Endpoint("168.63.129.16")


def versions_of(sent: list[Send]) -> list[str]:
    return [send.request.target.partition("api-version=")[2] for send in sent]


# Trying again


@pytest.mark.parametrize("status", [404, 408, 410, 429, 500, 502, 503, 599])
def test_a_fault_that_passes_is_waited_out(status: int) -> None:
    stage = Stage()
    assert stage.play(stage.session.document(), [says(status, b"x"), says(status), shown(SEEN)]) == SEEN
    assert len(stage.waits) == 2
    assert [report.fault.status for report in stage.reports] == [status, status]


@pytest.mark.parametrize("lost", [REFUSED, Lost("no route to host"), Lost("no answer within 10 s", timed_out=True)])
def test_a_service_that_is_not_there_is_waited_for(lost: Lost) -> None:
    stage = Stage()
    assert stage.play(stage.session.document(), [lost, lost, shown(EMPTY)]) == EMPTY
    assert stage.reports[0].fault.status is None


@pytest.mark.parametrize("body", [b"{", b"<html>", b"[]", b'{"error":"?"}', b'{"Events":[{}]}'])
def test_a_document_that_cannot_be_read_is_asked_for_again(body: bytes) -> None:
    stage = Stage()
    assert stage.play(stage.session.document(), [says(200, body), shown(SEEN)]) == SEEN
    assert "cannot be read" in stage.reports[0].fault.reason


@pytest.mark.parametrize("status", [301, 401, 403, 405, 413, 418])
def test_a_refusal_that_lasts_ends_the_call_with_the_services_words(status: int) -> None:
    stage = Stage()
    with pytest.raises(Refused, match=f"answered {status}: not you") as refused:
        stage.play(stage.session.document(), [says(status, b"not\r\nyou")])
    assert refused.value.fault.status == status
    assert stage.waits == []


def test_a_call_gives_up_when_its_patience_is_over() -> None:
    stage = Stage(manners=Manners(patience_seconds=60))
    before = stage.clock.seconds
    with pytest.raises(Unavailable, match="connection refused"):
        stage.play(stage.session.document(), lambda _: REFUSED)
    assert stage.clock.seconds <= before + 60
    assert len(stage.sent) > 5


def test_without_patience_there_is_one_try() -> None:
    stage = Stage(manners=Manners(patience_seconds=0))
    with pytest.raises(Unavailable):
        stage.play(stage.session.document(), lambda _: REFUSED)
    assert len(stage.sent) == 1


@given(seed=st.integers())
def test_waits_grow_to_a_limit_and_are_jittered_within_half_of_it(seed: int) -> None:
    manners = Manners(patience_seconds=100)
    stage = Stage(manners=manners, seed=seed)
    with pytest.raises(Unavailable):
        stage.play(stage.session.document(), lambda _: REFUSED)
    for tries, wait in enumerate(stage.waits):
        full = min(manners.first_backoff_seconds * 2**tries, manners.longest_backoff_seconds)
        assert full / 2 <= wait <= full


def test_two_guests_do_not_try_in_step() -> None:
    waits = []
    for seed in (1, 2):
        stage = Stage(seed=seed)
        stage.play(stage.session.document(), [REFUSED, REFUSED, shown(EMPTY)])
        waits.append(stage.waits)
    assert waits[0] != waits[1]


@pytest.mark.parametrize(("told", "least", "most"), [("20", 20, 20), ("9999", 60, 60), ("soon", 0, 1), ("-5", 0, 1)])
def test_what_the_service_says_about_trying_again_is_heeded(told: str, least: float, most: float) -> None:
    stage = Stage()
    stage.play(stage.session.document(), [says(429, THROTTLED.body, **{"retry-after": told}), shown(EMPTY)])
    assert least <= stage.waits[0] <= most


def test_a_kept_connection_that_the_server_had_closed_is_no_fault() -> None:
    stage = Stage()
    stale = Lost("connection reset", kept=True)
    assert stage.play(stage.session.document(), [stale, stale, shown(SEEN)]) == SEEN
    assert (stage.waits, stage.reports) == ([], [])


def test_connections_that_are_always_closed_are_a_fault_in_the_end() -> None:
    stage = Stage(manners=Manners(patience_seconds=0))
    with pytest.raises(Unavailable, match="reset"):
        stage.play(stage.session.document(), lambda _: Lost("connection reset", kept=True))
    assert len(stage.sent) < 10


# Timeouts


def test_the_first_answer_may_take_two_minutes_and_the_rest_may_not() -> None:
    stage = Stage()
    for _ in range(2):
        stage.play(stage.session.document(), [shown(EMPTY)])
    assert stage.sent[0].answer_seconds >= 120
    assert stage.sent[1].answer_seconds == Manners.timeout_seconds
    assert stage.sent[0].connect_seconds == Manners.connect_seconds


def test_a_refused_connection_does_not_use_up_the_patience_of_the_first_answer() -> None:
    stage = Stage()
    stage.play(stage.session.document(), [REFUSED, shown(EMPTY)])
    assert stage.sent[1].answer_seconds >= 120


def test_a_service_that_has_become_slow_is_given_more_time_up_to_the_first() -> None:
    slow = Lost("no answer", timed_out=True)
    stage = Stage(manners=Manners(patience_seconds=1e9))
    stage.play(stage.session.document(), [shown(EMPTY)])
    stage.play(stage.session.document(), [slow] * 6 + [shown(EMPTY)])
    stage.play(stage.session.document(), [shown(EMPTY)])
    assert [send.answer_seconds for send in stage.sent[1:]] == [10, 20, 40, 80, 130, 130, 130, 10]


# Versions


def a_host_that_knows(newest: str, refusal: Outcome) -> Callable[[Send], Outcome]:
    def answer(send: Send) -> Outcome:
        (version,) = versions_of([send])
        return shown(SEEN) if version <= newest else refusal

    return answer


@pytest.mark.parametrize(
    "refusal",
    [
        says(400, BAD_VERSION.body),
        says(400),
        says(400, b"BAD REQUEST"),
        says(404, b'{ "error": "Not found. Invalid version requested" }'),
    ],
    ids=["today", "empty", "bare", "2017"],
)
@pytest.mark.parametrize("newest", [version.date for version in API_VERSIONS[:-1]])
def test_a_host_that_does_not_know_the_newest_version_is_read_with_an_older(newest: str, refusal: Outcome) -> None:
    stage = Stage()
    host = a_host_that_knows(newest, refusal)
    assert stage.play(stage.session.document(), host) == SEEN
    assert stage.session.versions.current == newest
    (report,) = stage.reports
    assert newest in report.fault.reason
    tries = len(stage.sent)
    stage.play(stage.session.document(), host)
    assert versions_of(stage.sent[tries:]) == [newest]
    assert stage.waits == []


def test_the_newest_version_is_tried_again_each_hour() -> None:
    stage = Stage()
    host = a_host_that_knows("2019-08-01", says(400))
    stage.play(stage.session.document(), host)
    stage.clock.seconds += PREFER_AGAIN_SECONDS
    stage.play(stage.session.document(), lambda _: shown(SEEN))
    assert stage.session.versions.current == "2020-07-01"


def test_a_400_for_another_reason_is_a_refusal_at_once() -> None:
    stage = Stage()
    with pytest.raises(Refused, match="metadata header"):
        stage.play(stage.session.document(), lambda _: says(400, MISSING_HEADER.body))
    assert len(stage.sent) == 1


def test_a_host_that_knows_no_version_refuses() -> None:
    stage = Stage()
    with pytest.raises(Refused, match="api-version"):
        stage.play(stage.session.document(), lambda _: says(400, BAD_VERSION.body))
    assert versions_of(stage.sent) == [version.date for version in reversed(API_VERSIONS)]
    assert stage.session.versions.current == "2020-07-01"


def test_a_version_that_we_have_never_heard_of_can_be_asked_for() -> None:
    stage = Stage(manners=Manners(api_version="2031-01-01"))
    host = a_host_that_knows("2020-07-01", says(400))
    stage.play(stage.session.document(), host)
    assert versions_of(stage.sent) == ["2031-01-01", "2020-07-01"]


def test_an_approval_that_is_refused_is_not_tried_with_other_versions() -> None:
    stage = Stage()
    with pytest.raises(Refused, match="answered 400"):
        stage.play(stage.session.approve((ID,)), lambda _: says(400))
    assert len(stage.sent) == 1


def test_an_approval_falls_back_where_the_host_says_that_it_is_the_version() -> None:
    stage = Stage()
    host = a_host_that_knows("2019-01-01", says(400, BAD_VERSION.body))
    stage.play(stage.session.approve((ID,)), host)
    assert stage.session.versions.current == "2019-01-01"


# Places

EVERYWHERE = Places((Endpoint("10.0.0.3"), AZURE), dhcp=True)


def test_places_are_tried_in_order_and_the_first_that_answers_is_the_one() -> None:
    stage = Stage(places=EVERYWHERE)
    stage.play(stage.session.document(), [REFUSED, shown(SEEN)])
    stage.play(stage.session.document(), [REFUSED, shown(SEEN)])
    assert [send.endpoint for send in stage.sent] == [Endpoint("10.0.0.3"), AZURE, AZURE, AZURE]
    assert stage.session.line.endpoint == AZURE


@pytest.mark.parametrize("status", [400, 410, 429, 500])
def test_a_service_with_a_bad_day_is_still_the_service(status: int) -> None:
    stage = Stage(places=Places((AZURE,), dhcp=True))
    stage.play(stage.session.document(), [says(status), shown(SEEN)])
    assert not [action for action in stage.actions if isinstance(action, AskDhcp)]


def test_dhcp_is_asked_when_no_address_answers() -> None:
    stage = Stage(places=EVERYWHERE, dhcp=["168.63.129.16"])
    assert stage.play(stage.session.document(), lambda s: shown(SEEN) if s.endpoint == CLASSIC else REFUSED) == SEEN
    assert [send.endpoint for send in stage.sent] == [*EVERYWHERE.endpoints, CLASSIC]
    assert stage.session.line.endpoint == CLASSIC
    assert stage.waits == []


def test_the_service_of_another_cloud_is_not_ours() -> None:
    """A 404 may also be ours on a bad day, so it does not end the search and is believed when the search finds none."""
    stage = Stage(places=Places((AZURE,), dhcp=True), dhcp=["168.63.129.16"])
    stage.play(stage.session.document(), lambda s: shown(SEEN) if s.endpoint == CLASSIC else says(404))
    assert stage.session.line.endpoint == CLASSIC
    other = Stage(places=Places((AZURE,), dhcp=True), manners=Manners(patience_seconds=0))
    with pytest.raises(Unavailable, match="answered 404"):
        other.play(other.session.document(), lambda _: says(404, b"nothing here"))
    assert other.session.line.endpoint is None


def _questions(actions: list[Action]) -> int:
    return sum(isinstance(action, AskDhcp) for action in actions)


def test_the_network_is_not_asked_all_the_time() -> None:
    stage = Stage(places=EVERYWHERE, manners=Manners(patience_seconds=3 * DHCP_AGAIN_SECONDS))
    with pytest.raises(Unavailable, match=r"10\.0\.0\.3: .*refused; .*169\.254\.169\.254: .*refused; nobody told"):
        stage.play(stage.session.document(), lambda _: REFUSED)
    assert 2 <= _questions(stage.actions) <= 4


def test_a_user_who_may_not_use_dhcp_is_told_why_and_dhcp_is_not_tried_again() -> None:
    stage = Stage(places=EVERYWHERE, dhcp=[Lost("only root may", lasting=True)])
    with pytest.raises(Unavailable, match="only root may"):
        stage.play(stage.session.document(), lambda _: REFUSED)
    assert _questions(stage.actions) == 1


def test_an_address_that_the_network_told_and_nobody_has_is_no_place() -> None:
    stage = Stage(places=Places((AZURE,), dhcp=True), dhcp=["10.9.9.9"], manners=Manners(patience_seconds=0))
    with pytest.raises(Unavailable, match=r"10\.9\.9\.9, told by DHCP: connection refused"):
        stage.play(stage.session.document(), lambda _: REFUSED)
    assert stage.session.line.endpoint is None


def test_a_single_place_is_not_looked_for() -> None:
    stage = Stage()
    assert stage.session.line.endpoint == HERE
    stage.play(stage.session.document(), [says(404), shown(SEEN)])
    assert {send.endpoint for send in stage.sent} == {HERE}
