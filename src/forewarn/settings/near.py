"""Did you mean: the known word that a misspelled one is most like."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forewarn.guest.agent.config.complaints import Complaints
    from forewarn.guest.agent.config.toml_lines import Place

_SHORT = 3  # letters


def near_miss(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: a hint, or nothing. Case, ``-`` and ``_`` do not count."""
    spellings = {_plain(each): each for each in known}
    cutoff = 0.6
    if len(word) <= _SHORT:  # one letter of two is a slip as well, but then the rest must fit
        cutoff, spellings = 0.5, {plain: each for plain, each in spellings.items() if len(plain) <= len(word) + 1}
    close = difflib.get_close_matches(_plain(word), spellings, n=1, cutoff=cutoff)
    return f"; did you mean {spellings[close[0]]!r}?" if close else ""


def complain_of_key(book: Complaints, place: Place, key: str, known: Iterable[str]) -> None:
    """Complain of an unknown key of a file; none is silently dropped."""
    book.complain(place, f"unknown key {key!r}", near_miss(key.rpartition(".")[2], known).removeprefix("; "))


def _plain(word: str) -> str:
    return word.replace("-", "_").lower()
