"""What commands print: tables that fit the terminal, JSON for programs, one progress line for long work.

Colour and truncation are for eyes only: a pipe gets every character and no escape codes. What others wrote (a tag, a
description, the name of a client) could move the reader's cursor or fake a line: it is shown with marks in the place of
every character that does not print.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}

# How the states of things are coloured, so that the eye finds what is happening.
_STATE_COLOURS = {
    "scheduled": "yellow",
    "approved": "blue",
    "started": "red",
    "completed": "green",
    "canceled": "dim",
    "running": "green",
    "healthy": "green",
    "failing": "yellow",
    "failed": "red",
    "paused": "yellow",
    "deallocated": "dim",
    "stopped": "dim",
    "frozen": "red",
    "restarting": "red",
    "redeploying": "red",
    "evicting": "red",
    "deleting": "red",
    "reimaging": "red",
}

Paint = Callable[[str], str]
_GAP = "  "
# What ``paint`` writes. In text from elsewhere the same codes could only colour.
_OWN_CODES = re.compile(r"(\x1b\[\d{1,2}m)")
_KEPT = "\n\t"
_READABLE, _NARROWEST = 14, 6  # ours: what flexible columns are narrowed to, before and after others are left out


@dataclass(frozen=True)
class Column:
    """One column. Where the terminal is narrow a ``flexible`` one gives way, and a ``spare`` one is left out."""

    title: str
    right: bool = False
    flexible: bool = False
    spare: bool = False
    prose: bool = False  # the last column of a table may be sentences, which go on in further lines
    tail: bool = False  # its end says more than its beginning, and is what is kept of a long one


class Output:
    """Where a command's words go. Made once for each run, so that it sees the terminal as it is then."""

    def __init__(self, as_json: bool = False, environment: Mapping[str, str] = os.environ) -> None:
        self.as_json = as_json
        self.terminal = sys.stdout.isatty()
        self.colour = self.terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        self.width = shutil.get_terminal_size().columns if self.terminal else None

    def line(self, text: str = "", *, at_once: bool = False) -> None:
        """One line; ``at_once`` into a pipe too, for streams."""
        print(self._harmless(text), flush=self.terminal or at_once)

    def prose(self, text: str, indent: str = "", hang: str | None = None) -> None:
        """Sentences: on a terminal they are broken between words. ``hang`` is the indent of all lines but the first."""
        self.line(filled(text, self.width, indent, indent if hang is None else hang))

    def note(self, text: str) -> None:
        """Something for the person, not for the pipe."""
        complain(text)

    def json(self, value: object) -> None:
        print(_json(value, indent=2), flush=self.terminal)

    def raw(self, content: bytes) -> None:
        """Text as it is, without a line end that it does not have; on a terminal nothing in it can do harm."""
        text = content.decode("utf-8", "replace")
        if self.terminal:
            self.line(text)
        else:
            sys.stdout.write(text)

    def json_line(self, value: object) -> None:
        """One value on one line, sent on at once: for streams."""
        print(_json(value), flush=True)

    def _harmless(self, text: str) -> str:
        if not self.colour or text.isprintable():
            return harmless(text)
        pieces = _OWN_CODES.split(text)
        return "".join(piece if place % 2 else harmless(piece) for place, piece in enumerate(pieces))

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.colour and text else text

    def state(self, text: str) -> str:
        """A phase, a power state, a health: coloured where colours are wanted."""
        colour = _STATE_COLOURS.get(text.strip())
        return self.paint(text, colour) if colour else text

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[object]], empty: str = "") -> None:
        """Rows under titles. ``empty`` is what to say to a person when there are none."""
        cells = [[_cell(value) for value in row] for row in rows]
        if not cells:
            if empty:
                self.note(empty)
            return
        widths = _fit(columns, cells, self.width)
        titles = [column.title for column in columns]
        self.line(self.paint(_row(columns, titles, widths), "bold"))
        for row in cells:
            first, *rest = _lines_of(row[-1], widths[-1]) if columns[-1].prose else [row[-1]]
            self.line(_row(columns, [*row[:-1], first], widths, self.state if self.colour else None))
            for more in rest:
                self.line(_row(columns, [*("" for _ in row[:-1]), more], widths))

    def so_far(
        self,
        found: Sequence[object],
        columns: Sequence[Column],
        rows: Iterable[Sequence[object]],
        empty: str,
        more: bool,
    ) -> None:
        """What there is of a stream: a table; as JSON a list, or a line each where ``more`` is to follow."""
        if not self.as_json:
            self.table(columns, rows, empty)
        elif more:
            for each in found:
                self.json_line(each)
        else:
            self.json(found)

    def fields(self, pairs: Iterable[tuple[str, object]], indent: str = "") -> None:
        """One thing, field by field; what is not set is left out."""
        shown = [(name, _cell(value)) for name, value in pairs if value not in (None, "", [], {})]
        width = max((len(name) for name, _ in shown), default=0)
        hang = " " * (len(indent) + width + len(_GAP))
        for name, value in shown:
            first, *rest = filled(value, self.width, hang, hang).splitlines() or [""]
            self.line(f"{indent}{self.paint(name.ljust(width), 'dim')}{_GAP}{self.state(first.strip())}")
            for line in rest:
                self.line(line)

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Progress]:
        """A line on stderr that counts along, for a person who waits; nothing in a script's log."""
        line = Progress(what, total, shown=sys.stderr.isatty())
        try:
            yield line
        finally:
            line.clear()


class Progress:
    """The line that counts along."""

    def __init__(self, what: str, total: int, shown: bool) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self._shown = shown

    def advance(self, count: int) -> None:
        self.done += count
        if self._shown:
            share = 100 * self.done // max(self.total, 1)
            print(f"\r{self.what}: {self.done} of {self.total} ({share} %)", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._shown and self.done:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def complain(text: str) -> None:
    """Sentences on stderr, for the person."""
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
    print(filled(harmless(text), width), file=sys.stderr, flush=True)


def filled(text: str, width: int | None, indent: str = "", hang: str = "") -> str:
    """Text broken between words so that no line is wider than ``width``; None is a pipe, which gets one line."""
    if width is None or len(indent) + len(text) <= width:
        return indent + text
    room = max(width, len(hang) + _NARROWEST)
    return textwrap.fill(text, room, initial_indent=indent, subsequent_indent=hang, break_on_hyphens=False)


def harmless(text: str) -> str:
    """The text with marks in place of control and direction characters, which could move a cursor or fake a line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else "\N{REPLACEMENT CHARACTER}" for c in text)


def _json(value: object, indent: int | None = None) -> str:
    """JSON with every letter as it is, but for those that do not print: escaped, they mean the same to a program."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def _cell(value: object) -> str:
    """A value as a cell, which is one line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_cell(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{_cell(key)}={_cell(each)}" for key, each in value.items())
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return harmless(text).replace("\n", "\N{REPLACEMENT CHARACTER}").replace("\t", "\N{REPLACEMENT CHARACTER}")


def _fit(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int | None) -> list[int]:
    """The widths with which a row fits; 0 leaves a column out. A pipe has all the room there is."""
    natural = [max(len(column.title), max(len(row[i]) for row in rows)) for i, column in enumerate(columns)]
    if room is None:
        return natural
    flexible = [i for i, column in enumerate(columns) if column.flexible]
    spare = [i for i, column in enumerate(columns) if column.spare]
    widths = _narrowed(natural, flexible, room, _READABLE)
    while spare and _total(widths) > room:
        natural[spare.pop()] = 0
        widths = _narrowed(natural, flexible, room, _READABLE)
    widths = _narrowed(widths, flexible, room, _NARROWEST)
    return _narrowed(widths, range(len(widths)), room, 1)


def _narrowed(widths: Sequence[int], which: Iterable[int], room: int, least: int) -> list[int]:
    """Width is taken from these columns, from the widest first, until the row fits or they are as narrow as allowed."""
    narrowed = list(widths)
    while _total(narrowed) > room:
        widest = max(which, key=lambda i: narrowed[i], default=None)
        if widest is None or narrowed[widest] <= least:
            break
        narrowed[widest] -= 1
    return narrowed


def _total(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + len(_GAP) * (len(shown) - 1)


def _lines_of(sentences: str, width: int) -> list[str]:
    return textwrap.wrap(sentences, width, break_on_hyphens=False) or [""]


def cut(text: str, width: int, tail: bool = False) -> str:
    """Text that is too long, without its end or, where the ``tail`` says more, without its beginning."""
    if len(text) <= width:
        return text
    return f"…{text[len(text) - width + 1 :]}" if tail else f"{text[: width - 1]}…"


def _row(columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int], paint: Paint | None = None) -> str:
    parts = []
    for column, cell, width in zip(columns, cells, widths, strict=True):
        if not width:
            continue
        text = cut(cell, width, column.tail)
        padded = text.rjust(width) if column.right else text.ljust(width)
        parts.append(paint(padded) if paint else padded)
    return _GAP.join(parts).rstrip()
