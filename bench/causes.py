"""Where the CPU of a GET goes, by cause, for each kind of client: perf's samples of the server, set to its causes.

A sample belongs to the system call in its stack, or to the server's own program. perf must be installed and may
have to be root's (``kernel.perf_event_paranoid``).
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from bench.figures import Figure, figure_of
from bench.mix import _ask, _contestants
from bench.processes import CannotMeasure, family_of
from bench.recorder import Client, clients

PART = "causes"
_WANTED = ("curl", "Python urllib", "forewarn's library")  # who closes, who asks for closing, who keeps
_SECONDS = 3.0
_SAMPLES_A_SECOND = 1_999  # no multiple of the timer's rate
_OWN = "its own program"
_REST = "the kernel, other"
_CAUSES = {
    "accept": ("sys_accept", "sys_accept4"),
    "receive": ("sys_recvfrom", "sys_read", "sys_recvmsg"),
    "send": ("sys_sendto", "sys_writev", "do_writev", "sys_write", "sys_sendmsg"),
    "close": ("sys_close", "sys_shutdown"),
    "wait for news": ("sys_epoll_wait", "sys_epoll_pwait", "do_epoll_wait", "sys_epoll_ctl", "do_epoll_ctl"),
}


def measure(rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """Microseconds of an answer for each cause: the share of the samples times the CPU of an answer."""
    if shutil.which("perf") is None:
        raise CannotMeasure("perf is not installed (Debian: apt-get install linux-perf)")
    figures: list[Figure] = []
    with _contestants() as peers:
        for client in (each for each in clients() if each.name in _WANTED):
            for name, (port, pid) in peers.items():
                _ask(port, pid, client, 1.0)
                seen = [_causes(port, pid, client) for _ in range(rounds)]
                for cause in (*_CAUSES, _REST, _OWN):
                    costs = [each.get(cause, 0.0) for each in seen]
                    figures.append(figure_of(PART, f"{client.name}, {name}: {cause}", costs, "µs CPU"))
                say(f"{client.name}, {name}: " + ", ".join(f"{cause} {cost:.1f}" for cause, cost in seen[-1].items()))
    return figures


def _causes(port: int, pid: int, client: Client) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory:
        data = str(Path(directory) / "perf.data")
        pids = ",".join(map(str, family_of(pid)))
        command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(_SAMPLES_A_SECOND), "-g", "-p", pids]
        with subprocess.Popen([*command, "-o", data, "--", "sleep", str(_SECONDS)], stderr=subprocess.DEVNULL) as perf:
            cost = _ask(port, pid, client, _SECONDS).all
            if perf.wait() != 0:
                raise CannotMeasure("perf may not look here: run as root, or lower kernel.perf_event_paranoid")
        told = subprocess.run(
            ["perf", "script", "-i", data, "-F", "ip,sym,dso"], capture_output=True, text=True, check=True
        ).stdout
    counted = Counter(_cause(stack.strip().splitlines()) for stack in told.split("\n\n") if stack.strip())
    total = counted.total()
    return {cause: count / total * cost for cause, count in counted.most_common()}


def _cause(stack: Iterable[str]) -> str:
    """Of one sample. A line is an address, a function and, in brackets, where it is from."""
    frames = [line.split() for line in stack]
    functions = {frame[1].removeprefix("__x64_").removeprefix("__") for frame in frames if len(frame) > 1}
    for cause, names in _CAUSES.items():
        if not functions.isdisjoint(names):
            return cause
    return _REST if frames and "[kernel" in frames[0][-1] else _OWN
