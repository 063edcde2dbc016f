"""A region in danger: nodes, the store they share, the wires between, and a supervisor that starts what has died."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from forewarn.core.folding.evolve import evolve
from forewarn.core.region import CampaignState, Region
from forewarn.plane.clock import wall_time
from forewarn.plane.ports import Journal, Record
from forewarn.stores.postgres.journal import PostgresJournal
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.loss.machines import Disk, Node, steady_port
from tests.loss.proxy import Wires
from tests.loss.watched_disk import WatchedDisk
from tests.postgres import Server
from tests.waiting import until

STALENESS_SECONDS = 2.0
NODES = ("a", "b", "c")
_SCHEMA = "region"
_DISK_MEGABYTES = 160
_LOOK_SECONDS = 0.2
_READ_AT_ONCE = 10_000
WAL_PAGES = "LOSS_WAL_PAGES"  # tells node.py after how many pages SQLite folds its log into the file
_WAL_PAGES = "100"  # so few that it happens many times in a round

# So short that an event is born, felt and closed within a round.
_NOTICES = ("freeze", "live_migration", "network", "reboot", "redeploy", "user_restart", "user_redeploy", "eviction")
_RECOVERIES = (*_NOTICES, "failure", "deletion")
OPTIONS = (
    *(part for cause in _NOTICES for part in (f"--notice-{cause.replace('_', '-')}", "3s")),
    *(part for cause in _RECOVERIES for part in (f"--recovery-{cause.replace('_', '-')}", "1s")),
    *("--duration-freeze", "1", "--duration-live-migration", "1"),
    *("--reboot-impact", "1s", "--redeploy-impact", "1s", "--eviction-impact", "1s", "--deletion-impact", "1s"),
    *("--user-operation-limit", "0", "--update-domains", "3", "--vms-per-host", "4"),
)


@dataclass
class World:
    """What a round has to do with. ``server`` and ``wires`` are there where nodes share a PostgreSQL."""

    directory: Path
    disk: Disk
    nodes: list[Node]
    wires: Wires | None = None
    server: Server | None = None
    watched: WatchedDisk | None = None  # the disk of a node that has a store of its own
    _tending: threading.Event = field(default_factory=threading.Event)

    # Life

    def await_ready(self) -> None:
        until(lambda: all(node.is_ready() for node in self.nodes), "every node is ready", self.logs)

    def tend(self) -> None:
        """The supervisor's thread."""
        while not self._tending.wait(_LOOK_SECONDS):
            for node in self.nodes:
                node.tend()

    def heal(self) -> None:
        """Whatever was done to it is undone; what is dead runs again."""
        self.disk.free()
        if self.watched is not None:
            self.watched.heal()
        for node in self.nodes:
            if self.wires is not None:
                self.wires.heal(node.name)
            node.wake()
            if not node.wanted:
                node.start()
        self.raise_database()

    def raise_database(self) -> None:
        """It runs and answers; a crash recovery is waited for."""
        if self.server is None:
            return
        try:
            self.server.thaw()
            self.server.wait()
        except (AssertionError, RuntimeError):
            self.server.stop()
            self.server.start()

    def close(self) -> list[str]:
        """End the nodes in good order; what was wrong with that."""
        self._tending.set()
        wrong = []
        for node in self.nodes:
            wrong += [f"node {node.name} ended by itself with status {status}" for status in node.exits]
            if (status := node.stop()) != 0:
                wrong.append(f"node {node.name} was told to end and did so with status {status}")
            wrong += [f"node {node.name} stumbled: {line}" for line in node.stumbles()]
            if node.hung:
                wrong.append(f"node {node.name} was told to end and did not, {node.hung} times")
        return wrong

    def logs(self) -> str:
        """The end of every log, for whoever wants to know what happened."""
        return "\n".join(f"{node.name}: {node.log.read_text()[-1500:]}" for node in self.nodes if node.log.exists())

    # What there is

    def now(self) -> datetime:
        """By the store's clock."""
        if self.server is None:
            return wall_time()
        ((found,),) = self.server.execute("SELECT clock_timestamp()")
        assert isinstance(found, datetime)
        return found

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        """Read past all wires. A SQLite journal has one server, which must have ended."""
        journal: Journal
        if self.server is None:
            journal = SqliteJournal(self.disk.place / "data")
        else:
            journal = PostgresJournal(self.server.url(schema=_SCHEMA))
        try:
            yield journal
        finally:
            journal.close()


def read_all(journal: Journal, after: int = 0) -> list[Record]:
    """Everything after a record."""
    records: list[Record] = []
    while found := journal.read(after + len(records), _READ_AT_ONCE):
        records += found
    return records


class Watch:
    """Follows a journal to see when nothing is left to be done."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seq = 0
        self._region = Region()

    def is_quiet(self) -> bool:
        """Every event has ended and no campaign has anything left to do."""
        for record in read_all(self._journal, self._seq):
            self._region, self._seq = evolve(self._region, record.fact), record.seq
        running = any(each.state is CampaignState.RUNNING for each in self._region.campaigns.values())
        return not self._region.events and not running


@contextmanager
def shared_world(directory: Path, environment: Mapping[str, str]) -> Iterator[World]:
    """Three nodes on one PostgreSQL, each behind a wire of its own."""
    with ExitStack() as stack:
        disk = _disk(stack)
        server = Server(disk.place / "pg")
        server.port = steady_port()
        stack.enter_context(server)
        stack.callback(_keep_log, server, directory)
        server.execute(f"CREATE SCHEMA {_SCHEMA}")
        wires = Wires(server.port, NODES)
        stack.callback(wires.close)
        nodes = [
            Node(
                name,
                directory,
                directory / f"{name}.data",
                ("--staleness", f"{STALENESS_SECONDS:g}s", *OPTIONS),
                {"FOREWARN_STORE": server.url(schema=_SCHEMA, port=wires.ports[name]), **environment},
            )
            for name in NODES
        ]
        with _running(World(directory, disk, nodes, wires, server)) as world:
            yield world


@contextmanager
def lone_world(directory: Path, environment: Mapping[str, str]) -> Iterator[World]:
    """One node with its SQLite journal on a small disk, where every call is watched and may fail."""
    with ExitStack() as stack:
        disk = _disk(stack)
        watched = WatchedDisk(disk.place, directory / "disk.record", directory / "disk.rules")
        node = Node(
            "sole",
            directory,
            disk.place / "data",
            OPTIONS,
            {WAL_PAGES: _WAL_PAGES, **environment},
            turnable=False,
            disk=watched,
        )
        with _running(World(directory, disk, [node], watched=watched)) as world:
            yield world


@contextmanager
def _running(world: World) -> Iterator[World]:
    supervisor = threading.Thread(target=world.tend, name="supervisor")
    try:
        for node in world.nodes:
            node.start()
        supervisor.start()
        world.await_ready()
        yield world
    finally:
        world._tending.set()
        if supervisor.is_alive():
            supervisor.join()
        for node in world.nodes:
            node.kill()


def _disk(stack: ExitStack) -> Disk:
    """Where the user that PostgreSQL runs as gets to as well."""
    place = Path(tempfile.mkdtemp(prefix="forewarn-loss-"))
    stack.callback(shutil.rmtree, place, ignore_errors=True)
    place.chmod(0o755)
    disk = Disk(place / "disk", _DISK_MEGABYTES)
    stack.callback(disk.close)
    return disk


def _keep_log(server: Server, directory: Path) -> None:
    with suppress(OSError):
        shutil.copy(server.log, directory / "postgresql.log")
