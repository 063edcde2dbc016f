"""Connections that behave as TCP does, and disks that forget what was not synced."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from forewarn.sim.fabric.disk import Disks, SimFiles
from forewarn.sim.fabric.loop import PLACE, SimLoop
from forewarn.sim.fabric.sockets import SimSockets
from forewarn.sim.fabric.strands import Process


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(data.upper())


def serve(loop: SimLoop, place: str = "server") -> None:
    context = contextvars.copy_context()
    context.run(PLACE.set, place)
    loop.run_until_complete(loop.create_task(loop.create_server(Echo, "0.0.0.0", 80), context=context))


def in_vm(loop: SimLoop, work: Callable[[], None], name: str = "vm") -> Process:
    process = Process(name)
    loop.strands.start(process, "main", work)
    return process


def test_a_strand_talks_to_a_protocol(loop: SimLoop) -> None:
    serve(loop)
    said: list[bytes] = []

    def work() -> None:
        with closing(SimSockets(loop.network, loop.strands).connect("server", 80, 5.0)) as connection:
            connection.sendall(b"hello")
            said.append(connection.recv(100))

    in_vm(loop, work)
    loop.run_until_complete(asyncio.sleep(1))
    assert said == [b"HELLO"]


def test_bytes_sent_into_a_cut_arrive_when_it_heals(loop: SimLoop) -> None:
    serve(loop)
    said: list[tuple[bytes, float]] = []

    def work() -> None:
        connection = SimSockets(loop.network, loop.strands).connect("server", 80, 5.0)
        loop.network.cut("server")
        connection.sendall(b"hello")
        said.append((connection.recv(100), loop.time()))

    in_vm(loop, work)
    before = loop.time()
    loop.call_later(60, loop.network.mend, "server")
    loop.run_until_complete(asyncio.sleep(120))
    assert said[0][0] == b"HELLO"
    assert said[0][1] >= before + 60


def test_a_port_without_a_listener_refuses_and_a_cut_network_times_out(loop: SimLoop) -> None:
    problems: list[type[Exception]] = []

    def work() -> None:
        for host in ("nobody", "cut"):
            try:
                SimSockets(loop.network, loop.strands).connect(host, 80, 5.0)
            except OSError as problem:
                problems.append(type(problem))

    loop.network.cut("cut")
    in_vm(loop, work)
    loop.run_until_complete(asyncio.sleep(30))
    assert problems == [ConnectionRefusedError, TimeoutError]


def test_a_server_that_dies_resets_its_connections_and_one_without_power_does_not(loop: SimLoop) -> None:
    said: list[str] = []
    for place in ("dies", "dark"):
        serve(loop, place)

    def work(place: str) -> None:
        connection = SimSockets(loop.network, loop.strands).connect(place, 80, 5.0)
        connection.settimeout(20.0)
        try:
            connection.recv(100)
        except OSError as problem:
            said.append(f"{place} {type(problem).__name__}")

    for place in ("dies", "dark"):
        # A default that binds the loop's variable
        in_vm(loop, lambda place=place: work(place), f"vm-{place}")  # type: ignore[misc]
    loop.run_until_complete(asyncio.sleep(1))
    loop.network.vanish("dies", silent=False)
    loop.network.vanish("dark", silent=True)
    loop.run_until_complete(asyncio.sleep(60))
    assert said == ["dies ConnectionResetError", "dark TimeoutError"]


def test_lost_power_keeps_what_was_synced(loop: SimLoop, disks: Disks) -> None:
    files, journal = SimFiles(disks), Path("/vm/journal")

    def work() -> None:
        file = files.append(journal)
        file.write(b"safe")
        file.sync()
        file.write(b"and not")

    in_vm(loop, work)
    loop.run_until_complete(asyncio.sleep(1))
    disks.lose_power("vm")
    kept: list[bytes] = []
    in_vm(loop, lambda: kept.append(files.read(journal)))
    loop.run_until_complete(asyncio.sleep(1))
    assert kept[0].startswith(b"safe")
    assert b"safeand not".startswith(kept[0])


def test_a_lock_is_free_again_when_its_holder_is_killed(loop: SimLoop, disks: Disks) -> None:
    files, told = SimFiles(disks), list[str]()

    def work() -> None:
        try:
            files.lock(Path("/vm/lock"))
        except BlockingIOError:
            told.append("busy")
            return
        told.append("mine")
        loop.strands.sleep(1000)

    first = in_vm(loop, work)
    loop.run_until_complete(asyncio.sleep(1))
    in_vm(loop, work)
    loop.run_until_complete(asyncio.sleep(1))
    first.kill()
    in_vm(loop, work)
    loop.run_until_complete(asyncio.sleep(1))
    assert told == ["mine", "busy", "mine"]


def test_a_full_disk_takes_nothing(loop: SimLoop, disks: Disks) -> None:
    problems: list[str] = []

    def work() -> None:
        try:
            SimFiles(disks).write_whole(Path("/vm/file"), b"x")
        except OSError as problem:
            problems.append(str(problem))

    disks.full.add("vm")
    in_vm(loop, work)
    loop.run_until_complete(asyncio.sleep(1))
    assert len(problems) == 1
    assert "No space left" in problems[0]
    assert not disks.exists("/vm/file")
