"""Readers that wait for news instead of polling."""

from __future__ import annotations

import json
import socket
import struct
from datetime import timedelta

import pytest

from forewarn.core.causes import Cause
from forewarn.core.commands import CancelEvents, DeallocateVms, DeleteVms, MaintainHosts, StartVms
from forewarn.core.rules import Rules
from forewarn.core.specs import ScopeKind, VmSpec
from forewarn.web.metadata.settings import Limits, MetadataSettings
from tests.e2e.metadata_region import Guest, MetadataRegion, approval, get, metadata_region

_PAIR = VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="front")


def _wait(name: str, tag: int, seconds: int = 100) -> bytes:
    return get(name, f"If-None-Match: {tag}", f"Prefer: wait={seconds}")


def _waiting(region: MetadataRegion, name: str, tag: int, count: int = 1) -> list[Guest]:
    """Guests whose question is with the server: a request that came after theirs has been answered."""
    guests = [region.guest() for _ in range(count)]
    for guest in guests:
        guest.send(_wait(name, tag))
    region.get(name)
    return guests


def test_a_change_is_told_at_once() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        (guest,) = _waiting(region, "web", 1)
        event = region.restart("web")
        answer = guest.answer()
    assert (answer.status, answer.incarnation()) == (200, 2)
    assert answer.fields["preference-applied"] == "wait=100"
    assert json.loads(answer.body)["Events"][0]["EventId"] == event


def test_every_waiting_reader_of_the_scope_is_answered_and_no_reader_of_another() -> None:
    with metadata_region() as region:
        region.create("front-0", "front-1", spec=_PAIR)
        region.create("other")
        for name in ("front-0", "other"):
            region.get(name)
        guests = [*_waiting(region, "front-0", 1, 5), *_waiting(region, "front-1", 1, 5)]
        (elsewhere,) = _waiting(region, "other", 1)
        region.restart("front-0")
        assert [guest.answer().incarnation() for guest in guests] == [2] * 10
        region.restart("other")
        assert elsewhere.answer().incarnation() == 2


def test_each_step_of_an_event_is_news() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        guest = region.guest()
        guest.send(_wait("web", 1))
        event = region.restart("web")
        assert guest.answer().incarnation() == 2
        guest.send(_wait("web", 2))
        region.post("web", approval(event))
        assert guest.answer().incarnation() == 3
        guest.send(_wait("web", 3))
        region.advance(timedelta(hours=1))
        assert guest.answer().incarnation() == 4
        guest.send(_wait("web", 4))
        second = region.restart("web", "second")
        assert guest.answer().incarnation() == 5
        guest.send(_wait("web", 5))
        region.submit(CancelEvents((second,), "changed our mind"))
        assert guest.answer().incarnation() == 6


def test_an_event_that_names_a_vm_less_is_news_for_those_that_it_still_names() -> None:
    """One VM of it is started at another host. Nothing else happens in the scope then that could wake its readers."""
    with metadata_region(rules=Rules(update_domains=1, fault_domains=1, vms_per_host=2)) as region:
        region.create("front-0", "front-1", spec=_PAIR)
        region.get("front-0")
        region.submit(MaintainHosts(("host-0",), Cause.REBOOT, "work"))
        region.submit(DeallocateVms(("front-0",)))
        region.create("other")
        known = region.get("front-1").incarnation()
        (guest,) = _waiting(region, "front-1", known)
        region.submit(StartVms(("front-0",)))
        answer = guest.answer()
        assert answer.incarnation() == known + 1
        assert json.loads(answer.body)["Events"][0]["Resources"] == ["front-1"]


def test_a_reader_that_is_behind_is_answered_at_once() -> None:
    with metadata_region() as region:
        region.create("web")
        answer = region.get("web", "If-None-Match: 0", "Prefer: wait=100")
    assert (answer.status, answer.fields["preference-applied"]) == (200, "wait=100")


def test_a_reader_that_names_no_document_does_not_wait() -> None:
    with metadata_region() as region:
        region.create("web")
        answer = region.get("web", "Prefer: wait=100")
    assert answer.status == 200
    assert "preference-applied" not in answer.fields


@pytest.mark.parametrize(
    "preference", ["wait=0", "respond-async, wait=0", "wait=0; x=y", 'Wait = "0"', "wait=0, wait=9"]
)
def test_a_wait_that_is_over_ends_with_no_news(preference: str) -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        answer = region.get("web", "If-None-Match: 1", f"Prefer: {preference}")
    assert (answer.status, answer.fields["preference-applied"]) == (304, "wait=0")


@pytest.mark.parametrize("preference", ["wait", "wait=", "wait=soon", "wait=-1", "waiting=5", "return=minimal"])
def test_a_preference_that_is_not_understood_is_ignored(preference: str) -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        answer = region.get("web", "If-None-Match: 1", f"Prefer: {preference}")
    assert answer.status == 304
    assert "preference-applied" not in answer.fields


def test_no_reader_waits_longer_than_the_limit() -> None:
    with metadata_region(MetadataSettings(limits=Limits(wait_seconds=1))) as region:
        region.create("web")
        region.get("web")
        answer = region.get("web", "If-None-Match: 1", "Prefer: wait=100000")
    assert (answer.status, answer.fields["preference-applied"]) == (304, "wait=1")


def test_the_longest_wait_is_two_minutes() -> None:
    with metadata_region() as region:
        region.create("web")
        answer = region.get("web", "If-None-Match: 0", "Prefer: wait=121")
    assert answer.fields["preference-applied"] == "wait=120"


@pytest.mark.parametrize("abruptly", [False, True])
def test_a_reader_that_hangs_up_is_forgotten(abruptly: bool) -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        for guest in _waiting(region, "web", 1, 20):
            if abruptly:
                guest.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            guest.close()
        region.restart("web")
        assert region.get("web").incarnation() == 2


def test_a_reader_that_has_said_all_does_not_wait() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        guest = region.guest()
        guest.send(_wait("web", 1))
        guest.socket.shutdown(socket.SHUT_WR)
        assert guest.answer().status == 304
        assert guest.rest() == b""


def test_what_was_asked_behind_a_wait_is_answered_after_it() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        guest = region.guest()
        guest.send(_wait("web", 1) + get("web") * 100)
        region.restart("web")
        assert [guest.answer().incarnation() for _ in range(101)] == [2] * 101


def test_a_vm_that_is_deleted_while_it_waits_is_told_so() -> None:
    with metadata_region() as region:
        region.create("web", "other")
        region.get("web")
        (guest,) = _waiting(region, "web", 1)
        region.submit(DeleteVms(("web",), "seed"))
        assert guest.answer().status == 404


def test_a_scope_that_is_disabled_while_a_reader_waits_is_enabled_anew() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        region.restart("web")
        region.advance(timedelta(hours=1))
        (guest,) = _waiting(region, "web", 4)
        region.advance(timedelta(hours=30))
        assert guest.answer().incarnation() == 5
        assert region.get("web").incarnation() == 5


def test_a_thousand_readers_are_told() -> None:
    with metadata_region() as region:
        region.create("web")
        region.get("web")
        guests = _waiting(region, "web", 1, 1000)
        region.restart("web")
        assert {guest.answer().incarnation() for guest in guests} == {2}
