"""On which line of a TOML file each thing stands: ``tomllib`` tells what a file says, but not where.

The text has been read by ``tomllib`` before, so this walks it without doubting it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Place = tuple[str | int, ...]  # ("rule", 0, "types", 1): keys, and the numbers of what stands in a list

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+')
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""+|\'\'\'.*?\'\'\'+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'',
    re.DOTALL,
)
_PLAIN = re.compile(r"[^,\]}#\n]+")


class LineNumbers:
    """Where things stand. What does not stand anywhere is said to stand where its table does."""

    def __init__(self, text: str) -> None:
        self._found = _Walk(text).places()

    def of(self, *place: str | int) -> int:
        """The line of a place, or of the nearest thing around it; 1 where even that is unknown."""
        while place and place not in self._found:
            place = place[:-1]
        return self._found.get(place, 1)

    @property
    def found(self) -> Mapping[Place, int]:
        return self._found


class _Walk:
    """One walk over the text, statement by statement."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._counts: dict[Place, int] = {}  # how many tables each [[list]] has so far
        self._lines: dict[Place, int] = {}

    def places(self) -> dict[Place, int]:
        table: Place = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text.startswith("[", self._at):
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)
        return self._lines

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        taken = found[0] if found else ""
        self._at += len(taken)
        self._line += taken.count("\n")
        return taken

    def _note(self, place: Place) -> None:
        self._lines.setdefault(place, self._line)

    def _header(self) -> Place:
        listed = self._text.startswith("[[", self._at)
        self._at += 2 if listed else 1
        names = self._key()
        place: Place = (*self._within(names[:-1]), names[-1])
        if listed:
            number = self._counts.get(place, 0)
            self._counts[place] = number + 1
            self._note(place)
            place += (number,)
        else:
            place = self._latest(place)
        self._note(place)
        self._at += 2 if listed else 1
        return place

    def _within(self, names: list[str]) -> Place:
        place: Place = ()
        for name in names:
            place = self._latest((*place, name))
        return place

    def _latest(self, place: Place) -> Place:
        """``[rule.more]`` belongs to the last ``[[rule]]``."""
        count = self._counts.get(place)
        return place if count is None else (*place, count - 1)

    def _key(self) -> list[str]:
        names = []
        while True:
            self._skip(_SPACE)
            names.append(_name(self._skip(_KEY)))
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return names
            self._at += 1

    def _pair(self, table: Place) -> None:
        line = self._line
        place = table
        for name in self._key():
            place = (*place, name)
            self._lines.setdefault(place, line)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(place)

    def _value(self, place: Place) -> None:
        if self._text.startswith("[", self._at):
            self._list(place)
        elif self._text.startswith("{", self._at):
            self._inline_table(place)
        elif not self._skip(_STRING):
            self._skip(_PLAIN)

    def _list(self, place: Place) -> None:
        self._at += 1
        number = 0
        while not self._closes("]"):
            self._note((*place, number))
            start = self._at
            self._value((*place, number))
            self._at = max(self._at, start + 1)  # however odd the text, the walk ends
            number += 1

    def _inline_table(self, place: Place) -> None:
        self._at += 1
        while not self._closes("}"):
            self._pair(place)

    def _closes(self, bracket: str) -> bool:
        """Step over blanks and commas to the next item, or out."""
        self._skip(_BLANK)
        if self._text.startswith(",", self._at):
            self._at += 1
            self._skip(_BLANK)
        if not self._text.startswith(bracket, self._at):
            return self._at >= len(self._text)
        self._at += 1
        return True


def _name(key: str) -> str:
    """A key without its quotes. Escapes in keys are too rare to be worth reading: such a key has its table's line."""
    return key[1:-1] if key[:1] in ("'", '"') else key
