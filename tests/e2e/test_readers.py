"""Readers as processes of their own: killed, frozen, left behind by their server, drained, on both stores."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPException, IncompleteRead
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.metadata_region import Guest, get
from tests.e2e.nodes import nodes
from tests.e2e.program import EVENTS, ServerProgram, ask, clean_environment, run
from tests.figures import figures
from tests.ports import free_port
from tests.postgres import Server
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="readers are Linux's")
READERS = 2


@contextmanager
def server(data: Path, *options: str) -> Iterator[ServerProgram]:
    places = ("--resource-manager", "off", "--readers", str(READERS), *options)
    with ServerProgram.start(data, *places, env=clean_environment()) as found:
        yield found


def readers_of(found: ServerProgram) -> list[int]:
    """Their pids."""
    pid = found.process.pid
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_there(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextmanager
def guests_of(found: ServerProgram, number: int) -> Iterator[list[Guest]]:
    """Connections that are kept."""
    parts = urlsplit(found.metadata)
    with ExitStack() as stack:
        opened = [socket.create_connection((parts.hostname, parts.port), PATIENCE_SECONDS) for _ in range(number)]
        yield [Guest(stack.enter_context(each)) for each in opened]


class Poller(threading.Thread):
    """One VM's program that polls, with a connection for each poll or with one for all, as long as it may."""

    def __init__(self, url: str, vm: str, *, keeps: bool) -> None:
        super().__init__()
        self._url, self._vm, self.keeps = urlsplit(url), vm, keeps
        self.told: list[int] = []
        self.wrong: list[str] = []
        self.cuts: list[float] = []  # when, by the machine's monotonic clock
        self.refused = 0
        self.enough = threading.Event()

    def run(self) -> None:
        connection: HTTPConnection | None = None
        while not self.enough.is_set():
            try:
                connection = connection or HTTPConnection(str(self._url.hostname), self._url.port, timeout=20)
                connection.request("GET", f"/vm/{self._vm}{EVENTS}", headers={"Metadata": "true"})
                response = connection.getresponse()
                self._look(response.status, response.read())
                if not self.keeps:
                    connection.close()
                    connection = None
            except ConnectionRefusedError:
                self.refused += 1
                connection = None
                self.enough.wait(0.01)
            except IncompleteRead as half:
                self.wrong.append(f"half an answer: {half!r}")
                connection = None
            except (OSError, HTTPException):
                self.cuts.append(time.monotonic())
                connection = None
        if connection is not None:
            connection.close()

    def _look(self, status: int, body: bytes) -> None:
        if status != 200:
            self.wrong.append(f"{status} {body!r}")
            return
        document = json.loads(body)
        number = document["DocumentIncarnation"]
        if self.told and number < self.told[-1]:
            self.wrong.append(f"{number} after {self.told[-1]}")
        if {event["Resources"][0] for event in document["Events"]} - {self._vm}:
            self.wrong.append(f"somebody else's: {body!r}")
        self.told.append(number)


@contextmanager
def polled(found: ServerProgram, *vms: str) -> Iterator[list[Poller]]:
    pollers = [Poller(found.metadata, vm, keeps=keeps) for vm in vms for keeps in (True, False)]
    for poller in pollers:
        poller.start()
    try:
        until(lambda: all(len(poller.told) > 10 for poller in pollers), "polls of all")
        yield pollers
    finally:
        for poller in pollers:
            poller.enough.set()
        for poller in pollers:
            poller.join()


def change(found: ServerProgram, vm: str, times: int) -> None:
    for _ in range(times):
        event = found.json("vm", "restart", vm)["events"][0]
        found.forewarn("event", "cancel", event if isinstance(event, str) else event["id"])


def test_a_reader_that_is_killed_under_load_cuts_its_own_connections_and_nobody_sees_a_wrong_document(
    tmp_path: Path,
) -> None:
    with server(tmp_path / "region") as found:
        found.forewarn("vm", "create", "web", "--count", "3", "--read")
        before = readers_of(found)
        with guests_of(found, 20) as kept, polled(found, "web-0", "web-1") as pollers:
            for guest in kept:
                assert guest.ask(get("web-2")).status == 200
            change(found, "web-0", 2)
            os.kill(before[0], signal.SIGKILL)
            change(found, "web-0", 2)
            until(lambda: len(readers_of(found)) == READERS and before[0] not in readers_of(found), "another reader")
            seen = [len(poller.told) for poller in pollers]
            until(lambda: all(len(each.told) > count for each, count in zip(pollers, seen, strict=True)), "answers")
            alive = [guest for guest in kept if _answers(guest)]
        assert [poller.wrong for poller in pollers] == [[]] * len(pollers)
        assert {poller.told[-1] for poller in pollers[:2]} == {9}  # four events came and went
        assert 0 < len(alive) < len(kept)  # those of the other reader, and of them all
        assert before[1] in readers_of(found)
        assert "was ended by signal 9; another one begins" in found.log.read_text()
        assert found.stop() == 0


def _answers(guest: Guest) -> bool:
    try:
        return guest.ask(get("web-2")).status == 200
    except (OSError, AssertionError):
        return False


def test_no_reader_outlives_a_server_that_is_killed_and_its_port_is_free(tmp_path: Path) -> None:
    port = free_port()
    place = ("--metadata", f"127.0.0.1:{port}")
    with server(tmp_path / "region", *place) as first:
        first.forewarn("vm", "create", "web", "--read")
        left = readers_of(first)
        os.kill(left[0], signal.SIGSTOP)  # one that can hear nothing of it
        first.forewarn("vm", "restart", "web")
        first.kill()
        with server(tmp_path / "region", *place) as second:
            assert second.document("web")["DocumentIncarnation"] == 2
            until(lambda: not any(map(is_there, left)), "the end of all readers")
            assert second.stop() == 0


def test_a_server_that_ends_under_load_answers_all_that_it_was_asked(tmp_path: Path) -> None:
    with server(tmp_path / "region", "--drain", "500ms") as found:
        found.forewarn("vm", "create", "web", "--count", "3", "--read")
        left = readers_of(found)
        with guests_of(found, 8) as held, polled(found, "web-0", "web-1") as pollers:
            for guest in held:
                guest.send(get("web-2", 'If-None-Match: "1"', "Prefer: wait=100"))
            assert found.stop() == 0
            assert [guest.answer().status for guest in held] == [304] * len(held)
        assert [poller.wrong for poller in pollers] == [[]] * len(pollers)
        assert all(poller.refused for poller in pollers)
        until(lambda: not any(map(is_there, left)), "the end of all readers")
        assert "killed" not in found.log.read_text()


@pytest.mark.parametrize("shared", [False, True], ids=["SQLite", "PostgreSQL"])
def test_a_server_that_takes_over_the_port_of_one_that_was_drained_goes_on_where_that_ended(
    tmp_path: Path, postgres: Server, shared: bool
) -> None:
    """As an upgrade does it. On PostgreSQL the second one is another node, which has its own directory.

    What has come is answered. Who is just connecting when the port closes is refused, or his connection is reset.
    """
    place = ("--metadata", f"127.0.0.1:{free_port()}", "--drain", "500ms")
    store = ("--store", postgres.region()) if shared else ()
    with server(tmp_path / "first", *place, *store) as first:
        first.forewarn("vm", "create", "web", "--count", "3", "--read")
        with guests_of(first, 8) as held, polled(first, "web-0", "web-1") as pollers:
            for guest in held:
                guest.send(get("web-2", 'If-None-Match: "1"', "Prefer: wait=100"))
            change(first, "web-0", 2)
            asked_to_end = time.monotonic()
            assert first.stop() == 0
            assert [guest.answer().status for guest in held] == [304] * len(held)
            with server(tmp_path / ("second" if shared else "first"), *place, *store) as second:
                is_there = time.monotonic()
                change(second, "web-0", 2)
                until(lambda: all(each.told[-1] == 9 for each in pollers[:2]), "the news of the second one")
                for poller in pollers:
                    poller.enough.set()
                    poller.join()
                assert len(readers_of(second)) == READERS
        assert [poller.wrong for poller in pollers] == [[]] * len(pollers)
        for poller in pollers:
            assert poller.refused > 0
            assert len(poller.cuts) <= 2  # one that is kept ends between two requests, and another one as it begins
            assert all(asked_to_end < at < is_there for at in poller.cuts)


def test_a_reader_that_is_frozen_is_replaced(tmp_path: Path) -> None:
    with server(tmp_path / "region", "--staleness", "2s") as found:
        found.forewarn("vm", "create", "web", "--read")
        frozen = readers_of(found)[0]
        os.kill(frozen, signal.SIGSTOP)
        until(lambda: frozen not in readers_of(found), "the end of the frozen one")
        until(lambda: len(readers_of(found)) == READERS, "another reader")
        until(lambda: _beside(found) == (READERS, 1, 0), "the node to tell of it")
        told = figures(ask(found.control, "/metrics").body.decode())
        assert (told[("forewarn_readers",)], told[("forewarn_readers_ended_total",)]) == (READERS, 1)
        assert [found.document("web")["DocumentIncarnation"] for _ in range(8)] == [1] * 8


def test_a_reader_that_freezes_as_it_begins_is_replaced_and_a_server_that_was_frozen_keeps_its_own(
    tmp_path: Path,
) -> None:
    with server(tmp_path / "region", "--staleness", "2s") as found:
        found.forewarn("vm", "create", "web", "--read")
        before = readers_of(found)
        os.kill(before[0], signal.SIGKILL)
        (newborn,) = until(lambda: _heirs(found, before), "its successor")
        os.kill(newborn, signal.SIGSTOP)
        assert len(until(lambda: _others(found, newborn), "another one in place of the frozen one")) == READERS
        assert f"The reader {newborn} has fallen silent; it is killed." in found.log.read_text()
        until(lambda: _beside(found) == (READERS, 2, 0), "the node to tell of both")
        kept = readers_of(found)
        found.process.send_signal(signal.SIGSTOP)
        frozen_at = time.monotonic()
        until(lambda: time.monotonic() > frozen_at + 12, "more than the silence for which readers are killed")
        found.process.send_signal(signal.SIGCONT)
        change(found, "web", 2)
        assert [found.document("web")["DocumentIncarnation"] for _ in range(8)] == [5] * 8
        assert (readers_of(found), _beside(found)) == (kept, (READERS, 2, 0))


def _heirs(found: ServerProgram, before: list[int]) -> list[int]:
    """New readers that run their own program by now: until then the server waits, and would freeze with them."""
    new = [pid for pid in readers_of(found) if pid not in before]
    return [pid for pid in new if b"forewarn.server.readers" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def _others(found: ServerProgram, frozen: int) -> list[int]:
    """Its readers, once the frozen one is gone and there are as many as before."""
    pids = readers_of(found)
    return pids if frozen not in pids and len(pids) == READERS else []


def _beside(found: ServerProgram) -> tuple[int, int, int]:
    """Who answers beside it, as the node says: readers, those that ended, relays."""
    told = found.json("node", "list")["beside"]
    return told["readers"], told["readers_ended"], told["relays"]


def test_readers_of_a_frozen_server_answer_no_longer_than_they_may(tmp_path: Path) -> None:
    with server(tmp_path / "region", "--staleness", "2s") as found:
        found.forewarn("vm", "create", "web", "--read")
        events = f"/vm/web{EVENTS}"
        found.process.send_signal(signal.SIGSTOP)
        try:
            assert ask(found.metadata, events).status == 200
            until(lambda: ask(found.metadata, events).status == 503, "the end of what they may know")
        finally:
            found.process.send_signal(signal.SIGCONT)
        until(lambda: ask(found.metadata, events).status == 200, "the server back")


def test_two_servers_do_not_share_a_port(tmp_path: Path) -> None:
    with server(tmp_path / "first") as found:
        place = f"127.0.0.1:{urlsplit(found.metadata).port}"
        where = ("--data", tmp_path / "second", "--control", "127.0.0.1:0", "--resource-manager", "off")
        done = run("serve", *where, "--metadata", place, "--readers", "2", status=1)
        assert f"cannot listen on {place}" in done.stderr


def test_readers_are_refused_where_they_could_not_work(tmp_path: Path) -> None:
    for options, why in (
        (("--clock", "virtual"), "readers go by a clock that nobody turns"),
        (("--faces", "control"), "faces leaves the metadata face off"),
        (("--otlp", "http://127.0.0.1:1", "--otlp-traces", "on"), "readers answer VMs without telling of each answer"),
        (("--readers", "65"), "the setting readers (--readers) is not right"),
    ):
        done = run("serve", "--data", tmp_path / "region", "--readers", "2", *options, status=2)
        assert why in done.stderr
    assert not (tmp_path / "region").exists()


def test_a_vm_with_an_address_of_its_own_is_served_beside_the_readers(tmp_path: Path) -> None:
    with server(tmp_path / "region") as found:
        found.forewarn("vm", "create", "web", "--count", "2", "--read")
        found.forewarn("vm", "bind", "web-0", "--local-address", "127.0.0.77")
        own = f"http://127.0.0.77:{urlsplit(found.metadata).port}"
        until(lambda: _is_answered(own), "the address of its own")
        for number, deed in ((2, "restart"), (3, "redeploy")):
            found.forewarn("vm", deed, "web-0")
            told = [ask(own, EVENTS).document, ask(found.metadata, f"/vm/web-1{EVENTS}").document]
            assert [each["DocumentIncarnation"] for each in told] == [number, 1]
        assert ask(own, f"/vm/web-1{EVENTS}").status == 404


def test_at_a_desk_readers_take_a_name_from_anywhere_and_a_region_in_memory_has_them_too(tmp_path: Path) -> None:
    options = ("--ephemeral", "--desk", "--metadata", "0.0.0.0:0", "--resource-manager", "off", "--readers", "2")
    env = clean_environment(FOREWARN_TOKEN="sesame")
    with ServerProgram.start(tmp_path / "region", *options, env=env, cwd=tmp_path) as found:
        found.forewarn("vm", "create", "web", "--count", "2")
        assert [found.document("web-0")["DocumentIncarnation"] for _ in range(6)] == [1] * 6
        page = {"Metadata": "true", "Origin": "https://page.example"}
        assert ask(found.metadata, f"/vm/web-0{EVENTS}", page).status == 400
        assert len(readers_of(found)) == READERS


def _is_answered(url: str) -> bool:
    try:
        return ask(url, EVENTS).status == 200
    except OSError:
        return False


def test_readers_are_told_of_what_other_nodes_write_and_go_stale_with_their_node(
    postgres: Server, tmp_path: Path
) -> None:
    with nodes(postgres.region(), tmp_path, "--readers", "2", "--staleness", "4s", names=("alpha", "beta")) as region:
        alpha, beta = region["alpha"], region["beta"]
        alpha.forewarn("vm", "create", "web", "--count", "2", "--read")
        with polled(alpha, "web-0") as at_alpha, polled(beta, "web-1") as at_beta:
            for _ in range(3):
                change(beta, "web-0", 1)
                change(alpha, "web-1", 1)
            until(lambda: all(each.told[-1] == 7 for each in (*at_alpha, *at_beta)), "all that was written elsewhere")
        assert [poller.wrong for poller in (*at_alpha, *at_beta)] == [[]] * 4
        event = alpha.json("vm", "restart", "web-0")["events"][0]
        until(lambda: beta.document("web-0")["Events"], "the event at the other node's readers")
        assert beta.approve("web-0", event if isinstance(event, str) else event["id"]).status == 200
        assert alpha.stop() == beta.stop() == 0
