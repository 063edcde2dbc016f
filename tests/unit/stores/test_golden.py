"""The stored format is a promise: a journal written today must mean the same to every later forewarn."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec

from forewarn.core.facts import FORMAT, Fact
from forewarn.core.looking.subjects import subject_of
from forewarn.plane.ports import Entry
from forewarn.stores import codec
from forewarn.stores.rows import COLUMNS, START, rows_of
from tests.unit.stores.examples import EVERY_FACT, ORIGIN

GOLDEN = Path(__file__).parents[2] / "golden" / "journal" / f"format-{FORMAT}.jsonl"


class Line(msgspec.Struct):
    """A row as the golden journal writes it: one JSON object a line, the body as JSON inside."""

    seq: int
    format: int
    at: str
    command: str
    door: str
    who: str
    request_id: str
    subject: str
    body: msgspec.Raw
    chain: str


def _lines() -> list[Line]:
    return [msgspec.json.decode(line, type=Line) for line in GOLDEN.read_bytes().splitlines()]


def _todays_lines() -> list[bytes]:
    rows = rows_of([Entry(fact, "Command", ORIGIN) for fact in EVERY_FACT], 0, START)
    return [_line_of(dict(zip(COLUMNS, row, strict=True)), row[8], row[9]) for row in rows]


def _line_of(row: dict[str, object], body: bytes, chain: bytes) -> bytes:
    return msgspec.json.encode({**row, "body": msgspec.Raw(body), "chain": chain.hex()})


def test_every_kind_of_fact_is_among_the_examples() -> None:
    assert {type(fact) for fact in EVERY_FACT} == set(get_args(Fact))


def test_the_golden_journal_still_decodes_to_the_same_facts() -> None:
    decoded = tuple(codec.decode(line.seq, line.format, bytes(line.body)) for line in _lines())
    assert decoded == EVERY_FACT


def test_the_golden_journal_still_names_the_same_subjects() -> None:
    assert [line.subject for line in _lines()] == [subject_of(fact) for fact in EVERY_FACT]


def test_todays_facts_are_written_as_the_golden_journal_has_them() -> None:
    # If this fails because a fact was changed on purpose: FORMAT has to grow, codec.UPCASTS has to read the old shape,
    # and the new one goes into a file of its own. A new kind of fact is a new last line in the file there is.
    assert _todays_lines() == GOLDEN.read_bytes().splitlines()
