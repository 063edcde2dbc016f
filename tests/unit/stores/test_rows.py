from __future__ import annotations

from collections.abc import Callable

import pytest

from forewarn.core import facts as f
from forewarn.core.specs import VmSpec
from forewarn.plane.ports import Entry, JournalFault, Origin, Record
from forewarn.stores.rows import START, Row, checked, flaw_of, records_of, rows_of
from tests.unit.stores.examples import AT, EVERY_FACT, ORIGIN, entries


def _rows(count: int = 5) -> list[Row]:
    return list(rows_of(entries(count), 0, START))


def test_records_come_back_as_they_were_entered() -> None:
    wanted = [Record(seq, fact, "Command", ORIGIN) for seq, fact in enumerate(EVERY_FACT, 8)]
    assert records_of(rows_of([Entry(fact, "Command", ORIGIN) for fact in EVERY_FACT], 7, START)) == wanted


def test_each_record_keeps_its_own_origin() -> None:
    origins = [Origin("vm", "a"), Origin("vm", "a"), Origin("vm", "b"), Origin("operator", "b", "7")]
    made = [Entry(f.ClockMoved(AT), "Tick", origin) for origin in origins]
    assert [record.origin for record in records_of(rows_of(made, 0, START))] == origins


def test_rows_written_in_two_blocks_chain_as_if_written_in_one() -> None:
    both = entries(5)
    first = list(rows_of(both[:2], 0, START))
    assert first + list(rows_of(both[2:], 2, first[-1][9])) == _rows()


def test_rows_that_follow_from_each_other_pass() -> None:
    rows = _rows()
    assert list(checked(rows, 0, START)) == rows
    assert list(checked(rows[3:], 3, rows[2][9])) == rows[3:]


def _without(rows: list[Row]) -> list[Row]:
    return rows[:2] + rows[3:]


def _without_two(rows: list[Row]) -> list[Row]:
    return rows[:1] + rows[3:]


def _swapped(rows: list[Row]) -> list[Row]:
    third, fourth = rows[2], rows[3]
    return [*rows[:2], (3, *fourth[1:]), (4, *third[1:]), rows[4]]


def _edited(rows: list[Row]) -> list[Row]:
    return [*rows[:2], (*rows[2][:8], rows[2][8].replace(b"vm-2", b"vm-9"), rows[2][9]), *rows[3:]]


def _retold(rows: list[Row]) -> list[Row]:
    return [*rows[:2], (*rows[2][:5], "nobody", *rows[2][6:]), *rows[3:]]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (_without, "Record 3 of the journal is missing"),
        (_without_two, "Records 2 to 3 of the journal are missing"),
        (_swapped, "Record 3 of the journal is not what was written there"),
        (_edited, "Record 3 of the journal is not what was written there"),
        (_retold, "Record 3 of the journal is not what was written there"),
    ],
)
def test_rows_that_were_tampered_with_are_found(damage: Callable[[list[Row]], list[Row]], sentence: str) -> None:
    with pytest.raises(JournalFault, match=sentence):
        list(checked(damage(_rows()), 0, START))


def test_moving_text_from_one_column_to_the_next_is_found() -> None:
    row = _rows(1)[0]
    moved: Row = (*row[:4], row[4] + row[5][:1], row[5][1:], *row[6:])
    assert flaw_of(row, 0, START) is None
    assert flaw_of(moved, 0, START) is not None


def test_what_vms_made_together_share_they_share_after_reading() -> None:
    made = [f.VmCreated(AT, f"web-{n}", VmSpec(size="big"), "S", n, 0, 0, 1) for n in range(3)]
    made += [f.VmCreated(AT, "odd", VmSpec(size="small"), "T", 3, 0, 0, 1)]
    records = records_of(rows_of([Entry(fact, "CreateVms", ORIGIN) for fact in made], 0, START))
    assert [record.fact for record in records] == made
    read = [record.fact for record in records if isinstance(record.fact, f.VmCreated)]
    assert len({id(fact.spec) for fact in read}) == 2
    assert len({id(fact.seed) for fact in read}) == 2
    assert len({id(fact.at) for fact in read[:3]}) == 1
    assert len({id(record.origin) for record in records}) == 1
