"""Benches of the remote engine: the twin behind the open protocol, over a Unix socket and over stdin and stdout.

The platform stands in this process, so that ``truth`` asks the twin's own memory. Lost answers and hung calls happen on
the wire: the reference server does what it is asked and says nothing, or does nothing and says nothing.
"""

from __future__ import annotations

import socket
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine_server import Answer, http_server, serve_lines
from twin_engine import ServedEngine

from forewarn.engines.remote.engine import RemoteEngine
from forewarn.engines.remote.http_wire import HttpWire
from forewarn.engines.remote.program_wire import ProgramWire
from forewarn.engines.remote.wire import EngineWire, WireAnswer
from forewarn.engines.twin.engine import TwinEngine
from forewarn.plane.hands.engine import Engine
from tests.contract.engines.conforming import conforms
from tests.contract.engines.twin_bench import TwinBench

CALL_SECONDS = 10.0  # of calls that are answered at once, on a machine that may be busy
_HUNG_SECONDS = 0.2  # of those that are made to have no answer
_RELAY = """
import os, socket, sys, threading
line = socket.socket(socket.AF_UNIX); line.connect(sys.argv[1])
def back():
    while data := line.recv(65536): os.write(1, data)
    os._exit(0)
threading.Thread(target=back, daemon=True).start()
while data := os.read(0, 65536): line.sendall(data)
"""


class _Mishaps(ServedEngine):
    """The twin as it is served, with answers that are lost on the way."""

    def __init__(self, engine: Engine, hosts: tuple[str, ...]) -> None:
        super().__init__(engine, hosts)
        self.next_mishap = ""
        self.over = threading.Event()

    def put(self, errand: str, wanted: dict[str, Any]) -> Answer:
        if not wanted.get("leave") or not self.next_mishap:
            return super().put(errand, wanted)
        mishap, self.next_mishap = self.next_mishap, ""
        if mishap == "answer lost":
            super().put(errand, wanted)
        self.over.wait(10 * _HUNG_SECONDS)  # whoever asked has given up by then
        return 503, {"why": "It is too late."}


class _Checked:
    """A wire on which every answer is held against the OpenAPI document."""

    def __init__(self, wire: EngineWire, served: _Mishaps) -> None:
        self._wire, self.where, self._served = wire, wire.where, served

    def ask(self, method: str, target: str, body: bytes | None, seconds: float) -> WireAnswer:
        if self._served.next_mishap and body is not None and b'"leave"' in body:
            seconds = _HUNG_SECONDS
        answer = self._wire.ask(method, target, body, seconds)
        conforms(method, target, body, answer)
        return answer

    def close(self) -> None:
        self._wire.close()


class RemoteBench(TwinBench):
    """Two hosts in memory, behind a wire."""

    def __init__(
        self, wire: str, twin: type[TwinEngine] = TwinEngine, remote: type[RemoteEngine] = RemoteEngine
    ) -> None:
        super().__init__(twin)
        self._served = _Mishaps(self.engine, self.hosts)
        self._folder = tempfile.TemporaryDirectory(prefix="forewarn-engine-")
        path = str(Path(self._folder.name) / "socket")
        made = self._http(path) if wire == "http" else self._program(path)
        self.engine = remote("twin", _Checked(made, self._served), CALL_SECONDS)

    def _http(self, path: str) -> HttpWire:
        self._server = http_server(self._served, path)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return HttpWire(f"unix://{path}")

    def _program(self, path: str) -> ProgramWire:
        """A program that passes all on: what it started with are real pipes, what answers stands here."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._serve_program, daemon=True).start()
        return ProgramWire([sys.executable, "-S", "-E", "-c", _RELAY, path])

    def _serve_program(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            with line, suppress(OSError), line.makefile("rb") as requests, line.makefile("wb") as answers:
                serve_lines(self._served, requests, answers)

    def mishap(self, what: str, sentence: str = "") -> None:
        if what in ("answer lost", "hangs"):
            self._served.next_mishap = what
        else:
            super().mishap(what, sentence)

    def close(self) -> None:
        self._served.over.set()
        self.engine.close()
        if hasattr(self, "_server"):
            self._server.shutdown()
            self._server.server_close()
        else:
            self._listener.close()
        self._folder.cleanup()
