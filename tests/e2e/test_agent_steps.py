"""Each kind of step and its way back, with real files, sockets and programs."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from forewarn.guest.agent.deciding.state import StepEnd, StepOutcome
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Receipts
from forewarn.guest.agent.steps import KINDS, Task, has_reverse, may_repeat
from forewarn.guest.agent.values import Step
from forewarn.guest.system import this_machine
from forewarn.terms import ScheduledEvent

MACHINE = this_machine()

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = ScheduledEvent("A-1", "Scheduled", "Reboot", ("web-0", "web-1"), NOON, "Host.", "Platform", 9)


def task(directory: Path, kind: str, *, undo: bool = False, seconds: float = 30, **settings: object) -> Task:
    step = Step("it", kind, settings)
    return Task(MACHINE, step, EVENT, "web-0", Budget(MACHINE, seconds), Receipts(directory / "runs", "run-1"), undo)


def do(each: Task) -> StepEnd:
    kind = KINDS[each.step.kind]
    return kind.undo(each) if each.undo else kind.do(each)


def test_a_kind_says_which_of_its_keys_is_missing() -> None:
    assert [each.message for each in KINDS["ready-file"].keys.check({})] == ["needs path"]


def test_what_may_be_repeated_is_said_by_its_nature_or_by_its_author() -> None:
    assert not may_repeat(Step("it", "command", {"run": ["a"]}))
    assert may_repeat(Step("it", "command", {"run": ["a"]}, repeatable=True))
    assert may_repeat(Step("it", "ready-file", {"path": "/x"}))
    assert not may_repeat(Step("it", "http", {"url": "http://x"}))
    assert may_repeat(Step("it", "http", {"url": "http://x", "method": "put"}))


def test_what_has_no_reverse_says_so() -> None:
    assert not has_reverse(Step("it", "wait", {"url": "http://x"}))
    assert not has_reverse(Step("it", "command", {"run": ["a"]}))
    assert has_reverse(Step("it", "command", {"run": ["a"], "undo": ["b"]}))


# command


def test_a_command_is_told_the_whole_event(tmp_path: Path) -> None:
    found = tmp_path / "found"
    script = f'cat >{found}; env | grep ^FOREWARN_ >{found}.env; echo "$MORE" >{found}.more'
    each = task(tmp_path, "command", run=["/bin/sh", "-c", script], environment={"MORE": "text"})
    assert do(each) == StepEnd(StepOutcome.DONE)
    assert json.loads(found.read_text()) == {
        "EventId": "A-1",
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-0", "web-1"],
        "NotBefore": "Thu, 01 Jan 2026 12:00:00 GMT",
        "Description": "Host.",
        "EventSource": "Platform",
        "DurationInSeconds": 9,
    }
    told = dict(line.split("=", 1) for line in Path(f"{found}.env").read_text().splitlines())
    assert told["FOREWARN_EVENT_TYPE"] == "Reboot"
    assert told["FOREWARN_EVENT_RESOURCES"] == "web-0 web-1"
    assert (told["FOREWARN_VM_NAME"], told["FOREWARN_ACTION"], told["FOREWARN_STEP"]) == ("web-0", "do", "it")
    assert json.loads(told["FOREWARN_EVENT_JSON"])["EventId"] == "A-1"
    assert Path(f"{found}.more").read_text() == "text\n"


def test_words_of_a_command_are_not_read_by_a_shell_unless_asked(tmp_path: Path) -> None:
    found = tmp_path / "found"
    assert do(task(tmp_path, "command", run=["touch", f"{found};x"])).good
    assert (tmp_path / "found;x").exists()
    assert do(task(tmp_path, "command", run=f"echo a; touch {found}")).good
    assert found.exists()


# ready-file


def test_a_ready_file_goes_away_and_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    path.write_text("content")
    for _ in range(2):
        assert do(task(tmp_path, "ready-file", path=str(path))).good
        assert not path.exists()
    for _ in range(2):
        assert do(task(tmp_path, "ready-file", path=str(path), undo=True)).good
        assert path.read_text() == "content"


def test_a_ready_file_that_was_not_there_is_not_put_there(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    assert do(task(tmp_path, "ready-file", path=str(path))).good
    assert do(task(tmp_path, "ready-file", path=str(path), undo=True)).good
    assert not path.exists()


def test_a_ready_file_whose_directory_a_reboot_has_emptied_is_made_anew(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    path = directory / "ready"
    path.write_text("content")
    assert do(task(tmp_path, "ready-file", path=str(path))).good
    for each in directory.iterdir():
        each.unlink()
    directory.rmdir()
    assert do(task(tmp_path, "ready-file", path=str(path), undo=True)).good
    assert path.exists()


# programs of others, played by scripts


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins for systemctl and kubectl that write down what they are told."""
    programs, found = tmp_path / "bin", tmp_path / "told"
    programs.mkdir()
    for name in ("systemctl", "kubectl"):
        script = programs / name
        bad = f'[ ! -e {tmp_path}/bad ] || {{ echo "Failed to connect to bus"; exit 1; }}'
        answers = "*idle*) echo inactive; exit 3;; *none-*) exit 3;; *mute*) exit 1;; *) echo active"
        active = f'[ "$1" != is-active ] || case "$*" in {answers};; esac'
        script.write_text(f'#!/bin/sh\necho "{name} $*" >>{found}\n{bad}\n{active}\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return found


def test_units_are_stopped_in_order_and_started_in_reverse_but_only_those_that_ran(tmp_path: Path, told: Path) -> None:
    units = ["a.service", "idle.service", "b.service"]
    assert do(task(tmp_path, "systemd", units=units)).good
    assert do(task(tmp_path, "systemd", units=units, undo=True)).good
    lines = [line for line in told.read_text().splitlines() if "is-active" not in line]
    assert lines == [
        "systemctl stop -- a.service",
        "systemctl stop -- idle.service",
        "systemctl stop -- b.service",
        "systemctl start -- b.service",
        "systemctl start -- a.service",
    ]


def test_units_that_could_not_be_seen_are_looked_at_again_so_that_they_are_started_after(
    tmp_path: Path, told: Path
) -> None:
    (tmp_path / "bad").touch()
    ended = do(task(tmp_path, "systemd", units=["a.service"]))
    assert ended.outcome is StepOutcome.FAILED
    assert "which units run cannot be seen, and none was stopped: ended with status 1: Failed to" in ended.detail
    (tmp_path / "bad").unlink()
    assert do(task(tmp_path, "systemd", units=["a.service"])).good
    assert do(task(tmp_path, "systemd", units=["a.service"], undo=True)).good
    assert told.read_text().splitlines()[-2:] == ["systemctl stop -- a.service", "systemctl start -- a.service"]


def test_a_pattern_that_fits_no_unit_is_no_fault_and_a_systemctl_that_says_nothing_is_one(
    tmp_path: Path, told: Path
) -> None:
    assert do(task(tmp_path, "systemd", units=["none-*"])).good
    assert do(task(tmp_path, "systemd", units=["none-*"], undo=True)).good
    assert "which units run cannot be seen" in do(task(tmp_path, "systemd", units=["mute.service"])).detail
    assert [line for line in told.read_text().splitlines() if "is-active" not in line] == ["systemctl stop -- none-*"]


def test_no_unit_is_stopped_unless_it_is_noted_which_ones_ran(tmp_path: Path, told: Path) -> None:
    """Nor is one started: a note that could not be written says that nothing was done."""
    units = ["a.service", "idle.service"]
    blocked = tmp_path / "runs" / ".units-it.new"
    blocked.mkdir(parents=True)
    (blocked / "in-the-way").touch()
    ended = do(task(tmp_path, "systemd", units=units))
    assert ended.outcome is StepOutcome.FAILED
    assert "none was stopped" in str(ended)
    assert do(task(tmp_path, "systemd", units=units, undo=True)).good
    assert [line for line in told.read_text().splitlines() if "is-active" not in line] == []


def test_a_node_is_cordoned_drained_in_the_time_there_is_and_uncordoned(tmp_path: Path, told: Path) -> None:
    assert do(task(tmp_path, "kubernetes", seconds=100.9)).good
    assert do(task(tmp_path, "kubernetes", node="n1", undo=True)).good
    cordon, drain, uncordon = told.read_text().splitlines()
    assert cordon == "kubectl cordon -- web-0"
    assert drain.startswith("kubectl drain ")
    assert drain.endswith("--timeout=100s -- web-0")
    assert uncordon == "kubectl uncordon -- n1"


def test_a_node_that_cannot_be_cordoned_is_not_drained(tmp_path: Path, told: Path) -> None:
    (tmp_path / "bad").touch()
    assert do(task(tmp_path, "kubernetes")).outcome is StepOutcome.FAILED
    assert told.read_text().splitlines() == ["kubectl cordon -- web-0"]


# sockets


class Listener:
    """Answers one connection after another with what it was told to, and keeps what it heard."""

    def __init__(self, listening: socket.socket, answers: list[bytes], ends: bytes) -> None:
        self.listening, self.heard = listening, list[bytes]()
        self._answers, self._ends = answers, ends
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for answer in self._answers:
            connection, _ = self.listening.accept()
            with connection:
                data = b""
                while self._ends not in data:
                    data += connection.recv(65536)
                self.heard.append(data)
                connection.sendall(answer)

    def close(self) -> None:
        self._thread.join()
        self.listening.close()


def test_haproxy_is_told_to_drain_and_to_be_ready(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    proxy = Listener(listening, [b"\n", b"\n", b"No such server.\n"], b"\n")
    settings: dict[str, Any] = {"socket": path, "backend": "web", "server": "web-0"}
    assert do(task(tmp_path, "haproxy", **settings)).good
    assert do(task(tmp_path, "haproxy", undo=True, **settings)).good
    assert do(task(tmp_path, "haproxy", **settings)) == StepEnd(StepOutcome.FAILED, "haproxy said: No such server.")
    proxy.close()
    assert proxy.heard[:2] == [b"set server web/web-0 state drain\n", b"set server web/web-0 state ready\n"]


def test_haproxy_is_never_told_two_commands_at_once(tmp_path: Path) -> None:
    ended = do(task(tmp_path, "haproxy", socket="/nowhere", backend="web", server="a; shutdown"))
    assert ended.outcome is StepOutcome.FAILED
    assert do(task(tmp_path, "haproxy", socket="/nowhere", backend="a", server="b")).outcome is StepOutcome.FAILED


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


def _url(listening: socket.socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}/pause?x=1"


def _answer(status: str, body: bytes = b"") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_call_carries_the_event_and_its_status_counts(tmp_path: Path, listening: socket.socket) -> None:
    server = Listener(listening, [_answer("204 No Content"), _answer("500 Oh", b"not now"), _answer("200 OK")], b"}")
    url = _url(listening)
    assert do(task(tmp_path, "http", url=url)).good
    assert do(task(tmp_path, "http", url=url)) == StepEnd(StepOutcome.FAILED, "it answered 500: not now")
    assert do(task(tmp_path, "http", url="x", undo_url=url, undo_method="put", undo_body={"a": 1}, undo=True)).good
    server.close()
    head, _, body = server.heard[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /pause?x=1 HTTP/1.1\r\n")
    assert json.loads(body)["EventId"] == "A-1"
    assert server.heard[2].startswith(b"PUT /pause?x=1 ")
    assert server.heard[2].endswith(b'{"a":1}')


def test_a_call_that_is_not_answered_ends_with_its_time(tmp_path: Path, listening: socket.socket) -> None:
    assert do(task(tmp_path, "http", url=_url(listening), seconds=0.2)).outcome is StepOutcome.TIMED_OUT


def test_an_http_step_without_a_server_fails(tmp_path: Path, listening: socket.socket) -> None:
    url = _url(listening)
    listening.close()
    assert do(task(tmp_path, "http", url=url)) == StepEnd(StepOutcome.FAILED, "connection refused")


def test_a_header_cannot_smuggle_another(tmp_path: Path) -> None:
    ended = do(task(tmp_path, "http", url="http://127.0.0.1:9/", headers={"A": "b\r\nC: d"}))
    assert ended.outcome is StepOutcome.FAILED


def test_waiting_ends_when_the_url_says_so(tmp_path: Path, listening: socket.socket) -> None:
    server = Listener(listening, [_answer("503 Busy"), _answer("503 Busy"), _answer("200 OK")], b"\r\n\r\n")
    assert do(task(tmp_path, "wait", url=_url(listening), every="0.01s")).good
    server.close()


def test_waiting_ends_when_the_command_says_so(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    script = f"echo x >>{counter}; [ $(wc -l <{counter}) -ge 3 ]"
    assert do(task(tmp_path, "wait", command=["/bin/sh", "-c", script], every="0.01s")).good
    assert len(counter.read_text().split()) == 3


def test_waiting_for_what_never_comes_ends_with_its_time(tmp_path: Path) -> None:
    ended = do(task(tmp_path, "wait", command=["false"], every="0.01s", seconds=0.2))
    assert ended.outcome is StepOutcome.TIMED_OUT
