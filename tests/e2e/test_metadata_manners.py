"""The manners of the real service for those who want them: throttle, slow first read, late news; faults on demand."""

from __future__ import annotations

import json
import random
from datetime import timedelta

import pytest

from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.web.faults import FaultKind, FaultRule
from forewarn.web.metadata.settings import MetadataSettings
from tests.e2e.metadata_region import MetadataRegion, approval, get, metadata_region, post, request

_SECONDS = timedelta(seconds=1)


# Throttle


def test_a_vm_that_asks_too_often_is_throttled() -> None:
    with metadata_region(MetadataSettings(throttle_per_second=0.001)) as region:
        region.create("web", "other")
        guest = region.guest()
        assert guest.ask(get("web")).status == 200
        answer = guest.ask(get("web"))
        assert (answer.status, answer.body) == (429, b"Throttle Result: Too Many Requests")
        assert answer.fields["content-type"] == "text/plain; charset=utf-8"
        assert guest.ask(get("other")).status == 200
        assert guest.ask(request("GET", "/vm/web/metadata/versions", "Metadata: true")).status == 429
        assert guest.ask(request("GET", "/vm/web/metadata/instance", "Metadata: true")).status == 400
        before = region.plane.seq
        assert guest.ask(post("web", b"{")).status == 429
        assert region.plane.seq == before


# The first read


def test_the_first_read_is_held_back_and_so_are_reads_in_between() -> None:
    with metadata_region(MetadataSettings(first_read_delay=60 * _SECONDS)) as region:
        region.create("front-0", "front-1", spec=VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="front"))
        first, second = region.guest(), region.guest()
        first.send(get("front-0"))
        _until_enabled(region, "availability-set/front")
        second.send(get("front-1"))
        region.restart("front-0")
        region.advance(59 * _SECONDS)
        first.socket.settimeout(0.01)
        with pytest.raises(TimeoutError):
            first.answer()
        first.socket.settimeout(20)
        region.advance(1 * _SECONDS)
        assert [first.answer().incarnation(), second.answer().incarnation()] == [2, 2]
        assert region.get("front-1").incarnation() == 2


def test_a_reader_that_hangs_up_during_the_first_read_has_enabled_the_scope() -> None:
    with metadata_region(MetadataSettings(first_read_delay=60 * _SECONDS)) as region:
        region.create("web")
        guest = region.guest()
        guest.send(get("web"))
        _until_enabled(region, "vm/web")
        guest.close()
        region.advance(60 * _SECONDS)
        assert region.get("web").incarnation() == 1


# Late news


def test_a_change_shows_when_the_visibility_lag_is_over() -> None:
    with metadata_region(MetadataSettings(visibility_lag=30 * _SECONDS)) as region:
        region.create("web")
        assert region.get("web").incarnation() == 1
        event = region.restart("web")
        region.advance(29 * _SECONDS)
        assert json.loads(region.get("web").body) == {"DocumentIncarnation": 1, "Events": []}
        region.advance(1 * _SECONDS)
        assert json.loads(region.get("web").body)["Events"][0]["EventStatus"] == "Scheduled"
        region.post("web", approval(event))
        assert region.get("web").incarnation() == 2
        region.advance(30 * _SECONDS)
        assert json.loads(region.get("web").body)["Events"][0]["EventStatus"] == "Started"


def test_a_waiting_reader_is_answered_when_the_visibility_lag_is_over() -> None:
    with metadata_region(MetadataSettings(visibility_lag=30 * _SECONDS)) as region:
        region.create("web")
        region.get("web")
        guest = region.guest()
        guest.send(get("web", "If-None-Match: 1", "Prefer: wait=100"))
        region.restart("web")
        region.advance(29 * _SECONDS)
        guest.socket.settimeout(0.01)
        with pytest.raises(TimeoutError):
            guest.answer()
        guest.socket.settimeout(20)
        region.advance(1 * _SECONDS)
        assert guest.answer().incarnation() == 2


def test_a_server_may_close_before_a_change_has_become_visible() -> None:
    with metadata_region(MetadataSettings(visibility_lag=30 * _SECONDS)) as region:
        region.create("web")
        region.get("web")
        region.restart("web")
        assert region.get("web").incarnation() == 1


# Faults on demand


@pytest.mark.parametrize(
    ("kind", "status", "body"),
    [
        (FaultKind.GONE, 410, b"ResourceNotAvailable"),
        (FaultKind.THROTTLED, 429, b"Throttle Result: Too Many Requests"),
        (FaultKind.ERROR, 500, b"Internal server error"),
        (FaultKind.EMPTY, 200, b""),
    ],
)
def test_the_next_answers_of_a_vm_go_wrong_and_then_no_more(kind: FaultKind, status: int, body: bytes) -> None:
    with metadata_region() as region:
        region.create("web", "other")
        guest = region.guest()
        right = [guest.ask(get("web")) for _ in range(3)][-1]
        rule = region.do(lambda: region.faults.add(FaultRule(kind=kind, vms=("WEB",), times=2)))
        assert guest.ask(get("other")).status == 200
        wrong = [guest.ask(get("web")) for _ in range(2)]
        assert [answer.status for answer in wrong] == [status, status]
        assert all(body in answer.body and answer.body != right.body for answer in wrong)
        assert guest.ask(get("web")).body == right.body
        assert region.do(region.faults.list) == ()
        assert region.do(lambda: region.faults.clear(rule.id)) == 0


def test_a_fault_takes_nothing_from_a_request_that_is_wrong_anyway() -> None:
    with metadata_region() as region:
        region.create("web")
        region.do(lambda: region.faults.add(FaultRule(kind=FaultKind.GONE, times=1)))
        assert region.get("web", "X-Forwarded-For: x").status == 400
        assert region.get("web", version="latest").status == 400
        assert region.get("web").status == 410


def test_an_approval_that_meets_a_fault_has_not_happened() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        region.do(lambda: region.faults.add(FaultRule(kind=FaultKind.ERROR, times=1)))
        before = region.plane.seq
        assert region.post("web", approval(event)).status == 500
        assert region.plane.seq == before
        assert region.post("web", approval(event)).status == 200


def test_an_approval_is_never_answered_with_an_empty_success_that_is_none() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        region.do(lambda: region.faults.add(FaultRule(kind=FaultKind.EMPTY)))
        assert region.post("web", approval(event)).status == 200
        assert region.get("web").body == b""
        region.do(region.faults.clear)
        assert region.get("web").incarnation() == 3


def test_a_dropped_connection_has_no_answer() -> None:
    with metadata_region() as region:
        region.create("web")
        region.do(lambda: region.faults.add(FaultRule(kind=FaultKind.DROP, times=1)))
        guest = region.guest()
        guest.send(get("web") * 2)
        assert guest.rest() == b""
        assert region.get("web").status == 200


def test_a_delayed_answer_is_right_and_keeps_its_place() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        event = region.restart("web")
        region.do(lambda: region.faults.add(FaultRule(kind=FaultKind.DELAY, times=2, delay_seconds=0.01)))
        guest = region.guest()
        guest.send(post("web", approval(event)) + get("web") + get("web"))
        assert [guest.answer().body == b"", guest.answer().incarnation(), guest.answer().incarnation()] == [True, 3, 3]


def test_a_share_of_the_answers_goes_wrong_by_the_dice_of_the_region() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        region.do(lambda: region.faults.add(FaultRule(kind=FaultKind.GONE, share=0.3)))
        guest = region.guest()
        statuses = [guest.ask(get("web")).status for _ in range(50)]
        dice = random.Random(7)
        assert statuses == [410 if dice.random() < 0.3 else 200 for _ in range(50)]
        (rule,) = region.do(region.faults.list)
    assert rule.answered == statuses.count(410)


def test_a_skipped_incarnation_is_never_seen() -> None:
    with metadata_region() as region:
        region.create("web", "other")
        region.get("web")
        region.do(lambda: region.faults.add(FaultRule(kind=FaultKind.SKIP, vms=("web",), times=1)))
        event = region.restart("web")
        guest = region.guest()
        assert [guest.ask(get("web")).incarnation() for _ in range(3)] == [1, 1, 1]
        region.post("web", approval(event))
        assert [guest.ask(get("web")).incarnation() for _ in range(3)] == [3, 3, 3]
        region.advance(timedelta(hours=1))
        assert guest.ask(get("web")).incarnation() == 4
        assert region.do(region.faults.list) == ()


def test_a_skipped_incarnation_does_not_wake_a_waiting_reader() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        region.do(lambda: region.faults.add(FaultRule(kind=FaultKind.SKIP, times=1)))
        guest = region.guest()
        guest.send(get("web", "If-None-Match: 1", "Prefer: wait=100"))
        event = region.restart("web")
        assert region.get("web").incarnation() == 1
        region.post("web", approval(event))
        assert guest.answer().incarnation() == 3


def test_a_cleared_skip_shows_everything_again() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        region.do(lambda: region.faults.add(FaultRule(kind=FaultKind.SKIP)))
        region.restart("web")
        assert region.get("web").incarnation() == 1
        assert region.do(region.faults.clear) == 1
        assert region.get("web").incarnation() == 2


def _until_enabled(region: MetadataRegion, scope: str) -> None:
    """The request is on its way through the server; every turn of its loop takes it further."""
    while (found := region.do(lambda: region.plane.region.scopes.get(scope))) is None or found.enabled_at is None:
        pass
