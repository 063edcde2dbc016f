"""What may befall the nodes of a region in memory. What it promises otherwise is in ``tests/contract``."""

from __future__ import annotations

import pytest

from forewarn.plane.ports import Diverged, Entry, JournalFault, Uncertain
from forewarn.stores.shared_memory import MemoryNodeJournal, SharedMemory
from tests.unit.stores.examples import AT, entries

EVERYTHING = 1_000_000


@pytest.fixture
def region() -> SharedMemory:
    return SharedMemory(lambda: AT, patience_seconds=0)


@pytest.fixture
def one(region: SharedMemory) -> MemoryNodeJournal:
    return region.join()


@pytest.fixture
def two(region: SharedMemory) -> MemoryNodeJournal:
    return region.join()


def _append(journal: MemoryNodeJournal, new: list[Entry]) -> None:
    with journal.write() as transaction:
        transaction.append(new)


def test_a_node_that_is_cut_off_can_do_nothing_and_the_others_go_on(
    one: MemoryNodeJournal, two: MemoryNodeJournal
) -> None:
    one.cut_off = "The network is away."
    for call in (
        one.head,
        one.load,
        one.nodes,
        lambda: one.read(0, 1),
        lambda: _append(one, entries(1)),
        lambda: one.await_news(0, 0, willing=True),
        lambda: one.editing().__enter__(),
    ):
        with pytest.raises(JournalFault, match="The network is away"):
            call()
    _append(two, entries(1))
    one.cut_off = ""
    assert one.head() == 1


def test_a_node_that_is_cut_off_in_the_middle_of_a_block_has_written_nothing(one: MemoryNodeJournal) -> None:
    def write() -> None:
        with one.write() as transaction:
            transaction.append(entries(1))
            one.cut_off = "The network is away."

    with pytest.raises(JournalFault):
        write()
    one.cut_off = ""
    assert one.head() == 0


def test_a_commit_whose_answer_is_lost_is_there(one: MemoryNodeJournal, two: MemoryNodeJournal) -> None:
    one.answers_lost = True
    with pytest.raises(Uncertain):
        _append(one, entries(1))
    assert two.head() == 1


def test_a_lead_that_is_taken_away_goes_to_the_next_who_asks(
    region: SharedMemory, one: MemoryNodeJournal, two: MemoryNodeJournal
) -> None:
    assert one.await_news(0, 0, willing=True).leads
    region.depose()
    assert two.await_news(0, 0, willing=True).leads
    assert not one.await_news(0, 0, willing=True).leads


def test_a_node_that_has_seen_lost_records_is_told_so_and_others_go_on(
    region: SharedMemory, one: MemoryNodeJournal, two: MemoryNodeJournal
) -> None:
    _append(one, entries(3))
    two.read(0, 2)
    region.lose(1)
    with pytest.raises(Diverged, match="has lost record 3"):
        one.read(0, EVERYTHING)
    assert len(two.read(0, EVERYTHING)) == 2
    _append(two, entries(1, "other"))
    with pytest.raises(Diverged):
        one.head()


def test_an_edit_that_has_to_wait_too_long_is_refused(one: MemoryNodeJournal, two: MemoryNodeJournal) -> None:
    with one.editing(), pytest.raises(JournalFault, match="Another node has been editing"):
        two.editing().__enter__()
