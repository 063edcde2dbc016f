"""What a turn of the clock lists, where very much happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.plane.ports import Entry, Origin
from forewarn.stores.memory import MemoryJournal
from forewarn.web.operator.desk import Look
from forewarn.web.operator.history.on_the_way import MOST_TOLD, on_the_way

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BEFORE = Look(Region(), 0, NOON)


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
    happened, left_out = on_the_way(journal_of(5_000), BEFORE, 10_000)

    assert (len(happened), left_out) == (2 * MOST_TOLD, 5_000 - 2 * MOST_TOLD)
    shown = [*range(MOST_TOLD), *range(5_000 - MOST_TOLD, 5_000)]
    assert [line.about for line in happened] == [[f"vm/a-{minute}"] for minute in shown]
    assert [line.at for line in happened] == [NOON + timedelta(minutes=minute) for minute in shown]


def test_a_short_turn_is_listed_whole_without_what_came_before_it() -> None:
    journal = journal_of(60)

    assert [line.about for line in on_the_way(journal, BEFORE, 120)[0]] == [[f"vm/a-{n}"] for n in range(60)]
    assert [line.about for line in on_the_way(journal, Look(Region(), 116, NOON), 120)[0]] == [["vm/a-58"], ["vm/a-59"]]
    assert on_the_way(journal, Look(Region(), 120, NOON), 120) == ([], 0)
