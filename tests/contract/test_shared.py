"""What every store promises that several nodes share. A new one is one more row in ``SHARED``."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC

import pytest
from msgspec import structs

from forewarn.plane.ports import Entry, JournalFault
from tests.contract.shared_regions import LONG, SHARED, START, NodeJournal, SharedRegion, append, node
from tests.unit.stores.examples import ORIGIN, entries

EVERYTHING = 1_000_000


@pytest.fixture(params=SHARED)
def region(request: pytest.FixtureRequest) -> Iterator[SharedRegion]:
    made = SHARED[request.param](request)
    yield made
    made.close()


@pytest.fixture
def one(region: SharedRegion) -> NodeJournal:
    return region.join()


@pytest.fixture
def two(region: SharedRegion) -> NodeJournal:
    return region.join()


def _leads(journal: NodeJournal, willing: bool = True) -> bool:
    return journal.shared.await_news(0, 0, willing=willing).leads


# Writing together


def test_what_one_node_writes_the_other_reads_and_goes_on_from(one: NodeJournal, two: NodeJournal) -> None:
    append(one, entries(2, "one"))
    append(two, entries(3, "two"))
    append(one, entries(1, "three"))
    assert one.head() == two.head() == 6
    assert one.read(0, EVERYTHING) == two.read(0, EVERYTHING)
    assert [record.fact for record in two.about("vm/three-0", 9)] == [entries(1, "three")[0].fact]
    assert list(one.verify()) == list(two.verify()) == []


def test_a_transaction_first_reads_what_the_other_node_wrote_meanwhile(one: NodeJournal, two: NodeJournal) -> None:
    append(one, entries(2, "one"))
    with two.write() as transaction:
        assert transaction.since(0) == one.read(0, EVERYTHING)
        transaction.append(entries(1, "two"))
    with one.write() as transaction:
        assert [record.seq for record in transaction.since(2)] == [3]
        assert [record.seq for record in transaction.since(1)] == [2, 3]
        assert list(transaction.since(3)) == []


def test_a_transaction_first_reads_many_records_as_well_as_few(one: NodeJournal, two: NodeJournal) -> None:
    append(one, entries(1))
    two.read(0, EVERYTHING)
    append(one, entries(2500, "many"))
    with two.write() as transaction:
        assert [record.seq for record in transaction.since(1)] == list(range(2, 2502))


def test_nodes_that_write_at_the_same_time_lose_nothing(region: SharedRegion) -> None:
    blocks = 20

    def write(name: str) -> list[int]:
        """How many records of one's own were there at each turn."""
        journal, seen, own = region.join(), 0, list[int]()
        for number in range(blocks):
            with journal.write() as transaction:
                seen += len(transaction.since(seen))
                transaction.append([Entry(new.fact, name, ORIGIN) for new in entries(2, f"{name}-{number}")])
            own.append(sum(record.command == name for record in journal.read(0, EVERYTHING)))
        return own

    with ThreadPoolExecutor(3) as pool:
        owns = list(pool.map(write, ("one", "two", "three")))
    assert owns == [[2 * turn for turn in range(1, blocks + 1)]] * 3
    journal = region.join()
    assert [record.seq for record in journal.read(0, EVERYTHING)] == list(range(1, 6 * blocks + 1))
    assert list(journal.verify()) == []


def test_all_nodes_have_one_clock_and_it_is_the_stores(one: NodeJournal, two: NodeJournal) -> None:
    with one.write() as transaction:
        first = transaction.now
    second = two.shared.await_news(0, 0, willing=False).now
    with two.write() as transaction:
        third = transaction.now
    assert first is not None
    assert third is not None
    assert first <= second <= third
    assert first.tzinfo is second.tzinfo is third.tzinfo is UTC


def test_a_snapshot_is_there_for_every_node(one: NodeJournal, two: NodeJournal) -> None:
    append(one, entries(3))
    region, _ = one.load()
    one.snapshot(structs.replace(region, lone_vms_made=3), 3)
    loaded, seq = two.load()
    assert (loaded.lone_vms_made, seq) == (3, 3)


# News


def test_without_news_the_answer_is_what_the_store_says(one: NodeJournal) -> None:
    assert one.shared.await_news(0, 0, willing=False).head == 0
    append(one, entries(2))
    assert one.shared.await_news(2, 0, willing=False).head == 2
    assert one.shared.await_news(2, 0.01, willing=False).head == 2


def test_news_that_are_there_already_are_not_waited_for(one: NodeJournal, two: NodeJournal) -> None:
    append(one, entries(2))
    assert two.shared.await_news(1, LONG, willing=False).head == 2


def test_a_node_that_waits_for_news_wakes_when_another_writes(one: NodeJournal, two: NodeJournal) -> None:
    two.shared.await_news(0, 0, willing=False)
    with ThreadPoolExecutor(1) as pool:
        for head in range(1, 6):
            waiting = pool.submit(two.shared.await_news, head - 1, LONG, willing=False)
            append(one, entries(1))
            assert waiting.result().head == head


def test_closing_ends_the_waiting_for_news(one: NodeJournal) -> None:
    one.shared.await_news(0, 0, willing=False)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(one.shared.await_news, 0, LONG, willing=True)
        one.close()
        assert waiting.exception() is None or isinstance(waiting.exception(), JournalFault)


# Leading


def test_one_node_leads_and_goes_on_leading(one: NodeJournal, two: NodeJournal) -> None:
    assert [_leads(one), _leads(two), _leads(one), _leads(two)] == [True, False, True, False]


def test_an_unwilling_node_does_not_lead_and_gives_the_lead_up(one: NodeJournal, two: NodeJournal) -> None:
    assert not _leads(one, willing=False)
    assert _leads(one)
    assert not _leads(one, willing=False)
    assert _leads(two)
    assert not _leads(one)


def test_the_lead_passes_on_when_its_holder_closes(one: NodeJournal, two: NodeJournal) -> None:
    assert _leads(one)
    one.close()
    assert _leads(two)


def test_the_lead_passes_on_when_its_holder_withdraws(one: NodeJournal, two: NodeJournal) -> None:
    assert _leads(one)
    one.shared.withdraw("id of one")
    assert _leads(two)
    assert not _leads(one)


def test_a_node_that_withdraws_while_waiting_for_news_does_not_take_the_lead_again(
    one: NodeJournal, two: NodeJournal
) -> None:
    assert _leads(one)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(one.shared.await_news, 0, LONG, willing=True)
        one.shared.withdraw("id of one")
        assert not waiting.result().leads
    assert _leads(two)


def test_a_leader_that_is_not_heard_for_ten_seconds_has_lost_the_lead(
    region: SharedRegion, one: NodeJournal, two: NodeJournal
) -> None:
    assert _leads(one)
    region.let_pass(9)
    assert not _leads(two)
    assert _leads(one)
    region.let_pass(9)
    assert not _leads(two)
    region.let_pass(3)
    assert _leads(two)
    assert not _leads(one)


def test_a_leader_that_was_away_leads_on_if_nobody_else_was_willing(region: SharedRegion, one: NodeJournal) -> None:
    assert _leads(one)
    region.let_pass(100)
    assert _leads(one)


# Editing


def test_one_node_edits_at_a_time(one: NodeJournal, two: NodeJournal) -> None:
    inside = list[str]()

    def edit(journal: NodeJournal, name: str) -> None:
        for _ in range(25):
            with journal.shared.editing():
                inside.append(name)
                assert len(inside) == 1
                inside.remove(name)

    with ThreadPoolExecutor(2) as pool:
        for done in (pool.submit(edit, one, "one"), pool.submit(edit, two, "two")):
            done.result()


def test_an_exception_while_editing_lets_the_next_one_in(one: NodeJournal, two: NodeJournal) -> None:
    def fail() -> None:
        with one.shared.editing():
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - it has no message
        fail()
    with two.shared.editing(), ThreadPoolExecutor(1) as pool:
        pool.submit(append, one, entries(1)).result()  # who only writes does not wait for who edits
    assert two.head() == 1


# Nodes


def test_nodes_are_listed_by_name_as_they_told_and_as_the_store_saw_them(one: NodeJournal, two: NodeJournal) -> None:
    assert one.shared.nodes() == []
    two.shared.announce(node("b \0 'quoted'", draining=True, seq=9))
    one.shared.announce(node("a", leads=True, started_at=START))
    listed = two.shared.nodes()
    assert [structs.replace(found, seen_at=START) for found in listed] == [
        node("a", leads=True),
        node("b \0 'quoted'", draining=True, seq=9),
    ]
    now = one.shared.await_news(0, 0, willing=False).now
    assert listed[1].seen_at <= listed[0].seen_at <= now


def test_the_last_thing_a_node_told_counts(one: NodeJournal) -> None:
    one.shared.announce(node("a", seq=1))
    one.shared.announce(node("a", seq=2))
    assert [found.seq for found in one.shared.nodes()] == [2]


def test_a_node_that_withdraws_is_not_listed_any_more(one: NodeJournal, two: NodeJournal) -> None:
    one.shared.announce(node("a"))
    two.shared.announce(node("b"))
    one.shared.withdraw("id of a")
    one.shared.withdraw("id of nobody")
    assert [found.name for found in two.shared.nodes()] == ["b"]


def test_a_silent_node_is_listed_for_a_while_and_then_forgotten(region: SharedRegion, one: NodeJournal) -> None:
    one.shared.announce(node("a"))
    region.let_pass(45)
    assert [found.name for found in one.shared.nodes()] == ["a"]
    region.let_pass(45)
    assert one.shared.nodes() == []
    one.shared.announce(node("b"))
    assert [found.name for found in one.shared.nodes()] == ["b"]
