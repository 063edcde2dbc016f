"""What a world is made of: nodes as processes with a clock that can be turned, and a disk that can be filled."""

from __future__ import annotations

import errno
import http.client
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.program import ServerProgram, clean_environment
from tests.loss.watched_disk import WatchedDisk, library

_NODE = Path(__file__).with_name("node.py")
_PATIENCE_SECONDS = 30.0
_STUMBLE = re.compile(r"ERROR (Request \S+|request \S+|A \w+|Following the store) failed|^AssertionError|^Traceback")


def steady_port() -> int:
    """One that nobody takes while its owner is dead: below those that the kernel gives to whoever connects."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@dataclass
class Node:
    """One ``forewarn serve``. It may be killed, put to sleep and told another time; it is started again as it was."""

    name: str
    directory: Path  # of its log and its notes
    data: Path
    options: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    turnable: bool = True  # whether its wall clock can be turned
    disk: WatchedDisk | None = None  # what stands between it and its files
    metadata_port: int = field(default_factory=steady_port)
    control_port: int = field(default_factory=steady_port)
    wanted: bool = False
    exits: list[int] = field(default_factory=list)  # statuses of those that ended unasked after they were ready
    hung: int = 0  # how often it did not end in time when it was told to
    _server: ServerProgram | None = None
    _was_ready: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def log(self) -> Path:
        return self.directory / f"{self.name}.log"

    @property
    def notes(self) -> Path:
        return self.directory / f"{self.name}.begun"

    @property
    def _time(self) -> Path:
        return self.directory / f"{self.name}.time"

    def start(self) -> None:
        with self._lock:
            if not self._time.exists():
                self.turn_clock(0)
            faces = ["--faces", "metadata,control", "--metadata", f"127.0.0.1:{self.metadata_port}"]
            faces += ["--control", f"127.0.0.1:{self.control_port}"]
            if self._server is not None:
                self._server.close()
            self._server = ServerProgram.launch(
                self.data,
                *("--node-name", self.name, *faces, *self.options),
                env=clean_environment(**self._preloaded(), **self.environment),
                wrapper=(sys.executable, str(_NODE), str(self.notes), self.name),
                log=self.log,
            )
            self.wanted, self._was_ready = True, False

    def _preloaded(self) -> dict[str, str]:
        """The libraries that stand between it and the machine, and what they are told."""
        told = dict(self.disk.environment()) if self.disk is not None else {}
        if self.turnable:
            clock = {"LD_PRELOAD": str(library("turned_clock")), "TURNED_CLOCK": str(self._time)}
            told |= clock | {"LD_PRELOAD": ":".join(each["LD_PRELOAD"] for each in (told, clock) if each)}
        return told

    def tend(self) -> None:
        """What a supervisor does: start it again where it has ended."""
        with self._lock:
            if not self.wanted or self._server is None:
                return
            status = self._server.process.poll()
            if status is None:
                self._was_ready = self._was_ready or self.is_ready()
                return
            if self._was_ready:
                self.exits.append(status)
            self.start()

    def has_ended(self) -> bool:
        return self._server is not None and self._server.process.poll() is not None

    def is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=1)
        try:
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def write_one(self) -> int:
        """Ask it for a VM; the status of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=_PATIENCE_SECONDS)
        try:
            connection.request("POST", "/v1/vms", '{"name": "afterwards"}', {"Content-Type": "application/json"})
            return connection.getresponse().status
        finally:
            connection.close()

    def kill(self) -> None:
        """``kill -9``, and gone until it is started."""
        with self._lock:
            self.wanted = False
            if self._server is not None:
                self._server.kill()
                self._server.close()

    def sleep(self) -> None:
        self._signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> int:
        """In good order; its exit status."""
        with self._lock:
            self.wanted = False
            if self._server is None:
                return 0
            self._server.process.terminate()
            try:
                return self._server.process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self.hung += 1
                self._server.kill()
                return self._server.process.returncode
            finally:
                self._server.close()

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:
            if self._server is not None and self._server.process.poll() is None:
                self._server.process.send_signal(number)

    def stumbles(self) -> list[str]:
        """What its log says of faults that are the program's own, not its store's."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if _STUMBLE.search(line)]

    def turn_clock(self, seconds: int) -> None:
        """Its wall time is so far off from now on. Written in place, for the node has the file mapped."""
        with self._time.open("r+b" if self._time.exists() else "wb") as file:
            file.write(struct.pack("l", seconds))


class Disk:
    """A small file system of its own, which can be full."""

    def __init__(self, place: Path, megabytes: int) -> None:
        self.place = place
        self._ballast = place / "ballast"
        place.mkdir(parents=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", place],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"the loss tests mount a small disk, which needs root: {done.stderr}"

    def fill(self) -> None:
        """Not a byte is left."""
        file = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for size in (1 << 20, 1 << 12):
                block = bytes(size)
                while True:
                    try:
                        os.write(file, block)
                    except OSError as problem:
                        if problem.errno == errno.ENOSPC:
                            break
                        raise
        finally:
            os.close(file)

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", self.place], check=False, capture_output=True)
