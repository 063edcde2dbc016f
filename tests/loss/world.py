"""A region in danger: nodes, relays, the store, the wires between, and a supervisor that starts what has died."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
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
from tests.loss.doors import Door, RelayDoor
from tests.loss.machines import Disk, Node, steady_port
from tests.loss.proxy import Wires
from tests.loss.roster import FIRST_VMS
from tests.loss.supervised import Supervised
from tests.loss.watched_disk import WatchedDisk
from tests.postgres import Server
from tests.waiting import until

STALENESS_SECONDS = 2.0
READERS = ("--readers", "2")  # of one of three nodes, and of every other node that is alone
NODES = ("a", "b", "c")
RELAYS = {"beside-vms": "", "beside-host": "host-1"}  # with the host of whose VMs each has news; or of a list
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
    *("--staleness", f"{STALENESS_SECONDS:g}s"),
    *(part for cause in _NOTICES for part in (f"--notice-{cause.replace('_', '-')}", "3s")),
    *(part for cause in _RECOVERIES for part in (f"--recovery-{cause.replace('_', '-')}", "1s")),
    *("--duration-freeze", "1", "--duration-live-migration", "1"),
    *("--reboot-impact", "1s", "--redeploy-impact", "1s", "--eviction-impact", "1s", "--deletion-impact", "1s"),
    *("--user-operation-limit", "0", "--update-domains", "3", "--vms-per-host", "4"),
)


@dataclass
class World:
    """What a round has to do with. ``server`` is there where nodes share a PostgreSQL."""

    directory: Path
    disk: Disk
    nodes: list[Node]
    wires: Wires  # of nodes to the database, by their names, and of relays to nodes
    relays: list[RelayDoor]
    server: Server | None = None
    watched: WatchedDisk | None = None  # the disk of a node that has a store of its own
    _tending: threading.Event = field(default_factory=threading.Event)

    @property
    def programs(self) -> list[Supervised]:
        return [*self.nodes, *self.relays]

    @property
    def doors(self) -> list[Door]:
        """Where VMs read and approve."""
        return [*self.nodes, *self.relays]

    # Life

    def await_ready(self) -> None:
        until(lambda: all(each.is_ready() for each in self.programs), "every program is ready", self.logs)

    def tend(self) -> None:
        """The supervisor's thread."""
        while not self._tending.wait(_LOOK_SECONDS):
            for each in self.programs:
                each.tend()

    def heal(self) -> None:
        """Whatever was done to it is undone; what is dead runs again."""
        self.disk.free()
        if self.watched is not None:
            self.watched.heal()
        for wire in self.wires.ports:
            self.wires.heal(wire)
        for each in self.programs:
            each.wake()
            if not each.wanted:
                each.start()
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
        """End all in good order, those first that live on others; what was wrong with that."""
        self._tending.set()
        return [what for each in (*self.relays, *self.nodes) for what in each.farewell()]

    def logs(self) -> str:
        """The end of every log, for whoever wants to know what happened."""
        return "\n".join(f"{each.name}: {each.log.read_text()[-1500:]}" for each in self.programs if each.log.exists())

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
        nodes = [
            Node(
                name=name,
                directory=directory,
                data=directory / f"{name}.data",
                options=(*OPTIONS, *(READERS if name == NODES[1] else ())),
            )
            for name in NODES
        ]
        wires = _wires(stack, nodes, dict.fromkeys(NODES, server.port))
        for node in nodes:
            node.environment = {
                "FOREWARN_STORE": server.url(schema=_SCHEMA, port=wires.ports[node.name]),
                **environment,
            }
        relays = _relays(directory, environment, wires, nodes)
        with _running(World(directory, disk, nodes, wires, relays, server)) as world:
            yield world


@contextmanager
def lone_world(directory: Path, environment: Mapping[str, str], *, readers: bool = False) -> Iterator[World]:
    """One node with its SQLite journal on a small disk, where every call is watched and may fail."""
    with ExitStack() as stack:
        disk = _disk(stack)
        watched = WatchedDisk(disk.place, directory / "disk.record", directory / "disk.rules")
        node = Node(
            name="sole",
            directory=directory,
            data=disk.place / "data",
            options=(*OPTIONS, *(READERS if readers else ())),
            environment={WAL_PAGES: _WAL_PAGES, **environment},
            turnable=False,
            disk=watched,
        )
        wires = _wires(stack, [node], {})
        relays = _relays(directory, environment, wires, [node])
        with _running(World(directory, disk, [node], wires, relays, watched=watched)) as world:
            yield world


def _wires(stack: ExitStack, nodes: Sequence[Node], to_store: Mapping[str, int]) -> Wires:
    to_nodes = {_way(relay, node): node.control_port for relay in RELAYS for node in nodes}
    wires = Wires({**to_store, **to_nodes})
    stack.callback(wires.close)
    return wires


def _way(relay: str, node: Node) -> str:
    return f"{relay}-{node.name}"


def _relays(directory: Path, environment: Mapping[str, str], wires: Wires, nodes: Sequence[Node]) -> list[RelayDoor]:
    """One for the VMs that a round begins with, one for whoever is on a host; each comes to another node first."""
    made = []
    for number, (name, host) in enumerate(RELAYS.items()):
        ways = [_way(name, node) for node in (*nodes[number:], *nodes[:number])]
        vms = frozenset() if host else FIRST_VMS
        made.append(
            RelayDoor(
                name=name,
                directory=directory,
                upstreams=ways,
                wires=wires,
                vms=vms,
                host=host,
                environment=environment,
            )
        )
    return made


@contextmanager
def _running(world: World) -> Iterator[World]:
    supervisor = threading.Thread(target=world.tend, name="supervisor")
    try:
        for each in world.programs:
            each.start()
        supervisor.start()
        world.await_ready()
        yield world
    finally:
        world._tending.set()
        if supervisor.is_alive():
            supervisor.join()
        for each in world.programs:
            each.kill()


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
