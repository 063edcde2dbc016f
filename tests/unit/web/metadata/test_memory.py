"""What is remembered of requests, and of whom."""

from __future__ import annotations

from forewarn.web.metadata.answering.cache import Reply
from forewarn.web.metadata.answering.outcomes import RememberedAnswer
from forewarn.web.metadata.answering.recall import Recall
from forewarn.web.metadata.asking.callers import Caller, Entrance
from forewarn.web.metadata.asking.questions import ReadDocument
from forewarn.wire import versions
from tests.unit.web.metadata.story import Story

_DESK = Caller.at(Entrance(loopback=True), "127.0.0.1", "127.0.0.1")


def known(caller: Caller = _DESK) -> RememberedAnswer:
    story = Story()
    story.create("a")
    version = versions.find("2020-07-01")
    assert version is not None
    return RememberedAnswer(ReadDocument(story.vm("a"), "a", version), caller, 1, Reply(b"", b""))


def test_the_same_bytes_from_the_same_addresses_are_known() -> None:
    memory, found = Recall(), known()
    memory.keep(_DESK, b"GET a", found)
    again = Caller.at(Entrance(loopback=True), "127.0.0.1", "127.0.0.1")
    assert memory.recall(again, b"GET a") is found
    assert memory.recall(again, b"GET b") is None


def test_the_same_bytes_from_another_address_are_another_question() -> None:
    memory = Recall()
    memory.keep(_DESK, b"GET a", known())
    for peer, local in (("127.0.0.2", "127.0.0.1"), ("127.0.0.1", "127.0.0.2")):
        assert memory.recall(Caller.at(Entrance(loopback=True), peer, local), b"GET a") is None


def test_of_callers_that_cannot_name_themselves_nothing_is_kept() -> None:
    memory = Recall()
    for entrance in (Entrance(), Entrance(netns="web-0"), Entrance(loopback=True, netns="web-0")):
        caller = Caller.at(entrance, "10.0.0.4", "10.0.0.1")
        memory.keep(caller, b"GET a", known(caller))
        assert memory.recall(caller, b"GET a") is None
    assert len(memory) == 0


def test_a_memory_that_is_full_forgets_the_oldest() -> None:
    memory = Recall(most=3)
    for number in range(5):
        memory.keep(_DESK, b"GET %d" % number, known())
    assert len(memory) == 3
    assert [number for number in range(5) if memory.recall(_DESK, b"GET %d" % number)] == [2, 3, 4]


def test_a_long_request_is_not_kept() -> None:
    memory = Recall()
    memory.keep(_DESK, b"GET a".ljust(513), known())
    assert len(memory) == 0
