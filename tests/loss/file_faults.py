"""What may go wrong with the files of a node that has a store of its own: calls fail, files go away, bits turn."""

from __future__ import annotations

import errno
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from forewarn.plane.ports import JournalFault, Record
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.loss.history import Approval, Gone, Outcome, Write, Wrong, read_notes
from tests.loss.machines import Node
from tests.loss.watched_disk import Call, How, WatchedDisk
from tests.loss.world import OPTIONS, read_all

if TYPE_CHECKING:
    from tests.loss.faults import Nemesis
from tests.waiting import until

_ERRORS = (errno.EIO, errno.ENOSPC)
_FLIPS, _STARTED = 10, 2  # of one bit each, every time; on some of them, in the log, the real server is started


def fail_syncs(nemesis: Nemesis, node: Node) -> Node | None:
    return _fail(nemesis, node, (Call.SYNC,), How.FAIL)


def fail_last_sync(nemesis: Nemesis, node: Node) -> Node | None:
    """And killed when the refusal has been told, before another write can cover the traces of the one that failed."""
    disk = _disk(nemesis)
    with disk.striking(Call.SYNC, pattern="*-wal", error=nemesis.chance.choice(_ERRORS)) as strike:
        nemesis.await_that(lambda: strike.times > 0)
        with disk.striking(Call.WRITE, pattern="*/data/*", how=How.WAIT, milliseconds=3000):
            nemesis.last(0.2)
            node.kill()
    node.start()
    return node


def fail_writes(nemesis: Nemesis, node: Node) -> Node | None:
    return _fail(nemesis, node, (Call.WRITE,), nemesis.chance.choice((How.FAIL, How.HALF)))


def fail_others(nemesis: Nemesis, node: Node) -> Node | None:
    """Those that are needed now and then, above all at a start."""
    call = nemesis.chance.choice((Call.OPEN, Call.TRUNCATE, Call.RENAME, Call.UNLINK, Call.CLOSE))
    return _fail(nemesis, node, (call,), How.FAIL, restart=True)


def slow_syncs(nemesis: Nemesis, node: Node) -> Node | None:
    """So slow that a kill comes between what was written and what was synced."""
    with _disk(nemesis).striking(Call.SYNC, how=How.WAIT, milliseconds=nemesis.chance.randrange(50, 500)):
        nemesis.last(0.3)
        node.kill()
    node.start()
    return node


def _fail(nemesis: Nemesis, node: Node, calls: tuple[Call, ...], how: How, *, restart: bool = False) -> Node | None:
    """Once, a few times, or for a while; often it is killed before anything is well again."""
    chance = nemesis.chance
    times, after, error = chance.choice((1, 3, -1)), chance.randrange(10), chance.choice(_ERRORS)
    with _disk(nemesis).striking(*calls, pattern="*/data/*", how=how, error=error, after=after, times=times):
        if restart:
            node.stop()
            node.start()
        nemesis.last(0.4)
        killed = chance.random() < (0.8 if times < 0 else 0.4)
        if killed:
            node.kill()
    if killed:
        node.start()
    return node


# Files that go away under a running server


def delete_directory(nemesis: Nemesis, node: Node) -> Node | None:
    return _take_away(nemesis, node, "data directory was deleted", shutil.rmtree)


def move_directory(nemesis: Nemesis, node: Node) -> Node | None:
    return _take_away(nemesis, node, "data directory was moved away", lambda data: _move(data))


def replace_directory(nemesis: Nemesis, node: Node) -> Node | None:
    """By an empty one, or by one that looks the same."""

    def replaced(data: Path) -> None:
        same = nemesis.chance.random() < 0.5
        moved = _move(data)
        if same:
            shutil.copytree(moved, data)
        else:
            data.mkdir()

    return _take_away(nemesis, node, "data directory was replaced", replaced)


def unlink_journal(nemesis: Nemesis, node: Node) -> Node | None:
    name = nemesis.chance.choice(("journal.sqlite3", "journal.sqlite3-wal"))
    return _take_away(nemesis, node, f"{name} was deleted", lambda data: (data / name).unlink(missing_ok=True))


def _move(data: Path) -> Path:
    moved = data.with_name("moved")
    data.rename(moved)
    return moved


def _take_away(nemesis: Nemesis, node: Node, what: str, act: Callable[[Path], object]) -> Node | None:
    """While it sleeps, so that what it had committed by then can be put back when it is dead.

    Only under a server that is up: one that is still starting would open what was put in the directory's place.
    """
    nemesis.await_that(node.is_ready)
    if not node.is_ready():
        return node
    data = _data(nemesis)
    node.sleep()
    with _copied(data) as copy:
        act(data)
        began = time.monotonic()
        node.wake()
        nemesis.last(0.4)
        ended = time.monotonic()
        node.kill()
        for path in (data, data.with_name("moved")):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(copy, data)
    node.start()
    nemesis.book.add(Gone(what, began, ended))
    return node


# Bits that turn


def flip_bits(nemesis: Nemesis, node: Node) -> Node | None:
    """One bit of any file, many times, in copies of what a kill has left: all is there, or the start is refused."""
    node.kill()
    with _copied(_data(nemesis)) as kept:
        node.start()
        acknowledged = _acknowledged(nemesis.world.directory)
        with _copied(kept) as whole:
            truth = records_in(whole)
        for number in range(_FLIPS):
            with _copied(kept) as copy:
                start = number < _STARTED
                told = flip(copy, nemesis.chance, "*-wal" if start else "*")
                wrong = _of_server(copy, node, nemesis.world.directory) if start else ""
                wrong = wrong or of_flipped(copy, truth, acknowledged)
                if wrong:
                    nemesis.book.add(Wrong(f"{told}: {wrong}"))
    return node


def flip(directory: Path, chance: random.Random, pattern: str = "*") -> str:
    """A bit of one of the files; which. The index of the log is made anew by every start and is none of them."""
    files = [path for path in sorted(directory.iterdir()) if path.stat().st_size and not path.name.endswith("-shm")]
    path = chance.choice([path for path in files if path.match(pattern)] or files)
    content = bytearray(path.read_bytes())
    place, bit = chance.randrange(len(content)), chance.randrange(8)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    return f"bit {bit} of byte {place} of {len(content)} of {path.name} was turned"


def of_flipped(data: Path, truth: list[Record], acknowledged: set[str]) -> str:
    """What is wrong with how a damaged directory is taken; nothing, where all is there or a sentence says no."""
    try:
        found = records_in(data)
    except JournalFault:
        return ""
    both = min(len(found), len(truth))  # a server that was started goes on
    if found[:both] != truth[:both]:
        return "it starts, and something else is in the journal"
    lost = {record.origin.request_id for record in truth[both:]} & acknowledged
    return f"it starts without a word, and {', '.join(sorted(lost))} are lost" if lost else ""


def _of_server(data: Path, like: Node, logs: Path) -> str:
    """A server like this one serves what is there, or ends with a sentence."""
    apart = logs / "damaged"  # what it writes down is no part of the round
    apart.mkdir(exist_ok=True)
    node = Node(
        name="damaged",
        directory=apart,
        data=data,
        options=OPTIONS,
        environment=like.environment,
        turnable=False,
    )
    node.start()
    try:
        until(lambda: node.is_ready() or node.has_ended(), "it starts or ends")
    finally:
        node.kill()
    return f"the server stumbles: {stumbles[0]}" if (stumbles := node.stumbles()) else ""


def records_in(data: Path) -> list[Record]:
    journal = SqliteJournal(data)
    try:
        return read_all(journal)
    finally:
        journal.close()


def _acknowledged(directory: Path) -> set[str]:
    notes = read_notes(directory.glob("*.notes"))
    return {note.request_id for note in notes if isinstance(note, Write | Approval) and note.outcome is Outcome.OK} - {
        ""
    }


@contextmanager
def _copied(data: Path) -> Iterator[Path]:
    copy = data.with_name(f"copy-{time.monotonic_ns()}")
    shutil.copytree(data, copy)
    try:
        yield copy
    finally:
        shutil.rmtree(copy)


def _data(nemesis: Nemesis) -> Path:
    return nemesis.world.disk.place / "data"


def _disk(nemesis: Nemesis) -> WatchedDisk:
    assert nemesis.world.watched is not None, "the files of this world are not watched"
    return nemesis.world.watched
