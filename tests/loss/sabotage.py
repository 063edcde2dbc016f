"""Faults built into the product on purpose, to see that the judge finds them: ``python -m tests.loss --prove``.

Each is a mistake that somebody could really make; ``node.py`` puts it in before it runs the program.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from msgspec.structs import replace

from forewarn import durable
from forewarn.core.commands import Approve
from forewarn.plane.clock import RealClock
from forewarn.plane.ports import JournalFault, Origin, Transaction
from forewarn.plane.standing import Standing
from forewarn.server.relaying import life
from forewarn.server.relaying.ground import RelayGround, RelayStanding
from forewarn.stores.postgres import writer as postgres_writer
from forewarn.stores.postgres.errors import fault
from forewarn.stores.sqlite import file as sqlite_file
from forewarn.stores.sqlite import head_note, opened_files, write_ahead
from forewarn.stores.sqlite import journal as sqlite
from forewarn.web.slices.bulletins import Bulletin, StreamOrder
from forewarn.web.slices.holding import HeldChange, Holding
from tests.loss.reader_sabotage import in_readers, successors_know_the_past, told_too_early

VARIABLE = "LOSS_SABOTAGE"


@dataclass(frozen=True)
class Sabotage:
    """What is done to the program, and the faults under which it must come to light."""

    told: str
    do: Callable[[], None]
    faults: tuple[str, ...]
    shared: bool = True
    cuts: int = 0  # of power, at which it must come to light


def _believe_in_commits() -> None:
    postgres_writer.BlockWriter._find_out = lambda *_: None  # type: ignore[method-assign]  # planted


def _despair_of_commits() -> None:
    def despair(self: postgres_writer.BlockWriter, _last: object, error: psycopg.Error) -> None:
        raise fault(self._address, error) from error

    postgres_writer.BlockWriter._find_out = despair  # type: ignore[method-assign,assignment]  # planted


def _own_clock() -> None:
    begin = postgres_writer._Staged.__init__

    def begun(self: postgres_writer._Staged, *rest: object) -> None:
        begin(self, *rest)  # type: ignore[arg-type]  # planted
        self.now = None  # type: ignore[assignment]  # planted

    postgres_writer._Staged.__init__ = begun  # type: ignore[method-assign,assignment]  # planted
    RealClock.agree = lambda *_: None  # type: ignore[method-assign]  # planted


def _always_current() -> None:
    Standing.stale = ""  # type: ignore[assignment,method-assign]  # planted


def _everybody_leads() -> None:
    Standing.leads = True  # type: ignore[assignment,method-assign]  # planted


def _blind() -> None:
    write = sqlite.SqliteJournal.write

    @contextmanager
    def blind(self: sqlite.SqliteJournal) -> Iterator[Transaction]:
        with suppress(JournalFault), write(self) as transaction:
            yield transaction

    sqlite.SqliteJournal.write = blind  # type: ignore[method-assign,assignment]  # planted


def _rarely_synced() -> None:
    _synced_as("NORMAL")


def _never_synced() -> None:
    _synced_as("OFF")


def _synced_as(often: str) -> None:
    open_writer = sqlite_file.open_writer

    def opened(path: Path) -> sqlite3.Connection:
        connection = open_writer(path)
        connection.execute(f"PRAGMA synchronous={often}")
        return connection

    sqlite_file.open_writer = opened


def _names_never_synced() -> None:
    """Neither by us nor by SQLite: no directory can be opened for it."""
    sync = os.fsync

    def synced(file: int) -> None:
        if not stat.S_ISDIR(os.fstat(file).st_mode):
            sync(file)

    os.fsync = synced  # type: ignore[assignment]  # planted
    durable.sync = synced  # type: ignore[assignment]  # planted: it has os.fsync from its own beginning


def _doubts_nothing() -> None:
    """A commit that failed is taken for one that did not happen."""
    sqlite.SqliteJournal._settle = lambda self: setattr(self, "_doubt", "")  # type: ignore[method-assign]  # planted


def _looks_nowhere() -> None:
    opened_files.OpenedFiles.flaw = lambda self, paths=(): ""  # type: ignore[method-assign]  # planted


def _trusts_its_log() -> None:
    """Damage in the log is taken for its end."""
    write_ahead.is_damaged = lambda *_: False
    head_note.read = lambda _: None  # type: ignore[assignment]  # planted


def _relay_never_stale() -> None:
    RelayStanding.stale = ""  # type: ignore[assignment,method-assign]  # planted


def _relay_gives_up_at_once() -> None:
    heard = RelayStanding.heard

    def hardly_heard(self: RelayStanding, as_of: float) -> None:
        heard(self, as_of - self._staleness_seconds * 0.99)

    RelayStanding.heard = hardly_heard  # type: ignore[method-assign]  # planted


def _relay_answers_first() -> None:
    submit = RelayGround.submit
    asked: set[asyncio.Task[None]] = set()

    async def hasty(self: RelayGround, command: Approve, origin: Origin) -> None:
        asked.add(asyncio.ensure_future(submit(self, command, origin)))

    RelayGround.submit = hasty  # type: ignore[method-assign]  # planted


def _relay_forgets_its_history() -> None:
    """It follows whoever answers, from wherever that is."""

    def everything(vms: tuple[str, ...], host: str, _after: int, _mark: str) -> StreamOrder:
        return StreamOrder(vms, host)

    vars(life)["StreamOrder"] = everything


def _relay_keeps_what_went() -> None:
    """What it is told when it comes back is added to what it knew."""
    apply = Holding.apply

    def added(self: Holding, bulletin: Bulletin) -> HeldChange | None:
        return apply(self, replace(bulletin, whole=False, gone=()))

    Holding.apply = added  # type: ignore[method-assign]  # planted


_RESTART = ("node restarted",)
_READER_KILLED = ("reader killed",)
_COMMITS_LOST = ("database killed", "sessions ended", "packets lost")
_CUT_OFF = ("relay cut off",)
_LOST_PACKETS = ("packets lost", "packets lost", "packets lost")
SABOTAGES = {
    "believes": Sabotage("a commit whose answer got lost is believed in", _believe_in_commits, _LOST_PACKETS),
    "despairs": Sabotage("a commit whose answer got lost is said to have failed", _despair_of_commits, _LOST_PACKETS),
    "own-clock": Sabotage("facts carry the node's own time", _own_clock, ("clock turned", "clock turned")),
    "never-stale": Sabotage("a node that hears nothing answers as ever", _always_current, ("black hole", "black hole")),
    "all-lead": Sabotage("every node begins impacts", _everybody_leads, ("clock turned",)),
    "blind": Sabotage("a full disk is not noticed", _blind, ("disk full",), shared=False),
    "never-synced": Sabotage("no commit is synced", _never_synced, _RESTART, shared=False, cuts=60),
    "rarely-synced": Sabotage("the log is synced now and then", _rarely_synced, _RESTART, shared=False, cuts=60),
    "names-never-synced": Sabotage("no directory is synced", _names_never_synced, _RESTART, shared=False, cuts=60),
    "doubts-nothing": Sabotage(
        "a commit whose sync failed is taken for none", _doubts_nothing, ("last sync fails",) * 3, shared=False
    ),
    "looks-nowhere": Sabotage(
        "a directory that is gone is not noticed",
        _looks_nowhere,
        ("directory moved", "directory deleted"),
        shared=False,
    ),
    "relay-never-stale": Sabotage("a relay that hears nothing answers as ever", _relay_never_stale, _CUT_OFF * 5),
    "relay-gives-up": Sabotage("a relay that hears nothing gives up at once", _relay_gives_up_at_once, _CUT_OFF * 3),
    "relay-answers-first": Sabotage(
        "a relay says yes to an approval before its node has", _relay_answers_first, _CUT_OFF * 5
    ),
    "relay-forgets": Sabotage(
        "a relay goes on with whatever answers at its upstream", _relay_forgets_its_history, ("relay misled",) * 2
    ),
    "relay-keeps": Sabotage("a relay that comes back keeps what went", _relay_keeps_what_went, _CUT_OFF * 3),
    "reader-half": Sabotage("a reader answers with half of an edition", in_readers, _READER_KILLED * 3),
    "reader-twice": Sabotage("a reader hands an approval on twice", in_readers, _READER_KILLED * 3),
    "reader-never-stale": Sabotage("a reader without its server answers as ever", in_readers, ("node asleep",) * 9),
    "reader-too-early": Sabotage("readers are told before the commit", told_too_early, _COMMITS_LOST * 2),
    "reader-past": Sabotage("the next reader is told of the past", successors_know_the_past, _READER_KILLED * 3),
    "trusts-its-log": Sabotage("damage is taken for the end", _trusts_its_log, ("bits flipped",) * 3, shared=False),
}


def commit_it() -> None:
    """The one that the environment names, if it names one."""
    if name := os.environ.get(VARIABLE):
        SABOTAGES[name].do()
