"""A process of a world: it may be killed, put to sleep and told to end; a supervisor starts it again as it was."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_SECONDS = 30.0
_STUMBLE = re.compile(r"ERROR (Request \S+|request \S+|A \w+|Following the store) failed|^AssertionError|^Traceback")


@dataclass(kw_only=True)
class Supervised(ABC):
    """Nodes, and what stands before them."""

    name: str
    directory: Path  # of its log and its notes
    wanted: bool = False
    exits: list[int] = field(default_factory=list)  # statuses of those that ended unasked after they were ready
    hung: int = 0  # how often it did not end in time when it was told to
    _process: subprocess.Popen[str] | None = None
    _was_ready: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @abstractmethod
    def _launch(self) -> subprocess.Popen[str]:
        """A new process of it, not waited for."""

    @abstractmethod
    def is_ready(self) -> bool: ...

    @property
    def log(self) -> Path:
        return self.directory / f"{self.name}.log"

    def start(self) -> None:
        with self._lock:
            self._close()
            self._process = self._launch()
            self.wanted, self._was_ready = True, False

    def tend(self) -> None:
        """What a supervisor does: start it again where it has ended."""
        with self._lock:
            if not self.wanted or self._process is None:
                return
            status = self._process.poll()
            if status is None:
                self._was_ready = self._was_ready or self.is_ready()
                return
            if self._was_ready:
                self.exits.append(status)
            self.start()

    def has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def kill(self) -> None:
        """``kill -9``, and gone until it is started."""
        with self._lock:
            self.wanted = False
            if self._process is not None:
                self._process.kill()
                self._process.wait(PATIENCE_SECONDS)
                self._close()

    def sleep(self) -> None:
        self._signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> int:
        """In good order; its exit status."""
        with self._lock:
            self.wanted = False
            if self._process is None:
                return 0
            self._process.terminate()
            try:
                return self._process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self.hung += 1
                self._process.kill()
                return self._process.wait(PATIENCE_SECONDS)
            finally:
                self._close()

    def leave_alone(self) -> None:
        """From now on it may end by itself, and is not started again."""
        with self._lock:
            self.wanted = False

    def end_by_itself(self, within_seconds: float) -> int | None:
        """Its status, where it ends unasked in that time; it must have been left alone before there was a reason."""
        with self._lock:
            assert self._process is not None
            try:
                return self._process.wait(within_seconds)
            except subprocess.TimeoutExpired:
                return None

    def stumbles(self) -> list[str]:
        """What its log says of faults that are the program's own, not its store's."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if _STUMBLE.search(line)]

    def farewell(self) -> list[str]:
        """It is told to end in good order; what was wrong with that, and with its life."""
        wrong = [f"{self.name} ended by itself with status {status}" for status in self.exits]
        if (status := self.stop()) != 0:
            wrong.append(f"{self.name} was told to end and did so with status {status}")
        wrong += [f"{self.name} stumbled: {line}" for line in self.stumbles()]
        if self.hung:
            wrong.append(f"{self.name} was told to end and did not, {self.hung} times")
        return wrong

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(number)

    def _close(self) -> None:
        """Give back what this side holds."""
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()


def status_of(port: int, target: str) -> int:
    """Of the answer to a GET on a connection of its own; 0 where there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", target, headers={"Metadata": "true"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
