"""Rows of a list as a file: CSV for a sheet, JSON for a program. Both have the fields of the operator API's answers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from forewarn.web.operator.schema.answers import Answer

MOST_ROWS = 100_000  # ours: what is for people; spreadsheets take a million
_AT_ONCE = 1_000  # ours: rows before others have their turn
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")  # what sheets take for the beginning of something to work out
_CUT = "cut after {rows} rows: choose fewer by a filter"

# Rows from after this one on, at most so many; and where the next ones begin, None after the last.
RowsAfter: TypeAlias = Callable[[str, int], Awaitable[tuple[Sequence[Answer], str | None]]]


class Sheet(Protocol):
    """How rows are written down, one portion after the other."""

    media_type: str

    def head(self) -> str: ...
    def portion(self, rows: Sequence[Answer], before: int) -> str: ...
    def end(self, rows: int, cut: bool) -> str: ...


class CsvSheet:
    media_type = "text/csv; charset=utf-8"

    def __init__(self, _name: str, answer: type[Answer]) -> None:
        self._fields = tuple(answer.model_fields)

    def head(self) -> str:
        return _line(self._fields)

    def portion(self, rows: Sequence[Answer], before: int) -> str:
        told = (row.model_dump(mode="json") for row in rows)
        return "".join(_line([_cell(each[field]) for field in self._fields]) for each in told)

    def end(self, rows: int, cut: bool) -> str:
        return _line([_CUT.format(rows=rows)]) if cut else ""


class JsonSheet:
    media_type = "application/json"

    def __init__(self, name: str, _answer: type[Answer]) -> None:
        self._name = name

    def head(self) -> str:
        return f"{{{json.dumps(self._name)}:["

    def portion(self, rows: Sequence[Answer], before: int) -> str:
        text = ",\n".join(row.model_dump_json() for row in rows)
        return f",\n{text}" if before and rows else text

    def end(self, rows: int, cut: bool) -> str:
        return f'],"rows":{rows},"cut":{json.dumps(_CUT.format(rows=rows) if cut else None)}}}\n'


async def written(sheet: Sheet, rows_after: RowsAfter, most: int = MOST_ROWS) -> AsyncIterator[str]:
    """The file in portions. Where there are more rows than ``most``, its last words say so."""
    count, after = 0, ""
    yield sheet.head()
    while True:
        rows, following = await rows_after(after, min(_AT_ONCE, most - count))
        yield sheet.portion(rows, count)
        count += len(rows)
        if following is None or count >= most:
            break
        after = following
    yield sheet.end(count, cut=following is not None)


def _line(cells: Sequence[str]) -> str:
    written_down = io.StringIO()
    csv.writer(written_down).writerow(cells)
    return written_down.getvalue()


def _cell(value: object) -> str:
    """A cell of CSV. Text that begins like a formula gets an apostrophe, so that a spreadsheet does not run it (CSV
    injection).
    """
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = " ".join(value)
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if value.startswith(_FORMULAS) else value
