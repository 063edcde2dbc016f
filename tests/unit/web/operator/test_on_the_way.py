"""What a turn of the clock lists, where very much happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.plane.ports import Entry, Origin
from forewarn.stores.memory import MemoryJournal
from forewarn.web.operator.desk import Look
from forewarn.web.operator.history.on_the_way import MOST_TOLD, SeenMeanwhile, on_the_way

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BEFORE = Look(Region(), 0, NOON)


def told(journal: MemoryJournal, head: int, *, seq: int = 0, seen: SeenMeanwhile | None = None) -> list[list[str]]:
    """What each line is about; without an seen of its own it is read from the journal."""
    happened, _ = on_the_way(journal, Look(Region(), seq, NOON), head, seen or SeenMeanwhile(seq))
    return [line.about for line in happened]


def journal_of(instants: int) -> MemoryJournal:
    """One scope is disabled each minute, and another is read."""
    journal = MemoryJournal()
    with journal.write() as staged:
        for minute in range(instants):
            at = NOON + timedelta(minutes=minute)
            for fact in (f.ScopeDisabled(at, f"vm/a-{minute}"), f.ScopeRead(at, "vm/b", at, at)):
                staged.append([Entry(fact, "Tick", Origin("clock"))])
    return journal


def test_of_a_long_turn_the_first_and_last_lines_are_listed_and_the_others_counted() -> None:
    happened, left_out = on_the_way(journal_of(5_000), BEFORE, 10_000, SeenMeanwhile(0))

    assert (len(happened), left_out) == (2 * MOST_TOLD, 5_000 - 2 * MOST_TOLD)
    shown = [*range(MOST_TOLD), *range(5_000 - MOST_TOLD, 5_000)]
    assert [line.about for line in happened] == [[f"vm/a-{minute}"] for minute in shown]
    assert [line.at for line in happened] == [NOON + timedelta(minutes=minute) for minute in shown]


def test_a_short_turn_is_listed_whole_without_what_came_before_it() -> None:
    journal = journal_of(60)

    assert told(journal, 120) == [[f"vm/a-{n}"] for n in range(60)]
    assert told(journal, 120, seq=116) == [["vm/a-58"], ["vm/a-59"]]
    assert on_the_way(journal, Look(Region(), 120, NOON), 120, SeenMeanwhile(120)) == ([], 0)


def test_what_was_seen_while_the_clock_turned_is_not_read_again() -> None:
    journal, seen = journal_of(60), SeenMeanwhile(100)
    for first in range(100, 120, 4):
        seen.note(Region(), journal.read(first, 4))
    seen.note(Region(), [])

    assert told(MemoryJournal(), 120, seq=100, seen=seen) == [[f"vm/a-{n}"] for n in range(50, 60)]
    assert told(MemoryJournal(), 110, seq=100, seen=seen) == [[f"vm/a-{n}"] for n in range(50, 55)]


def test_what_was_not_seen_whole_is_read_from_the_journal() -> None:
    """Records that do not follow, more of them than are held, or an end that was not seen yet."""
    journal = journal_of(51_000)
    late, gap, much = SeenMeanwhile(0), SeenMeanwhile(0), SeenMeanwhile(0)
    late.note(Region(), journal.read(0, 4))
    gap.note(Region(), journal.read(0, 4))
    gap.note(Region(), journal.read(6, 114))
    for first in range(0, 102_000, 1_000):
        much.note(Region(), journal.read(first, 1_000))

    for seen in (late, gap):
        assert told(journal, 120, seen=seen) == [[f"vm/a-{n}"] for n in range(60)]
    assert len(told(journal, 102_000, seen=much)) == 2 * MOST_TOLD
    assert told(MemoryJournal(), 102_000, seen=much) == []
