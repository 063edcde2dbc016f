"""Every system does what ``guest.system.parts`` promises: this machine, and a simulated one."""

from __future__ import annotations

import asyncio
import queue
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Protocol, TypeVar

import pytest

from forewarn.guest.system import this_machine
from forewarn.guest.system.parts import Program, Queue, System, TimeLeft
from forewarn.sim.fabric.disk import Disks, SimFiles
from forewarn.sim.fabric.loop import SimLoop
from forewarn.sim.fabric.network import Network
from forewarn.sim.fabric.sockets import SimSockets
from forewarn.sim.fabric.strands import Process, SimThreads, Strands
from forewarn.sim.fabric.system import SimSystem, StrandClock
from forewarn.sim.programs import Programs

_T = TypeVar("_T")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Machine(Protocol):
    """A machine on which a test can have something done."""

    root: Path
    good_line: str  # for its shell: does nothing, and does it well
    long_line: str  # takes ten minutes

    def run(self, work: Callable[[System], _T]) -> _T: ...


class Real:
    """This one."""

    good_line = "exit 0" if sys.platform == "win32" else "true"
    long_line = f'"{sys.executable}" -c "import time; time.sleep(600)"' if sys.platform == "win32" else "sleep 600"

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, work: Callable[[System], _T]) -> _T:
        return work(this_machine())


class Simulated:
    """One of a simulation, with nothing else in it. Each ``run`` is a process of its own, which then ends."""

    root = Path("/vm")
    good_line, long_line = "true", "sleep 600"

    def __init__(self) -> None:
        self.loop = SimLoop()
        hub = self.loop.strands = Strands(self.loop)
        network = self.loop.network = Network(self.loop, Random(1))
        disks = Disks(hub, Random(1))
        self._system = SimSystem(
            StrandClock(hub, lambda: NOON),
            Random(1),
            SimThreads(hub),
            SimSockets(network, hub),
            SimFiles(disks),
            Programs(hub, disks, Random(2)),
            lambda: 1,
        )

    def run(self, work: Callable[[System], _T]) -> _T:
        done: list[_T] = []
        process = Process("vm")
        self.loop.strands.start(process, "main", lambda: done.append(work(self._system)))
        self.loop.run_until_complete(asyncio.sleep(600))
        process.kill()
        for _, problem in self.loop.strands.broken:
            raise problem
        return done[0]


@pytest.fixture(params=["this machine", "a simulated one"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    if request.param == "this machine":
        yield Real(tmp_path)
        return
    simulated = Simulated()
    yield simulated
    simulated.loop.close()


# Files


def test_what_is_appended_is_read_back_and_can_be_cut_off_again(machine: Machine) -> None:
    path = machine.root / "journal"

    def work(system: System) -> list[object]:
        file = system.files.append(path)
        file.write(b"one")
        file.sync()
        size = file.size()
        file.write(b"two")
        seen = system.files.read(path)
        file.truncate(size)
        file.close()
        return [size, seen, system.files.read(path)]

    assert machine.run(work) == [3, b"onetwo", b"one"]


def test_a_file_that_is_opened_again_goes_on_and_one_that_is_opened_anew_is_empty(machine: Machine) -> None:
    path = machine.root / "journal"

    def work(system: System) -> list[bytes]:
        found = []
        for anew in (False, False, True):
            with closing(system.files.append(path, anew=anew)) as file:
                file.write(b"x")
            found.append(system.files.read(path))
        return found

    assert machine.run(work) == [b"x", b"xx", b"x"]


def test_a_file_that_is_moved_takes_the_place_of_another_and_stays_open(machine: Machine) -> None:
    old, new = machine.root / "journal", machine.root / "journal.new"

    def work(system: System) -> list[object]:
        system.files.write_whole(old, b"old")
        with closing(system.files.append(new)) as file:
            file.write(b"new")
            system.files.move(new, old)
            file.write(b"er")
        return [system.files.read(old), system.files.exists(new)]

    assert machine.run(work) == [b"newer", False]


def test_what_is_not_there_cannot_be_read_or_moved_and_is_removed_without_a_fault(machine: Machine) -> None:
    path = machine.root / "nothing"

    def work(system: System) -> None:
        with pytest.raises(FileNotFoundError):
            system.files.read(path)
        with pytest.raises(FileNotFoundError):
            system.files.move(path, machine.root / "other")
        system.files.remove(path)
        system.files.discard(path)

    machine.run(work)


def test_directories_are_made_with_those_above_them_and_may_be_there_already(machine: Machine) -> None:
    directory = machine.root / "a" / "b"

    def work(system: System) -> bytes:
        system.files.make_directory(directory)
        system.files.make_directory(directory)
        system.files.write_whole(directory / "note", b"it")
        system.files.sync_names(directory)
        return system.files.read(directory / "note")

    assert machine.run(work) == b"it"


def test_touching_makes_an_empty_file_and_leaves_one_that_is_there(machine: Machine) -> None:
    path = machine.root / "run" / "ready"

    def work(system: System) -> list[bytes]:
        system.files.touch(path)
        before = system.files.read(path)
        system.files.write_whole(path, b"content")
        system.files.touch(path)
        return [before, system.files.read(path)]

    assert machine.run(work) == [b"", b"content"]


def test_a_lock_can_be_had_again_when_it_was_let_go(machine: Machine) -> None:
    def work(system: System) -> None:
        for _ in range(2):
            system.files.lock(machine.root / "lock").close()

    machine.run(work)


# Threads


def test_a_queue_gives_what_was_put_in_order_and_says_that_it_is_empty_or_full(machine: Machine) -> None:
    def work(system: System) -> list[object]:
        items: Queue[int] = system.threads.queue(2)
        items.put(1)
        items.put(2)
        with pytest.raises(queue.Full):
            items.put(3)
        found: list[object] = [items.get(), items.get_nowait(), items.empty()]
        with pytest.raises(queue.Empty):
            items.get(timeout=0.01)
        return found

    assert machine.run(work) == [1, 2, True]


def test_threads_wake_each_other_and_are_waited_for(machine: Machine) -> None:
    def work(system: System) -> list[str]:
        threads, did = system.threads, list[str]()
        begin, items = threads.event(), threads.queue()  # type: ignore[var-annotated]  # of anything

        def other() -> None:
            assert begin.wait(60)
            did.append("began")
            items.put("news")

        thread = threads.start(other, "other")
        begin.set()
        did.append(items.get(timeout=60))
        thread.join(60)
        return did

    assert machine.run(work) == ["began", "news"]


def test_a_place_that_is_taken_is_refused_until_it_is_given_back(machine: Machine) -> None:
    def work(system: System) -> list[bool]:
        places = system.threads.places(1)
        told = [places.acquire(blocking=False), places.acquire(blocking=False)]
        places.release()
        return [*told, places.acquire(blocking=False)]

    assert machine.run(work) == [True, False, True]


# Sockets


def test_two_talk_and_the_listener_is_told_that_it_was_closed(machine: Machine) -> None:
    def work(system: System) -> list[bytes | None]:
        listener = system.sockets.listen("127.0.0.1" if machine.root != Path("/vm") else "vm", _port(machine), 8)
        heard: Queue[bytes | None] = system.threads.queue()

        def serve() -> None:
            while (taken := listener.accept()) is not None:
                with closing(taken):
                    taken.settimeout(60)
                    heard.put(taken.recv(100))
                    taken.sendall(b"answer")
            heard.put(None)

        system.threads.start(serve, "server")
        with closing(system.sockets.connect(*listener.address, 60)) as connection:
            connection.settimeout(60)
            connection.sendall(b"question")
            said = connection.recv(100)
        first = heard.get(timeout=60)
        listener.close()
        return [first, said, heard.get(timeout=60)]

    assert machine.run(work) == [b"question", b"answer", None]


def test_hanging_up_wakes_the_one_that_reads(machine: Machine) -> None:
    def work(system: System) -> bytes:
        listener = system.sockets.listen("127.0.0.1" if machine.root != Path("/vm") else "vm", _port(machine), 8)
        connection = system.sockets.connect(*listener.address, 60)
        heard: Queue[bytes] = system.threads.queue()

        def read() -> None:
            try:
                heard.put(connection.recv(100))
            except OSError:
                heard.put(b"")

        system.threads.start(read, "reader")
        system.sockets.hang_up(connection)
        said = heard.get(timeout=60)
        connection.close()
        listener.close()
        return said

    assert machine.run(work) == b""


def _port(machine: Machine) -> int:
    return 0 if isinstance(machine, Real) else 8080


# Programs


class Plenty:
    """More time than any program here takes."""

    def __init__(self, system: System) -> None:
        self._condition = system.threads.condition()

    def left(self) -> float:
        return 300.0

    def pause(self, seconds: float) -> bool:
        with self._condition:
            self._condition.wait(min(seconds, 300.0))
        return True


class Nothing(Plenty):
    """None at all."""

    def left(self) -> float:
        return 0.0

    def pause(self, seconds: float) -> bool:
        return False


STEP = {"FOREWARN_STEP": "flush", "FOREWARN_ACTION": "do"}


def run_flush(system: System, root: Path, line: str, time_left: TimeLeft) -> tuple[bool, list[str]]:
    """Run a line to its end; whether that came in time, and its receipt."""
    receipt = root / "1.receipt"
    program = Program(system.programs.shell(line), b"", STEP)
    run = system.programs.start(program, receipt, root / "1.output")
    in_time = run.wait(time_left)
    run.end(everything=not in_time)
    return in_time, system.files.read(receipt).decode().split()


def test_a_receipt_tells_that_a_program_began_and_how_it_ended(machine: Machine) -> None:
    def work(system: System) -> tuple[bool, list[str]]:
        return run_flush(system, machine.root, machine.good_line, Plenty(system))

    in_time, receipt = machine.run(work)
    assert in_time
    assert (receipt[0], receipt[2:]) == ("began", ["ended", "0"])


def test_a_program_without_time_is_ended_and_its_receipt_says_that_it_never_ended_by_itself(machine: Machine) -> None:
    def work(system: System) -> tuple[bool, list[str]]:
        return run_flush(system, machine.root, machine.long_line, Nothing(system))

    in_time, receipt = machine.run(work)
    assert not in_time
    assert "ended" not in receipt


def test_a_run_that_is_over_is_found_by_its_receipt(machine: Machine) -> None:
    def work(system: System) -> bool:
        run_flush(system, machine.root, machine.good_line, Plenty(system))
        return system.programs.find(machine.root / "1.receipt").wait(Plenty(system))

    assert machine.run(work)


# The rest


def test_time_only_grows_and_chance_keeps_to_its_bounds(machine: Machine) -> None:
    def work(system: System) -> None:
        assert system.clock.monotonic() <= system.clock.monotonic()
        assert system.clock.now().tzinfo is not None
        assert all(0.0 <= system.chance.random() < 1.0 for _ in range(100))
        for bits in (1, 8, 32, 128):
            assert all(0 <= system.chance.getrandbits(bits) < 1 << bits for _ in range(100))
        assert len({system.chance.getrandbits(128) for _ in range(100)}) == 100

    machine.run(work)


def test_telling_a_supervisor_anything_never_fails_also_where_there_is_none(machine: Machine) -> None:
    def work(system: System) -> None:
        supervisor = system.supervisor()
        supervisor.ready("watching")
        supervisor.alive()
        supervisor.status("at work")
        supervisor.stopping()
        assert supervisor.alive_every_seconds is None
        assert system.boot_id() == system.boot_id()

    machine.run(work)
