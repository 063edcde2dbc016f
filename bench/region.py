"""The program under test, as its users run it: ``forewarn serve`` in a process of its own."""

from __future__ import annotations

import http.client
import json
import select
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import processes
from bench.processes import CannotMeasure, end, wait_for
from tests.ports import free_port

PROGRAM = str(Path(sys.executable).with_name("forewarn"))
DOCUMENT = "metadata/scheduledevents?api-version=2020-07-01"


class Served:
    """A server and the ways to talk to it. It can be ended and started again on the same data."""

    def __init__(self, directory: Path, *options: str, pinned: bool = False, program: str | None = None) -> None:
        self.metadata_port, self.control_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.control_port}"
        self.directory = directory
        self._pinned = pinned
        self._command = [program or PROGRAM, "serve", "--data", str(directory / "data"), "--log-level", "warning"]
        self._command += ["--metadata", f"127.0.0.1:{self.metadata_port}"]
        self._command += ["--control", f"127.0.0.1:{self.control_port}", "--resource-manager", "off", *options]
        self._control: http.client.HTTPConnection | None = None
        self.start()

    def start(self) -> None:
        self._process = processes.start(self._command, pinned=self._pinned)
        self.pid = self._process.pid
        self._control = None

    def wait(self, patience_seconds: float = 60.0) -> None:
        """Until both faces answer."""
        wait_for(self.metadata_port, self.pid, patience_seconds)
        wait_for(self.control_port, self.pid, patience_seconds)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._control is not None:
            self._control.close()
        end(self._process, how)

    def seconds_to_first_answer(self, vm: str) -> float:
        """Start, and ask as a VM until there is an answer."""
        begun = time.perf_counter()
        self.start()
        wait_for(self.metadata_port, self.pid)
        while self.get(f"/vm/{vm}/{DOCUMENT}")[0] != 200:
            time.sleep(0.002)
        return time.perf_counter() - begun

    def get(self, path: str) -> tuple[int, bytes]:
        """One request to the metadata face."""
        connection = http.client.HTTPConnection("127.0.0.1", self.metadata_port, timeout=60)
        try:
            connection.request("GET", path, headers={"Metadata": "true"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def call(self, verb: str, path: str, body: object = None) -> Any:
        """One request to the operator API, on a connection that is kept."""
        if self._control is None or _was_closed(self._control):
            self._control = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=600)
        content = None if body is None else json.dumps(body)
        self._control.request(verb, path, content, {"Content-Type": "application/json"})
        answer = self._control.getresponse()
        told = json.loads(answer.read())
        if answer.status >= 300:
            raise CannotMeasure(f"{verb} {path} was answered with {answer.status}: {told}")
        return told

    def create(self, name: str, count: int, **spec: object) -> None:
        """VMs NAME-0 … NAME-(count-1), in as many requests as it takes."""
        for first in range(0, count, 10_000):
            chunk = min(10_000, count - first)
            self.call("POST", "/v1/vms", {"name": name, "count": chunk, "first": first, "numbered": True, **spec})


def _was_closed(connection: http.client.HTTPConnection) -> bool:
    """A server closes a connection on which nothing was asked for a while; there is something to be read then."""
    if connection.sock is None:
        return True
    looking = select.poll()  # select() takes no number beyond 1023
    looking.register(connection.sock, select.POLLIN)
    return bool(looking.poll(0))


@contextmanager
def served(
    *options: str, pinned: bool = False, directory: Path | None = None, program: str | None = None
) -> Iterator[Served]:
    """A region in a directory that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as own:
        region = Served(directory or Path(own), *options, pinned=pinned, program=program)
        try:
            region.wait()
            yield region
        finally:
            region.end()
