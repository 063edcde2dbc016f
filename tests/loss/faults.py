"""What may go wrong: each fault strikes, lasts a while, and is healed, in an order that a seed decides."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

import psycopg

from tests.loss import file_faults, relay_faults
from tests.loss.history import Notebook, Trouble
from tests.loss.machines import Node
from tests.loss.supervised import Supervised
from tests.loss.world import World
from tests.postgres import Server

_HOUR_SECONDS = 3600
_GLANCE_SECONDS = 0.0005


@dataclass
class Nemesis:
    """Does one thing after the other to a world, until it is called off."""

    world: World
    chance: random.Random
    book: Notebook
    longest_seconds: float  # of a fault
    plan: Sequence[str] = ()  # these, in this order, once; else by chance from all that there are
    among: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="nemesis")

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Wait until the plan is done."""
        self._thread.join()
        self._complain()

    def call_off(self) -> None:
        self._over.set()
        self._thread.join()
        self._complain()

    def _complain(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _run(self) -> None:
        try:
            for kind in self.plan or self._by_chance():
                self._over.wait(self.chance.uniform(0.2, 0.8))
                if self._over.is_set():
                    return
                self._strike(kind)
        except BaseException as fault:  # told to whoever waits for the end
            self._failed = fault

    def _by_chance(self) -> Iterator[str]:
        while True:
            yield self.chance.choice(self.among)

    def _strike(self, kind: str) -> None:
        node = self.chance.choice(self.world.nodes)
        began = time.monotonic()
        struck = _FAULTS[kind](self, node)
        self.book.add(Trouble(kind, struck.name if struck is not None else "", began, time.monotonic()))

    def last(self, share: float = 1.0) -> None:
        """As long as chance wants, or until it is called off."""
        self._over.wait(self.chance.uniform(0.3, 1.0) * self.longest_seconds * share)

    def await_that(self, holds: Callable[[], bool]) -> None:
        """Until it does, or for as long as a fault may last."""
        over = time.monotonic() + self.longest_seconds
        while not holds() and time.monotonic() < over and not self._over.wait(_GLANCE_SECONDS):
            pass


_Fault: TypeAlias = Callable[[Nemesis, Node], Supervised | None]

# Each does it, waits, and heals it; the program that it struck, or None for all


def _kill(nemesis: Nemesis, node: Node) -> Supervised | None:
    node.kill()
    nemesis.last(0.2)
    node.start()
    return node


def _restart(nemesis: Nemesis, node: Node) -> Supervised | None:
    """In good order, as for an upgrade: it keeps a snapshot, if it leads."""
    node.stop()
    node.start()
    return node


def _kill_reader(nemesis: Nemesis, node: Node) -> Supervised | None:
    """Two of them, if there are: the second one while the first is perhaps still being replaced."""
    return _signal_readers(nemesis, signal.SIGKILL)


def _freeze_reader(nemesis: Nemesis, node: Node) -> Supervised | None:
    """It holds its connections and is behind when it goes on, if nobody has replaced it."""
    struck = _signal_readers(nemesis, signal.SIGSTOP)
    nemesis.last()
    for pid in struck.readers() if struck is not None else ():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return struck


def _signal_readers(nemesis: Nemesis, number: signal.Signals) -> Node | None:
    nodes = nemesis.world.nodes
    nemesis.await_that(lambda: any(each.readers() for each in nodes))
    node = next((each for each in nodes if each.readers()), None)
    for _ in range(2 if node is not None and number == signal.SIGKILL else 1):
        pids = node.readers() if node is not None else []
        if pids:
            with suppress(ProcessLookupError):
                os.kill(nemesis.chance.choice(pids), number)
        nemesis.last(0.1)
    return node


def _kill_all(nemesis: Nemesis, node: Node) -> Supervised | None:
    for each in nemesis.world.nodes:
        each.kill()
    for each in nemesis.world.nodes:
        each.start()
    return None


def _sleep(nemesis: Nemesis, node: Node) -> Supervised | None:
    node.sleep()
    nemesis.last()
    node.wake()
    return node


def _turn_clock(nemesis: Nemesis, node: Node) -> Supervised | None:
    node.turn_clock(nemesis.chance.choice((-1, 1)) * nemesis.chance.randrange(60, _HOUR_SECONDS))
    nemesis.last(0.3)
    return node


def _kill_database(nemesis: Nemesis, node: Node) -> Supervised | None:
    server = _server(nemesis)
    server.kill()
    nemesis.last(0.3)
    server.start()
    return None


def _restart_database(nemesis: Nemesis, node: Node) -> Supervised | None:
    _server(nemesis).restart()
    return None


def _freeze_database(nemesis: Nemesis, node: Node) -> Supervised | None:
    _server(nemesis).freeze()
    nemesis.last(0.5)
    _server(nemesis).thaw()
    return None


def _end_sessions(nemesis: Nemesis, node: Node) -> Supervised | None:
    """Some of all sessions, three times, so that some of them are in the middle of something."""
    for _ in range(3):
        for (pid,) in _server(nemesis).execute(_SESSIONS):
            if nemesis.chance.random() < 0.5:
                _server(nemesis).execute("SELECT pg_terminate_backend(%s)", pid)
        nemesis.last(0.1)
    return None


def _cut(nemesis: Nemesis, node: Node) -> Supervised | None:
    nemesis.world.wires.cut(node.name)
    nemesis.last(0.7)
    nemesis.world.wires.heal(node.name)
    return node


def _snap(nemesis: Nemesis, node: Node) -> Supervised | None:
    """Again and again, for only some moments are bad ones."""
    for _ in range(5):
        nemesis.world.wires.snap(node.name)
        nemesis.last(0.05)
    return node


def _ambush(nemesis: Nemesis, node: Node) -> Supervised | None:
    nemesis.world.wires.ambush(node.name, nemesis.chance.choice((0.02, 0.1)))
    nemesis.last()
    nemesis.world.wires.heal(node.name)
    return node


def _swallow(nemesis: Nemesis, node: Node) -> Supervised | None:
    nemesis.world.wires.swallow(node.name)
    nemesis.last()
    nemesis.world.wires.heal(node.name)
    return node


def _delay(nemesis: Nemesis, node: Node) -> Supervised | None:
    nemesis.world.wires.delay(node.name, nemesis.chance.uniform(0.02, 0.3))
    nemesis.last()
    nemesis.world.wires.heal(node.name)
    return node


def _fill_disk(nemesis: Nemesis, node: Node) -> Supervised | None:
    """On PostgreSQL sometimes so that it needs a new file for its log, at which it falls over."""
    nemesis.world.disk.fill()
    if nemesis.world.server is not None and nemesis.chance.random() < 0.5:
        with suppress(psycopg.Error):
            nemesis.world.server.execute("SELECT pg_switch_wal()")
    nemesis.last(0.7)
    nemesis.world.disk.free()
    nemesis.world.raise_database()
    return None


def _server(nemesis: Nemesis) -> Server:
    assert nemesis.world.server is not None, "this world has no database of its own"
    return nemesis.world.server


_SESSIONS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
_OF_NODES: dict[str, _Fault] = {
    "node killed": _kill,
    "node restarted": _restart,
    "all nodes killed": _kill_all,
    "reader killed": _kill_reader,
    "reader asleep": _freeze_reader,
    "node asleep": _sleep,
    "clock turned": _turn_clock,
    "wire cut": _cut,
    "wire snapped": _snap,
    "packets lost": _ambush,
    "black hole": _swallow,
    "slow wire": _delay,
}
_OF_RELAYS: dict[str, _Fault] = {
    "relay killed": relay_faults.kill,
    "relay restarted": relay_faults.restart,
    "relay asleep": relay_faults.sleep,
    "relay cut off": relay_faults.cut_off,
    "relay misled": relay_faults.mislead,
}
_OF_STORES: dict[str, _Fault] = {
    "database killed": _kill_database,
    "database restarted": _restart_database,
    "database frozen": _freeze_database,
    "sessions ended": _end_sessions,
    "disk full": _fill_disk,
}
_OF_CALLS: dict[str, _Fault] = {
    "sync fails": file_faults.fail_syncs,
    "last sync fails": file_faults.fail_last_sync,
    "write fails": file_faults.fail_writes,
    "another call fails": file_faults.fail_others,
    "sync slow": file_faults.slow_syncs,
}
_OF_FILES: dict[str, _Fault] = {
    "directory deleted": file_faults.delete_directory,
    "directory moved": file_faults.move_directory,
    "directory replaced": file_faults.replace_directory,
    "journal deleted": file_faults.unlink_journal,
    "bits flipped": file_faults.flip_bits,
}
_FAULTS = _OF_NODES | _OF_RELAYS | _OF_STORES | _OF_CALLS | _OF_FILES
EVERY = (*_OF_NODES, *_OF_RELAYS, *_OF_STORES)
# Two may be at work at once where neither undoes what the other does.
OF_NODES, OF_STORES = (*_OF_NODES, *_OF_RELAYS), tuple(_OF_STORES)
SOLE = (
    "node killed",
    "node restarted",
    "node asleep",
    "reader killed",
    "reader asleep",
    "disk full",
    *_OF_CALLS,
    *_OF_RELAYS,
)
BEHIND_ITS_BACK = tuple(_OF_FILES)  # done to the files by others: a record of the node's own calls does not have them


@contextmanager
def striking(nemeses: Sequence[Nemesis]) -> Iterator[None]:
    """All of them at once; called off at the end, whatever that is."""
    for nemesis in nemeses:
        nemesis.start()
    try:
        yield
    finally:
        for nemesis in nemeses:
            nemesis.call_off()
