"""What is remembered of requests, and of whom."""

from __future__ import annotations

from forewarn.web.answers import Count
from forewarn.web.metadata.answering.cache import Reply
from forewarn.web.metadata.answering.outcomes import RememberedAnswer
from forewarn.web.metadata.answering.recall import Recall
from forewarn.web.metadata.asking.callers import Caller, Entrance
from forewarn.web.metadata.asking.questions import ReadDocument
from forewarn.web.metadata.settings import Limits
from forewarn.wire import versions
from tests.unit.web.metadata.story import Story

_DESK = Caller.at(Entrance(loopback=True), "127.0.0.1", "127.0.0.1")


def known(caller: Caller = _DESK) -> RememberedAnswer:
    story = Story()
    story.create("a")
    version = versions.find("2020-07-01")
    assert version is not None
    return RememberedAnswer(ReadDocument(story.vm("a"), "a", version), "a", caller, 1, Reply(b"", b""), Count())


def test_the_same_bytes_from_the_same_addresses_are_known() -> None:
    memory, found = Recall(Limits()), known()
    memory.keep(_DESK, b"GET a", found)
    again = Caller.at(Entrance(loopback=True), "127.0.0.1", "127.0.0.1")
    assert memory.recall(again, b"GET a") is found
    assert memory.recall(again, b"GET b") is None


def test_the_same_bytes_from_another_address_are_another_question() -> None:
    memory = Recall(Limits())
    memory.keep(_DESK, b"GET a", known())
    for peer, local in (("127.0.0.2", "127.0.0.1"), ("127.0.0.1", "127.0.0.2")):
        assert memory.recall(Caller.at(Entrance(loopback=True), peer, local), b"GET a") is None


def test_a_vm_that_is_known_by_its_network_has_four_requests_of_its_own() -> None:
    memory = Recall(Limits(), most=3)
    quiet, busy = (Caller.at(Entrance(), peer, "10.0.0.1") for peer in ("10.0.0.4", "10.0.0.5"))
    memory.keep(quiet, b"GET a", known(quiet))
    for number in range(100):
        memory.keep(busy, b"GET %d" % number, known(busy))
    assert memory.recall(quiet, b"GET a") is not None
    assert [number for number in range(100) if memory.recall(busy, b"GET %d" % number)] == [96, 97, 98, 99]
    assert memory.recall(quiet, b"GET 99") is None
    assert len(memory) == 5


def test_of_too_many_vms_the_oldest_is_forgotten() -> None:
    memory = Recall(Limits(), most=3)
    callers = [Caller.at(Entrance(netns=f"web-{number}"), "", "") for number in range(5)]
    for caller in callers:
        for number in range(4):
            memory.keep(caller, b"GET %d" % number, known(caller))
    assert [caller in callers[2:] for caller in callers] == [bool(memory.recall(each, b"GET 0")) for each in callers]
    assert len(memory) == 12


def test_of_many_callers_of_this_machine_the_oldest_makes_room_and_what_is_known_already_needs_none() -> None:
    memory = Recall(Limits(), most=3)
    callers = [Caller.at(Entrance(loopback=True), f"127.0.0.{number}", "127.0.0.1") for number in range(1, 4)]
    for caller in callers:
        memory.keep(caller, b"GET a", known(caller))
    memory.keep(callers[0], b"GET a", known(callers[0]))
    assert all(memory.recall(each, b"GET a") for each in callers)
    memory.keep(_DESK, b"GET b", known())
    assert [bool(memory.recall(each, b"GET a")) for each in callers] == [False, True, True]
    assert len(memory) == 3


def test_what_is_known_of_a_caller_is_seen_where_its_last_request_was_kept() -> None:
    memory, first, second = Recall(Limits()), known(), known()
    here = memory.keep(_DESK, b"GET a", first)
    memory.keep(_DESK, b"GET b", second)
    assert (here.get(b"GET a"), here.get(b"GET b"), here.get(b"GET c")) == (first, second, None)


def test_a_memory_that_is_full_forgets_the_oldest() -> None:
    memory = Recall(Limits(), most=3)
    for number in range(5):
        memory.keep(_DESK, b"GET %d" % number, known())
    assert len(memory) == 3
    assert [number for number in range(5) if memory.recall(_DESK, b"GET %d" % number)] == [2, 3, 4]


def test_a_long_request_is_not_kept() -> None:
    memory = Recall(Limits())
    memory.keep(_DESK, b"GET a".ljust(513), known())
    assert len(memory) == 0
