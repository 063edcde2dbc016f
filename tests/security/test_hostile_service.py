"""An agent whose metadata service is an enemy: it gets no further than an event may, and the agent lives on."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forewarn.guest import Unavailable
from forewarn.guest.agent.barrier.lines import BarrierLine
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Receipts
from forewarn.guest.agent.inbox import Answered, Inbox
from forewarn.guest.agent.steps import KINDS, Task
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.agent.values import Step
from forewarn.guest.system import this_machine
from forewarn.terms import ScheduledEvent
from tests.unit.guest.azure import OK, RawServer
from tests.unit.guest.shells import Guest, OnLoop, Waiting

MACHINE = this_machine()

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HURRIED = {"timeout_seconds": 0.5, "first_timeout_seconds": 0.5, "patience_seconds": 0.0}
ANSWERS = {
    "a status of many digits": b"HTTP/1.1 " + b"1" * 10_000 + b" OK\r\n\r\n",
    "a status that is none": b"HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n",
    "a head without end": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    "a line without end": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1_000_000,
    "a monstrous length": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    "a chunk that is none": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a monstrous chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
    "interim answers without end": b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000,
    "not HTTP at all": b"SSH-2.0-OpenSSH\r\n",
    "nests": OK % (200_000, b"[" * 200_000),
    "a number of many digits": OK % (5026, b'{"DocumentIncarnation": %b}' % (b"9" * 5000)),
    "another thing": OK % (7, b'{"a":1}'),
}


@contextmanager
def _asking(kind: Callable[..., Guest], answer: bytes) -> Iterator[Guest]:
    server = RawServer(lambda request: answer)
    guest = kind(server.url, **HURRIED)
    try:
        yield guest
    finally:
        guest.close()
        server.close()


@pytest.mark.parametrize("kind", [Waiting, OnLoop])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_whatever_a_service_sends_is_a_fault_that_the_client_survives(
    kind: Callable[..., Guest], answer: bytes
) -> None:
    with _asking(kind, answer) as guest:
        for _ in range(2):
            with pytest.raises(Unavailable):
                guest.document()


def test_an_answer_that_trickles_is_given_up_when_its_time_is_over() -> None:
    """One byte at a time, each in time: the whole has a time too."""
    listening = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def trickle() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not stop.wait(0.02):
                connection.sendall(b"X: y\r\n")

    thread = threading.Thread(target=trickle)
    thread.start()
    guest = Waiting(f"http://127.0.0.1:{listening.getsockname()[1]}", **HURRIED)
    try:
        with pytest.raises(Unavailable, match="no answer within"):
            guest.document()
    finally:
        stop.set()
        thread.join()
        guest.close()
        listening.close()


EVIL = "$(touch pwned) `touch pwned`; touch pwned\n-x --help '\"\\ \x1b[2J\0é"
EVENT = ScheduledEvent(EVIL, EVIL, EVIL, (EVIL, "web"), NOON, EVIL, EVIL, 9)


def test_an_event_reaches_a_hook_as_data_and_is_never_run(tmp_path: Path) -> None:
    """In the environment and on standard input, under names that are ours; never in a command."""
    settings: dict[str, object] = {
        "run": 'printf "%s" "$FOREWARN_EVENT_DESCRIPTION" > told; env -0 > all',
        "directory": str(tmp_path),
    }
    task = Task(
        MACHINE,
        Step("it", "command", settings),
        EVENT,
        "web",
        Budget(MACHINE, 30),
        Receipts(tmp_path / "runs", "1"),
        False,
    )
    assert KINDS["command"].do(task).good
    assert (tmp_path / "told").read_bytes() == EVIL.replace("\0", "").encode()
    assert not list(tmp_path.rglob("pwned"))
    before = set(os.environ)
    names = {entry.partition(b"=")[0].decode() for entry in (tmp_path / "all").read_bytes().split(b"\0") if entry}
    assert {name for name in names - before if not name.startswith("FOREWARN_")} <= {"PWD", "OLDPWD", "_", "SHLVL"}


def test_an_event_too_large_for_a_program_is_a_step_that_failed(tmp_path: Path) -> None:
    large = ScheduledEvent("A", "Scheduled", "Reboot", ("web",), NOON, "x" * 4_000_000)
    task = Task(
        MACHINE,
        Step("it", "command", {"run": ["/bin/true"]}),
        large,
        "web",
        Budget(MACHINE, 30),
        Receipts(tmp_path, "1"),
        False,
    )
    ended = KINDS["command"].do(task)
    assert not ended.good
    assert "cannot be started" in ended.detail


@pytest.mark.parametrize(
    "name", ["127.0.0.1:{port}/x?", "a@127.0.0.1:{port}", "127.0.0.1:{port}#", "x/../y", "a b", "", "a\r\nX: y", "é"]
)
def test_a_name_in_a_document_does_not_lead_a_barriers_question_elsewhere(name: str) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.0)
    port = listening.getsockname()[1]
    inbox: Inbox = MACHINE.threads.queue()
    line = BarrierLine(MACHINE, b"0123456789abcdef", "http://{name}", inbox, Metrics(MACHINE.threads))
    assert line.ask("E", name.format(port=port), "ready")
    assert inbox.get(timeout=20.0) == Answered("E", name.format(port=port), None)
    with pytest.raises(BlockingIOError):
        listening.accept()
    listening.close()
