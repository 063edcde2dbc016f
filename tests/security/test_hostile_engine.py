"""An engine that is an enemy, or a program with a bug: whatever it says ends in a sentence, and nothing is believed."""

from __future__ import annotations

import json
import logging
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from engine_server import http_server
from twin_engine import ServedEngine

from forewarn.core.machines.values import Errand, ErrandKind
from forewarn.engines.remote.engine import RemoteEngine
from forewarn.engines.remote.http_wire import HttpWire, token_of
from forewarn.engines.remote.program_wire import ProgramWire
from forewarn.engines.remote.wire import ANSWER_MOST, WireAnswer
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinHosts
from forewarn.plane.clock import RealClock
from forewarn.plane.hands.engine import EngineFault, NotYet, Unknown
from forewarn.web.resource_manager.login import tls
from tests.contract.engines.bench import NOON, Permit

CARD = {"protocol": 1, "name": "x", "kinds": ["restart", "pause"], "hosts": ["alpha"]}
NOW = RealClock().now()  # certificates are for now
RESTART = Errand("e-1", ErrandKind.RESTART, "remote", "alpha", NOON, ref="web-1", boot_mark="1")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"


class Told:
    """A wire that says what a test wants said to everything but the introduction."""

    where = "a test"

    def __init__(self, status: int, body: Any, card: Any = CARD) -> None:
        self._answer = WireAnswer(status, body if isinstance(body, bytes) else json.dumps(body).encode())
        self._card = WireAnswer(200, json.dumps(card).encode())

    def ask(self, method: str, target: str, body: bytes | None, seconds: float) -> WireAnswer:
        return self._card if target == "/v1/engine" else self._answer

    def close(self) -> None: ...


def _listing(**members: Any) -> dict[str, Any]:
    return {"host": "alpha", "complete": True, "cursor": "1", "machines": [], **members}


def _machine(**members: Any) -> dict[str, Any]:
    return {"ref": "web-1", "power": "running", "boot_mark": "1", **members}


LISTINGS: dict[str, Any] = {
    "another host's": _listing(host="beta"),
    "a machine of another host": _listing(machines=[_machine(host="beta")]),
    "one machine twice": _listing(machines=[_machine(), _machine(power="off")]),
    "a machine without a name": _listing(machines=[_machine(ref="")]),
    "a name with a line in it": _listing(machines=[_machine(ref="web\n1")]),
    "a name that moves a cursor": _listing(machines=[_machine(ref="web\x1b[2J")]),
    "a name without end": _listing(machines=[_machine(ref="w" * 10_000)]),
    "a power that is none": _listing(machines=[_machine(power="hovering")]),
    "a number for a mark": _listing(machines=[_machine(boot_mark=7)]),
    "a text for the list": _listing(machines="web-1"),
    "more machines than may be": _listing(machines=[_machine(ref=f"m{number}") for number in range(20_001)]),
    "no word on being complete": {"host": "alpha", "machines": []},
    "a list": [],
    "nests": b"[" * 100_000,
    "a number of many digits": b'{"host": ' + b"9" * 100_000 + b"}",
    "half a letter": b'{"host": "\xff"}',
    "half a pair": b'{"host": "\\ud800"}',
    "nothing": b"",
}


@pytest.mark.parametrize("body", LISTINGS.values(), ids=LISTINGS)
def test_a_listing_that_is_none_is_refused_as_a_whole(body: Any) -> None:
    with pytest.raises(EngineFault) as fault:
        RemoteEngine("remote", Told(200, body)).listing("alpha")
    assert len(str(fault.value)) < 600
    assert str(fault.value).isprintable()


@pytest.mark.parametrize(
    "seen",
    [
        _machine(ref="web-2", host="alpha", boot_mark="2"),
        _machine(host="beta", boot_mark="2"),
        _machine(power=None),
        {},
    ],
    ids=["another machine", "another host", "no power", "nothing"],
)
def test_an_errand_is_not_done_by_what_is_seen_of_others(seen: Any) -> None:
    result = RemoteEngine("remote", Told(200, {"sighting": seen})).carry_out(RESTART, Permit())
    assert isinstance(result, Unknown)


@pytest.mark.parametrize("status", [100, 204, 301, 400, 401, 418, 500, 503, 599])
def test_a_status_without_meaning_is_never_taken_for_a_failure(status: int) -> None:
    result = RemoteEngine("remote", Told(status, {"why": "x\r\ny\x1b[0m"})).carry_out(RESTART, Permit())
    assert isinstance(result, Unknown)
    assert result.why.isprintable()


def test_no_engine_puts_off_the_end_of_a_pause() -> None:
    pause = Errand("e-1", ErrandKind.PAUSE, "remote", "alpha", NOON, ref="web-1", boot_mark="1")
    engine = RemoteEngine("remote", Told(202, {"why": "later", "again_after": 1e300}))
    result = engine.carry_out(pause, Permit(seconds_left=4.0))
    assert isinstance(result, NotYet)
    assert result.again_after == 4.0
    late = engine.carry_out(RESTART, Permit())
    assert isinstance(late, NotYet)
    assert late.again_after <= 60.0


def test_an_engine_that_asks_for_ever_is_left_after_some_changes() -> None:
    permit = Permit()
    result = RemoteEngine("remote", Told(202, {"asks": "one more"})).carry_out(RESTART, permit)
    assert isinstance(result, NotYet)
    assert permit.asked <= 16


@contextmanager
def _saying(path: Path, *pieces: bytes, pause: float = 0.0) -> Iterator[HttpWire]:
    """A Unix socket at which these bytes are said to whatever is asked; the last piece for ever, where there is one."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    stop = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    connection.recv(65536)
                    for piece in pieces:
                        connection.sendall(piece)
                    while pause and not stop.wait(pause):
                        connection.sendall(pieces[-1])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield HttpWire(f"unix://{path}")
    finally:
        stop.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


ANSWERS = {
    "a status of many digits": b"HTTP/1.1 " + b"1" * 10_000 + b" OK\r\n\r\n",
    "a head without end": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    "a line without end": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1_000_000,
    "more than may be held": OK % (ANSWER_MOST + 1, b"x" * (ANSWER_MOST + 1)),
    "less than it says": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
    "a chunk that is none": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "not HTTP at all": b"SSH-2.0-OpenSSH\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_is_none_is_a_fault_with_a_sentence(answer: bytes, tmp_path: Path) -> None:
    with _saying(tmp_path / "s", answer) as wire, pytest.raises(EngineFault) as fault:
        wire.ask("GET", "/v1/engine", None, 20.0)
    assert str(fault.value).isprintable()
    assert len(str(fault.value)) < 600


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX: ", OK % (10**6, b"")], ids=["in its head", "in its body"])
def test_an_answer_that_trickles_is_given_up_when_its_time_is_over(head: bytes, tmp_path: Path) -> None:
    """One byte at a time, each in time: the whole has a time too. Without that this would take for ever."""
    with _saying(tmp_path / "s", head, b"y", pause=0.02) as wire, pytest.raises(EngineFault):
        wire.ask("GET", "/v1/engine", None, 0.3)


def test_a_redirection_is_not_followed(tmp_path: Path) -> None:
    moved = b"HTTP/1.1 307 x\r\nLocation: http://127.0.0.1:1/v1/engine\r\nContent-Length: 0\r\n\r\n"
    with _saying(tmp_path / "s", moved) as wire, pytest.raises(EngineFault, match="307"):
        RemoteEngine("remote", wire).introduction()


# TLS and the token


@contextmanager
def _https(folder: Path, token: str, address: str = "127.0.0.1") -> Iterator[tuple[int, Path]]:
    """Its certificate is for localhost and 127.0.0.1, wherever it listens."""
    files = tls.prepare(folder / "tls", (), NOW)
    served = ServedEngine(TwinEngine(TwinHosts(("alpha",))), ("alpha",))
    server = http_server(served, https=(address, 0), cert=str(files.certificate), key=str(files.key), token=token)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server.server_address[1], files.authority
    finally:
        server.shutdown()
        server.server_close()


def _token_file(folder: Path, text: str) -> Path:
    path = folder / "token"
    path.write_text(text)
    return path


def test_by_https_an_engine_is_believed_only_with_its_own_certificate_and_name(tmp_path: Path) -> None:
    token = token_of(_token_file(tmp_path, "sesame-open\n"))
    other = tls.prepare(tmp_path / "other", (), NOW).authority
    with _https(tmp_path, "sesame-open") as (port, ca):
        assert RemoteEngine("r", HttpWire(f"https://localhost:{port}", token=token, ca=ca)).listing("alpha").complete
        for authority in (other, None):
            with pytest.raises(EngineFault, match="certificate is not trusted"):
                HttpWire(f"https://localhost:{port}", token=token, ca=authority).ask("GET", "/v1/engine", None, 10.0)
    with (
        _https(tmp_path, "sesame-open", "127.0.0.2") as (port, ca),
        pytest.raises(EngineFault, match="certificate is not trusted"),
    ):
        HttpWire(f"https://127.0.0.2:{port}", token=token, ca=ca).ask("GET", "/v1/engine", None, 10.0)


def test_a_token_is_never_told_whatever_goes_wrong(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    file = _token_file(tmp_path, "sesame-open")
    said = []
    with _https(tmp_path, "another") as (port, ca):
        for url, authority in ((f"https://127.0.0.1:{port}", ca), (f"https://127.0.0.1:{port}", None)):
            with pytest.raises(EngineFault) as fault:
                RemoteEngine("remote", HttpWire(url, token=token_of(file), ca=authority)).listing("alpha")
            said.append(str(fault.value))
    file.write_text("sesame open\nsesame-shut")
    with pytest.raises(EngineFault) as fault:
        token_of(file)()
    said.append(str(fault.value))
    assert "401" in said[0]
    assert "sesame" not in "".join(said) + caplog.text


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1", "ftp://x", "https://", "unix://", "unix://host/x", "/run/x.sock", "https://u:sesame@x"],
)
def test_an_address_that_is_not_safe_is_refused_without_repeating_a_secret(url: str) -> None:
    with pytest.raises(EngineFault) as fault:
        HttpWire(url, token=lambda: "x")
    assert "sesame" not in str(fault.value)


def test_https_without_a_token_is_refused() -> None:
    with pytest.raises(EngineFault, match="token"):
        HttpWire("https://127.0.0.1:1")


# Programs


def _program(text: str) -> ProgramWire:
    return ProgramWire([sys.executable, "-S", "-E", "-c", text])


PROGRAMS = {
    "a line that is no JSON": "print('hello', flush=True); input(); input()",
    "an answer to no question of this shape": "print('[]', flush=True); input(); input()",
    "a status that is none": 'input(); print(\'{"id": 1, "status": 7}\', flush=True); input()',
    "a line without end": f"import sys; input(); sys.stdout.write('x' * {ANSWER_MOST + 2}); sys.stdout.flush()",
    "nothing more": "input()",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_that_says_what_is_no_answer_is_ended(text: str) -> None:
    wire = _program(text)
    try:
        with pytest.raises(EngineFault, match="not running"):
            wire.ask("GET", "/v1/engine", None, 20.0)
        with pytest.raises(EngineFault, match="started again in"):
            wire.ask("GET", "/v1/engine", None, 20.0)
    finally:
        wire.close()


def test_a_program_does_not_inherit_what_the_server_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREWARN_TOKEN", "sesame")
    monkeypatch.setenv("FOREWARN_STORE", "postgresql://u:sesame@x/y")
    monkeypatch.setenv("ENGINE_OWN", "kept")
    wire = _program(
        "import json, os; input();"
        "print(json.dumps({'id': 1, 'status': 200, 'body': dict(os.environ)}), flush=True); input()"
    )
    try:
        told = json.loads(wire.ask("GET", "/", None, 20.0).body)
    finally:
        wire.close()
    assert told["ENGINE_OWN"] == "kept"
    assert not [name for name in told if name.startswith("FOREWARN_")]


def test_what_a_program_shouts_reaches_the_log_in_lines_that_print_and_not_without_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    wire = _program(
        "import sys; input();"
        "sys.stderr.write('red \\x1b[31m\\r\\n' + 'x' * 5000 + '\\n'); sys.stderr.write('again\\n' * 5000);"
        'sys.stderr.flush(); print(\'{"id": 1, "status": 204}\', flush=True); input()'
    )
    try:
        assert wire.ask("GET", "/", None, 20.0) == WireAnswer(204, b"")
    finally:
        wire.close()
    lines = [record.getMessage() for record in caplog.records if "Engine program" in record.getMessage()]
    assert 0 < len(lines) <= 101
    assert all(line.isprintable() and len(line) < 500 for line in lines)
