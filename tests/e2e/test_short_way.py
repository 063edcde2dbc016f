"""The short way of a poll: the same answers as the usual way, whatever comes first, next or never."""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from forewarn.core.commands import BindVm, DeleteVms, RestartVms
from forewarn.core.specs import Binding
from forewarn.web.faults import FaultKind, FaultRule
from forewarn.web.metadata.settings import Limits, MetadataSettings
from tests.e2e.metadata_region import Guest, MetadataRegion, approval, get, metadata_region, post
from tests.waiting import until

_LAST = get("web", "Connection: close")
_OWN = get(None)
_PIECES = (
    get("web"),
    get("web", "If-None-Match: 1"),
    get("web", "Prefer: wait=0", "If-None-Match: 2"),
    get("web", version="2019-01-01"),
    get("web", version="1999-01-01"),
    get("nobody"),
    get("web").replace(b"Metadata: true\r\n", b""),
    get("web").replace(b"GET", b"HEAD"),
    post("web", approval("00000000-0000-0000-0000-000000000000")),
    post("web", b"{"),
    b"\r\n",
)
_ENDS = (_LAST, b"nonsense\r\n\r\n", get("web")[:40], get("web").replace(b"HTTP/1.1", b"HTTP/1.0"), b"")


@pytest.fixture
def region() -> Iterator[MetadataRegion]:
    with metadata_region() as found:
        found.create("web")
        found.get("web")
        for words in (get("web"), _LAST):  # said once in full, so that the bytes are known
            guest = found.guest()
            guest.ask(words)
            guest.close()
        yield found


def _staying(region: MetadataRegion) -> int:
    """How many connections wait on the short way: nothing else shows it."""
    return region.do(lambda: len(region.face._lane._staying) if region.face._lane else -1)


def test_a_known_poll_that_is_the_last_is_answered_and_closed(region: MetadataRegion) -> None:
    guest = region.guest()
    guest.send(_LAST)
    assert guest.last_answer() == (200, "close")
    until(lambda: region.do(lambda: region.face.connections) == 0)


def test_a_connection_stays_for_the_next_poll_and_leaves_for_the_usual_way_with_other_words(
    region: MetadataRegion,
) -> None:
    guest = region.guest()
    answers = [guest.ask(get("web")).status]
    assert _staying(region) == 1
    answers += [guest.ask(get("web")).status, guest.ask(get("web", "Prefer: respond-async")).status]
    assert _staying(region) == 0
    event = region.restart("web")
    answers += [guest.ask(post("web", approval(event))).status, guest.ask(get("web")).status]
    assert answers == [200] * 5


def test_a_poll_with_something_new_in_it_goes_the_short_way_too(region: MetadataRegion) -> None:
    guest = region.guest()
    answers = [guest.ask(get("web", f"traceparent: 00-{number:032x}-01")) for number in range(5)]
    assert [answer.status for answer in answers] == [200] * 5
    assert _staying(region) == 1
    last = region.guest()
    last.send(get("web", "X-New: 1", "Connection: close"))
    assert last.last_answer() == (200, "close")


def test_what_a_poll_sees_is_the_newest_document(region: MetadataRegion) -> None:
    event = region.restart("web")
    for words in (get("web"), _LAST):
        assert event.encode() in region.guest().ask(words).body.lower() + region.guest().ask(words).body


def test_a_poll_after_its_vm_is_gone_is_not_found(region: MetadataRegion) -> None:
    guest = region.guest()
    guest.ask(get("web"))
    region.submit(DeleteVms(("web",), "seed"))
    until(lambda: "web" not in region.do(lambda: region.plane.region.vms))
    assert (guest.ask(get("web")).status, region.guest().ask(_LAST).status) == (404, 404)


def test_an_address_that_goes_to_another_vm_is_answered_for_that_vm(region: MetadataRegion) -> None:
    region.create("first", binding=Binding(address="127.0.0.9"))
    region.create("second")
    event = region.restart("web")  # of neither; only makes the region move
    kept = region.guest(source="127.0.0.9")
    assert [kept.ask(_OWN).status for _ in range(3)] == [200] * 3
    region.submit(BindVm("first", Binding()))
    region.submit(BindVm("second", Binding(address="127.0.0.9")))
    region.get("second")
    mine = region.restart("second")
    for guest in (kept, region.guest(source="127.0.0.9")):
        told = guest.ask(_OWN).body.upper()
        assert mine.upper().encode() in told
        assert event.upper().encode() not in told


def test_a_fault_rule_spoils_known_polls_too(region: MetadataRegion) -> None:
    kept = region.guest()
    kept.ask(get("web"))
    region.do(lambda: region.faults.add(FaultRule(FaultKind.GONE, times=2)))
    assert (kept.ask(get("web")).status, region.guest().ask(_LAST).status) == (410, 410)
    assert region.guest().ask(_LAST).status == 200


def test_connections_that_stay_count_as_their_vms_and_are_closed_when_they_say_nothing() -> None:
    limits = Limits(connections_each=3, idle_seconds=0.2)
    with metadata_region(MetadataSettings(limits=limits), host="0.0.0.0") as region:
        region.create("web", binding=Binding(address="127.0.0.9"))
        region.guest(source="127.0.0.9").ask(get(None, "Connection: close"))
        until(lambda: region.do(lambda: region.face.connections) == 0)
        guests = [region.guest(source="127.0.0.9") for _ in range(4)]
        told = [guest.ask(_OWN).status for guest in guests]
        assert told == [200, 200, 200, 503]
        assert [guest.rest() for guest in guests] == [b""] * 4


def test_polls_that_come_together_or_in_pieces_are_answered_in_order(region: MetadataRegion) -> None:
    guest = region.guest()
    guest.ask(get("web"))
    guest.send(get("web") + get("nobody") + get("web"))
    assert [guest.answer().status for _ in range(3)] == [200, 404, 200]
    slow = region.guest()
    for piece in (get("web")[:1], get("web")[1:50], get("web")[50:]):
        slow.send(piece)
        region.do(lambda: None)
    assert slow.answer().status == 200


def test_a_client_that_takes_no_answers_gets_each_of_them_once_when_it_does(region: MetadataRegion) -> None:
    guest = region.guest()
    guest.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    guest.ask(get("web"))
    asked = 0
    guest.socket.settimeout(0.5)
    with suppress(TimeoutError):  # nothing more is taken from us: the rest of one request may be on its way
        for _ in range(30_000):
            guest.send(get("web"))
            asked += 1
    guest.socket.shutdown(socket.SHUT_WR)
    guest.socket.settimeout(60.0)
    told = guest.rest()
    assert told.count(b"HTTP/1.1 200 OK") in (asked, asked + 1)
    assert len(set(re.findall(rb"x-ms-request-id: (\S+)", told))) == told.count(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("seed", range(12))
def test_both_ways_say_the_same_to_the_same_clients(seed: int) -> None:
    """The usual way, judged by all other tests, is the oracle of the short one."""
    assert _told_on(seed, short_way=True) == _told_on(seed, short_way=False)


def _told_on(seed: int, *, short_way: bool) -> list[bytes]:
    dice = random.Random(seed)
    told: list[bytes] = []
    with metadata_region(MetadataSettings(short_way=short_way)) as region:
        region.create("web", "other")
        region.get("web")
        for turn in range(20):
            if dice.random() < 0.15:
                region.submit(RestartVms((dice.choice(("web", "other")),), f"{seed} {turn}"))
            words = b"".join(dice.choices(_PIECES, (20, *[1] * (len(_PIECES) - 1)), k=dice.randint(1, 4)))
            told.append(_said(region.guest(), words + dice.choice(_ENDS), dice))
    return told


def _said(guest: Guest, words: bytes, dice: random.Random) -> bytes:
    """All that the server says until it closes, without what differs from one answer to the next."""
    while words:
        size = dice.choice((len(words), len(get("web")), dice.randint(1, 60)))
        guest.send(words[:size])
        words = words[size:]
    guest.socket.shutdown(socket.SHUT_WR)
    return re.sub(rb"(x-ms-request-id|Date): [^\r]+", rb"\1", guest.rest())
