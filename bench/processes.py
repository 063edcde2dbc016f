"""Processes under measurement: started, watched through /proc, and ended by their own id."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PATIENCE_SECONDS = 60.0
OPEN_FILES = 65_536


class CannotMeasure(Exception):  # noqa: N818 - the name says enough
    """Something that a part needs is not there. The message says what."""


def raise_open_files() -> int:
    """Allow as many sockets as we may; servers that are started later inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (OPEN_FILES, hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
            return wanted
        except (ValueError, OSError):
            continue
    return soft


def cores() -> tuple[set[int], set[int]]:
    """One core for the server under test, the others for what asks it."""
    first, *others = sorted(os.sched_getaffinity(0))
    return {first}, set(others or [first])


@contextmanager
def running(command: Sequence[str], *, pinned: bool = False, env: dict[str, str] | None = None) -> Iterator[int]:
    """A server for as long as the block lasts; gives its process id."""
    server = start(command, pinned=pinned, env=env)
    try:
        yield server.pid
    finally:
        end(server)


def on_cores(which: set[int], command: Sequence[str]) -> list[str]:
    return ["taskset", "-c", ",".join(map(str, sorted(which))), *command]


def start(
    command: Sequence[str], *, pinned: bool = False, env: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A server is pinned to one core where it stands beside others."""
    if pinned:
        command = on_cores(cores()[0], command)
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})})


def end(server: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> None:
    """Ask it to end, and wait until it has."""
    if server.poll() is None:
        server.send_signal(how)
    try:
        server.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait(_PATIENCE_SECONDS)


def wait_for(port: int, pid: int, patience_seconds: float = _PATIENCE_SECONDS) -> None:
    """Until a server listens at a port of the loopback address."""
    deadline = time.monotonic() + patience_seconds
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if not Path(f"/proc/{pid}").exists():
            break
        time.sleep(0.005)
    raise CannotMeasure(f"the server {pid} did not come up at port {port}")


def family_of(pid: int) -> list[int]:
    """A process and its children: nginx answers in one of them."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children so far, also of those that have ended."""
    ticks = 0
    for member in family_of(pid):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue  # it has ended in the meantime
        ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def exact_cpu_seconds(pid: int) -> float:
    """Time of a process on a processor so far, by the scheduler's own book: exact for what takes milliseconds."""
    tasks = (task / "schedstat" for task in Path(f"/proc/{pid}/task").iterdir())
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def memory_megabytes(pid: int | str = "self", field: str = "VmRSS") -> float:
    """Resident memory now, or with ``VmHWM`` the most there ever was."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise CannotMeasure(f"the kernel does not tell {field}")


class Others:
    """How much of the machine somebody else has used since: what makes seconds long and leaves CPU per operation be."""

    def __init__(self) -> None:
        self._begun, self._busy, self._own = time.monotonic(), _busy_seconds(), _own_seconds()

    def share(self) -> float:
        busy, own = _busy_seconds() - self._busy, _own_seconds() - self._own
        return max(0.0, busy - own) / ((time.monotonic() - self._begun) * (os.cpu_count() or 1))


def _busy_seconds() -> float:
    """Of all cores together, since the machine started: all but idle and waiting for a disk."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / _TICKS


def _own_seconds() -> float:
    """Of this process and of those it started that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
