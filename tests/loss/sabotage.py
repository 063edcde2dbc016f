"""Faults built into the product on purpose, to see that the judge finds them: ``python -m tests.loss --prove``.

Each is a mistake that somebody could really make; ``node.py`` puts it in before it runs the program.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psycopg

from forewarn.plane.plane import Plane
from forewarn.plane.ports import JournalFault, Transaction
from forewarn.stores import postgres_writer, sqlite
from forewarn.stores.postgres_errors import fault

VARIABLE = "LOSS_SABOTAGE"


@dataclass(frozen=True)
class Sabotage:
    """What is done to the program, and the faults under which it must come to light."""

    told: str
    do: Callable[[], None]
    faults: tuple[str, ...]
    shared: bool = True


def _believe_in_commits() -> None:
    postgres_writer.Writer._find_out = lambda *_: None  # type: ignore[method-assign]


def _despair_of_commits() -> None:
    def despair(self: postgres_writer.Writer, _last: object, error: psycopg.Error) -> None:
        raise fault(self._address, error) from error

    postgres_writer.Writer._find_out = despair  # type: ignore[method-assign,assignment]


def _own_clock() -> None:
    begin = postgres_writer._Staged.__init__

    def begun(self: postgres_writer._Staged, *rest: object) -> None:
        begin(self, *rest)  # type: ignore[arg-type]
        self.now = None  # type: ignore[assignment]

    postgres_writer._Staged.__init__ = begun  # type: ignore[method-assign,assignment]
    Plane.agree = lambda *_: None  # type: ignore[method-assign]


def _always_current() -> None:
    Plane.stale = ""  # type: ignore[assignment,method-assign]


def _everybody_leads() -> None:
    Plane.leads = True  # type: ignore[assignment,method-assign]


def _blind() -> None:
    write = sqlite.SqliteJournal.write

    @contextmanager
    def blind(self: sqlite.SqliteJournal) -> Iterator[Transaction]:
        with suppress(JournalFault), write(self) as transaction:
            yield transaction

    sqlite.SqliteJournal.write = blind  # type: ignore[method-assign,assignment]


_CUTS = ("packets lost", "packets lost", "packets lost")
SABOTAGES = {
    "believes": Sabotage("a commit whose answer got lost is believed in", _believe_in_commits, _CUTS),
    "despairs": Sabotage("a commit whose answer got lost is said to have failed", _despair_of_commits, _CUTS),
    "own-clock": Sabotage("facts carry the node's own time", _own_clock, ("clock turned", "clock turned")),
    "never-stale": Sabotage("a node that hears nothing answers as ever", _always_current, ("black hole", "black hole")),
    "all-lead": Sabotage("every node begins impacts", _everybody_leads, ("clock turned",)),
    "blind": Sabotage("a full disk is not noticed", _blind, ("disk full",), shared=False),
}


def commit_it() -> None:
    """The one that the environment names, if it names one."""
    if name := os.environ.get(VARIABLE):
        SABOTAGES[name].do()
