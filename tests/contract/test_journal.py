"""What every journal promises. A new store is one more row in ``STORES``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forewarn.core.facts import VmCreated
from forewarn.core.folding.evolve import evolve
from forewarn.core.looking.subjects import subject_of
from forewarn.core.region import Region
from forewarn.core.specs import VmSpec
from forewarn.plane.ports import Entry, Journal, JournalFault, Origin, Record
from forewarn.stores.memory import MemoryJournal
from forewarn.stores.postgres.journal import PostgresJournal
from forewarn.stores.shared_memory import SharedMemory
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.postgres import Server
from tests.unit.stores.examples import AT, EVERY_FACT, ORIGIN, entries
from tests.unit.stores.story import story

EVERYTHING = 1_000_000


class Store:
    """One journal, and the way to come back to it as after a restart."""

    def __init__(self, reopen: Callable[[], Journal]) -> None:
        self._reopen = reopen
        self.journal = reopen()

    def restart(self) -> Journal:
        self.journal.close()
        self.journal = self._reopen()
        return self.journal


def _memory(_: pytest.FixtureRequest) -> Store:
    only = MemoryJournal()
    return Store(lambda: only)


def _sqlite(request: pytest.FixtureRequest) -> Store:
    directory: Path = request.getfixturevalue("tmp_path")
    return Store(lambda: SqliteJournal(directory / "data"))


def _shared_memory(_: pytest.FixtureRequest) -> Store:
    return Store(SharedMemory(lambda: AT).join)


def _postgres(request: pytest.FixtureRequest) -> Store:
    server: Server = request.getfixturevalue("postgres")
    url = server.region()
    return Store(lambda: PostgresJournal(url))


STORES = {"memory": _memory, "shared-memory": _shared_memory, "sqlite": _sqlite, "postgres": _postgres}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    made = STORES[request.param](request)
    yield made
    made.journal.close()


@pytest.fixture
def journal(store: Store) -> Journal:
    return store.journal


def _append(journal: Journal, new: list[Entry]) -> None:
    with journal.write() as transaction:
        transaction.append(new)


def _records(new: list[Entry], first: int = 1) -> list[Record]:
    return [Record(seq, entry.fact, entry.command, entry.origin) for seq, entry in enumerate(new, first)]


# Numbers


def test_an_empty_journal_has_no_head_no_record_no_snapshot_and_no_flaw(journal: Journal) -> None:
    assert journal.head() == 0
    assert journal.read(0, EVERYTHING) == []
    assert journal.about("vm/vm-0", EVERYTHING) == []
    assert journal.load() == (Region(), 0)
    assert list(journal.verify()) == []


def test_records_are_numbered_from_one_without_gaps(journal: Journal) -> None:
    for count in (1, 3, 0, 2):
        _append(journal, entries(count))
    assert [record.seq for record in journal.read(0, EVERYTHING)] == [1, 2, 3, 4, 5, 6]
    assert journal.head() == 6


def test_facts_appended_in_pieces_stand_in_their_order(journal: Journal) -> None:
    new = entries(5)
    with journal.write() as transaction:
        transaction.append(new[:2])
        transaction.append([])
        transaction.append(new[2:])
    assert journal.read(0, EVERYTHING) == _records(new)


def test_every_kind_of_fact_is_kept_with_its_command_and_its_origin(store: Store) -> None:
    new = [Entry(fact, f"Command{n}", Origin("vm", f"vm-{n}", f"R-{n}")) for n, fact in enumerate(EVERY_FACT)]
    _append(store.journal, new)
    assert store.journal.read(0, EVERYTHING) == _records(new)
    assert store.restart().read(0, EVERYTHING) == _records(new)


def test_text_of_every_sort_is_kept(journal: Journal) -> None:
    origin = Origin("vm", "Größe \0 \U0001f32a 'quoted' \"twice\"", "\t\n")
    new = entries(1, "naïve", origin)
    _append(journal, new)
    assert journal.read(0, EVERYTHING) == _records(new)


# Reading


def test_reading_goes_on_from_where_it_stopped(journal: Journal) -> None:
    new = entries(7)
    _append(journal, new)
    records = _records(new)
    assert journal.read(0, 3) == records[:3]
    assert journal.read(3, 3) == records[3:6]
    assert journal.read(6, 3) == records[6:]
    assert journal.read(7, 3) == []
    assert journal.read(99, 3) == []


def test_reading_no_records_gives_none_and_reading_from_before_the_first_begins_there(journal: Journal) -> None:
    _append(journal, entries(2))
    assert journal.read(0, 0) == []
    assert journal.read(0, -1) == []
    assert journal.read(-5, 1) == journal.read(0, 1)


def test_the_story_of_one_subject_is_told_oldest_first(store: Store) -> None:
    for place in range(3):
        _append(store.journal, entries(4, f"set{place % 2}"))
    wanted = [record for record in store.journal.read(0, EVERYTHING) if subject_of(record.fact) == "vm/set0-3"]
    assert [record.seq for record in wanted] == [4, 12]
    assert store.journal.about("vm/set0-3", EVERYTHING) == wanted
    assert store.journal.about("vm/set0-3", 1) == wanted[:1]
    assert store.journal.about("vm/set0-3", 0) == []
    assert store.journal.about("vm/set0", EVERYTHING) == []
    assert store.restart().about("vm/set0-3", EVERYTHING) == wanted


def test_changing_a_list_that_was_read_changes_nothing_in_the_journal(journal: Journal) -> None:
    _append(journal, entries(2))
    journal.read(0, EVERYTHING).clear()
    journal.about("vm/vm-0", EVERYTHING).clear()
    assert journal.head() == len(journal.read(0, EVERYTHING)) == 2
    assert len(journal.about("vm/vm-0", EVERYTHING)) == 1


# Writing


def test_a_transaction_sees_what_was_there_and_not_what_it_appends(journal: Journal) -> None:
    new = entries(3)
    _append(journal, new)
    with journal.write() as transaction:
        assert list(transaction.since(0)) == _records(new)
        transaction.append(entries(2, "more"))
        assert list(transaction.since(1)) == _records(new)[1:]
        assert list(transaction.since(3)) == []
    assert journal.head() == 5


def test_readers_see_nothing_of_a_transaction_before_it_has_ended(journal: Journal) -> None:
    with journal.write() as transaction:
        transaction.append(entries(3))
        assert journal.head() == 0
        assert journal.read(0, EVERYTHING) == []
        assert journal.about("vm/vm-0", EVERYTHING) == []
    assert journal.head() == 3


class Interrupted(BaseException):
    """Not an ``Exception``: what a signal handler raises leaves nothing either."""


@pytest.mark.parametrize("kind", [ValueError, Interrupted])
def test_an_exception_inside_the_block_leaves_nothing(store: Store, kind: type[BaseException]) -> None:
    _append(store.journal, entries(2))
    before = store.journal.read(0, EVERYTHING)

    def fail() -> None:
        with store.journal.write() as transaction:
            transaction.append(entries(3, "lost"))
            raise kind

    with pytest.raises(kind):
        fail()
    assert store.journal.read(0, EVERYTHING) == before
    assert store.restart().read(0, EVERYTHING) == before


def test_after_an_exception_the_next_block_goes_on_without_a_gap(journal: Journal) -> None:
    def fail() -> None:
        with journal.write() as transaction:
            transaction.append(entries(3, "lost"))
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - it has no message
        fail()
    _append(journal, entries(2))
    assert journal.read(0, EVERYTHING) == _records(entries(2))
    assert journal.about("vm/lost-0", EVERYTHING) == []
    assert list(journal.verify()) == []


def test_two_writers_take_turns_and_each_sees_the_other(journal: Journal) -> None:
    blocks = 25

    def write(name: str) -> list[tuple[int, int]]:
        """How many were there, and how many of one's own, at each turn."""
        seen: list[tuple[int, int]] = []
        for number in range(blocks):
            with journal.write() as transaction:
                records = transaction.since(0)
                seen.append((len(records), sum(record.command == name for record in records)))
                transaction.append([Entry(entry.fact, name, ORIGIN) for entry in entries(2, f"{name}-{number}")])
        return seen

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(write, ("one", "two"))
    assert sorted(count for count, _ in one + two) == [2 * turn for turn in range(2 * blocks)]
    assert [own for _, own in one] == [own for _, own in two] == [2 * turn for turn in range(blocks)]
    assert [record.seq for record in journal.read(0, EVERYTHING)] == list(range(1, 4 * blocks + 1))
    assert list(journal.verify()) == []


def test_readers_in_other_threads_see_whole_blocks_only(journal: Journal) -> None:
    def read(_: int) -> list[int]:
        return [len(journal.read(0, EVERYTHING)) for _ in range(40)]

    with ThreadPoolExecutor(3) as pool:
        reading = pool.map(read, range(3))
        for _ in range(30):
            _append(journal, entries(5))
        lengths = list(reading)
    assert all(length % 5 == 0 for found in lengths for length in found)
    assert all(found == sorted(found) for found in lengths)
    assert journal.head() == 150


def test_a_fleet_can_be_appended_in_one_block(journal: Journal) -> None:
    spec = VmSpec()
    new = [
        Entry(VmCreated(AT, f"vm-{n}", spec, "S", n, n % 5, n % 3, n // 20), "CreateVms", ORIGIN) for n in range(20_000)
    ]
    _append(journal, new)
    assert journal.head() == 20_000
    assert journal.read(19_990, EVERYTHING) == _records(new)[19_990:]
    assert [record.seq for record in journal.about("vm/vm-12345", 9)] == [12_346]


# Restarts and snapshots


def test_a_restart_sees_the_same_records_and_goes_on_from_them(store: Store) -> None:
    new = entries(5)
    _append(store.journal, new[:3])
    _append(store.restart(), new[3:])
    journal = store.restart()
    assert journal.head() == 5
    assert journal.read(0, EVERYTHING) == _records(new)
    with journal.write() as transaction:
        assert list(transaction.since(4)) == _records(new)[4:]
    assert list(journal.verify()) == []


def test_a_snapshot_and_the_facts_after_it_give_the_region_back(store: Store) -> None:
    for minute, (region, facts) in enumerate(story()):
        _append(store.journal, [Entry(fact, "Command", ORIGIN) for fact in facts])
        if minute == 20:
            store.journal.snapshot(region, store.journal.head())
            snapped = store.journal.head()
    region, seq = store.restart().load()
    assert seq == snapped
    for record in store.journal.read(seq, EVERYTHING):
        region = evolve(region, record.fact)
    last = story()[-1][0]
    assert (region.vms, region.events, region.scopes) == (last.vms, last.events, last.scopes)
    assert (region.hosts, region.campaigns, region.groups) == (last.hosts, last.campaigns, last.groups)


def test_the_newest_snapshot_is_the_one_that_is_loaded(store: Store) -> None:
    _append(store.journal, entries(3))
    for seq in (1, 2, 3):
        store.journal.snapshot(Region(lone_vms_made=seq), seq)
    assert store.journal.load() == (Region(lone_vms_made=3), 3)
    assert store.restart().load() == (Region(lone_vms_made=3), 3)


def test_an_older_snapshot_does_not_take_the_place_of_a_newer_one(store: Store) -> None:
    _append(store.journal, entries(3))
    for seq in (3, 1):
        store.journal.snapshot(Region(lone_vms_made=seq), seq)
    assert store.restart().load() == (Region(lone_vms_made=3), 3)


def test_a_snapshot_of_what_has_not_happened_is_refused_and_not_kept(store: Store) -> None:
    _append(store.journal, entries(3))
    with pytest.raises(JournalFault, match="record 4: the journal ends at record 3"):
        store.journal.snapshot(Region(lone_vms_made=4), 4)
    assert store.restart().load() == (Region(), 0)


def test_a_snapshot_changes_no_record(journal: Journal) -> None:
    _append(journal, entries(3))
    before = journal.read(0, EVERYTHING)
    journal.snapshot(story()[9][0], 2)
    assert journal.read(0, EVERYTHING) == before
    assert list(journal.verify()) == []


def test_closing_twice_is_closing_once(journal: Journal) -> None:
    journal.close()
    journal.close()
