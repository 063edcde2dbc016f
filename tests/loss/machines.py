"""What a world is made of: nodes as processes with a clock that can be turned, and a disk that can be filled."""

from __future__ import annotations

import errno
import http.client
import os
import random
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.program import ServerProgram, clean_environment
from tests.loss.supervised import PATIENCE_SECONDS, Supervised, status_of
from tests.loss.watched_disk import WatchedDisk, library

RUNNER = Path(__file__).with_name("node.py")  # of all programs of a world: it lets them be broken on purpose


def steady_port() -> int:
    """One that nobody takes while its owner is dead: below those that the kernel gives to whoever connects."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@dataclass(kw_only=True)
class Node(Supervised):
    """One ``forewarn serve``, which can be told another time. It is a door of VMs, too."""

    data: Path
    options: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    turnable: bool = True  # whether its wall clock can be turned
    disk: WatchedDisk | None = None  # what stands between it and its files
    metadata_port: int = field(default_factory=steady_port)
    control_port: int = field(default_factory=steady_port)
    knows_who_is_there: bool = True

    @property
    def notes(self) -> Path:
        return self.directory / f"{self.name}.begun"

    @property
    def _time(self) -> Path:
        return self.directory / f"{self.name}.time"

    def serves(self, vm: str) -> bool:
        """Everybody."""
        return bool(vm)

    def _launch(self) -> subprocess.Popen[str]:
        if not self._time.exists():
            self.turn_clock(0)
        faces = ["--faces", "metadata,control", "--metadata", f"127.0.0.1:{self.metadata_port}"]
        faces += ["--control", f"127.0.0.1:{self.control_port}"]
        return ServerProgram.launch(
            self.data,
            *("--node-name", self.name, *faces, *self.options),
            env=clean_environment(**self._preloaded(), **self.environment),
            wrapper=(sys.executable, str(RUNNER), str(self.notes), self.name),
            log=self.log,
        ).process

    def _preloaded(self) -> dict[str, str]:
        """The libraries that stand between it and the machine, and what they are told."""
        told = dict(self.disk.environment()) if self.disk is not None else {}
        if self.turnable:
            clock = {"LD_PRELOAD": str(library("turned_clock")), "TURNED_CLOCK": str(self._time)}
            told |= clock | {"LD_PRELOAD": ":".join(each["LD_PRELOAD"] for each in (told, clock) if each)}
        return told

    def is_ready(self) -> bool:
        return status_of(self.control_port, "/health/ready") == 200

    def write_one(self) -> int:
        """Ask it for a VM; the status of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("POST", "/v1/vms", '{"name": "afterwards"}', {"Content-Type": "application/json"})
            return connection.getresponse().status
        finally:
            connection.close()

    def readers(self) -> list[int]:
        """The pids of those that it has now."""
        with self._lock, suppress(FileNotFoundError):
            if self._process is not None and not self.has_ended():
                pid = self._process.pid
                return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return []

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
