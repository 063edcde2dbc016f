"""Programs on Linux: each in a session and group of its own, under a small shell that outlives us.

The shell waits for a word from us before it begins, and notes in the receipt that it began and how it ended. The
receipt's file stays locked for as long as that shell lives, which is how a later process knows that it still runs.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from forewarn.guest.system.parts import OUTPUT_BYTES, Program, TimeLeft

assert sys.platform == "linux"

RUN_VARIABLE = "FOREWARN_RUN"
_GRACE_SECONDS = 2.0  # ours, between SIGTERM and SIGKILL: it is taken from the event's notice, so it is short
_LOOK_SECONDS = 0.2  # ours: how soon it is noticed that there is less time than there was
_EMPTY_LOOK_SECONDS = 0.02  # ours: between two looks whether all of a process group have ended

# Standard error of the shell is the receipt; the program's own goes where its output goes.
_SHELL = 'read -r word; [ "$word" = go ] || exit 125; echo "began $$" >&2; "$@" 2>&1; echo "ended $?" >&2'
_LIMITER = 'umask 077; head -c "$1" >"$2"; exec cat >/dev/null'


class PosixPrograms:
    """Real ones."""

    def __init__(self) -> None:
        self._lingering: list[subprocess.Popen[bytes]] = []

    def start(self, program: Program, receipt: Path, output: Path) -> PosixRun:
        receipt.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = _open(receipt)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.ftruncate(descriptor, 0)
            limiter = _start_limiter(output)
            try:
                process = _start(program, receipt, descriptor, limiter)
            except BaseException:
                _close(limiter)
                limiter.wait()
                raise
            _close(limiter)
        finally:
            os.close(descriptor)
        _feed(process, program.stdin)
        return PosixRun(process, limiter, _mark(receipt), self._lingering)

    def find(self, receipt: Path) -> FoundRun:
        return FoundRun(receipt)

    def shell(self, line: str) -> Sequence[str]:
        return ("/bin/sh", "-c", line)

    def status_words(self, status: int) -> str:
        if status > 128:
            with suppress(ValueError):
                return f"was ended by {signal.Signals(status - 128).name}"
        return f"ended with status {status}"


class PosixRun:
    """A program that is our child."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        limiter: subprocess.Popen[bytes],
        mark: str,
        lingering: list[subprocess.Popen[bytes]],
    ) -> None:
        self._process, self._limiter, self._mark, self._lingering = process, limiter, mark, lingering

    def wait(self, time_left: TimeLeft) -> bool:
        handle = os.pidfd_open(self._process.pid)
        try:
            while (left := time_left.left()) > 0:
                if select.select([handle], [], [], min(left, _LOOK_SECONDS))[0]:
                    return True
            return bool(select.select([handle], [], [], 0)[0])
        finally:
            os.close(handle)

    def end(self, *, everything: bool) -> None:
        _end_group(self._process.pid, self._mark, everything=everything)
        self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        """A daemon that was left behind may hold on to our output: then its end is waited for another time."""
        self._lingering[:] = [each for each in self._lingering if each.poll() is None]
        try:
            self._limiter.wait(0.5)
        except subprocess.TimeoutExpired:
            self._lingering.append(self._limiter)


class FoundRun:
    """A program that is not our child; its receipt is locked for as long as it lives."""

    def __init__(self, receipt: Path) -> None:
        self._receipt = receipt

    def wait(self, time_left: TimeLeft) -> bool:
        descriptor = _open(self._receipt)
        try:
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
                if not time_left.pause(_LOOK_SECONDS):
                    return False
        finally:
            os.close(descriptor)

    def end(self, *, everything: bool) -> None:
        _end_group(_pid_in(self._receipt), _mark(self._receipt), everything=everything)


def _mark(receipt: Path) -> str:
    """What all processes of a run have in their environment, unless they take it out."""
    return f"{RUN_VARIABLE}={receipt}"


def _open(receipt: Path) -> int:
    return os.open(receipt, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _pid_in(receipt: Path) -> int:
    with suppress(OSError):
        for line in receipt.read_text("utf-8", "replace").splitlines():
            word, _, number = line.partition(" ")
            if word == "began" and number.isdecimal():
                return int(number)
    return 0


# Starting


def _start_limiter(output: Path) -> subprocess.Popen[bytes]:
    """Takes the output, keeps its beginning and throws the rest away, whether we live or not."""
    arguments = ["/bin/sh", "-c", _LIMITER, "sh", str(OUTPUT_BYTES), str(output)]
    return subprocess.Popen(  # noqa: S603 - our own words
        arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )


def _start(
    program: Program, receipt: Path, descriptor: int, limiter: subprocess.Popen[bytes]
) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **(program.environment or {}), RUN_VARIABLE: str(receipt)}
    return subprocess.Popen(  # noqa: S603 - what the administrator wrote is what shall run
        ["/bin/sh", "-c", _SHELL, "sh", *program.arguments],
        stdin=subprocess.PIPE,
        stdout=limiter.stdin,
        stderr=descriptor,
        env=environment,
        cwd=program.directory or "/",
        start_new_session=True,
    )


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _feed(process: subprocess.Popen[bytes], data: bytes) -> None:
    """The word to begin, then what the program may read. One that does not read it must not hold us up."""
    assert process.stdin is not None
    file = process.stdin.fileno()
    os.set_blocking(file, False)
    with suppress(OSError):
        fcntl.fcntl(file, fcntl.F_SETPIPE_SZ, max(65_536, len(data) + 4096))
    with suppress(OSError):
        os.write(file, b"go\n" + data)
    _close(process)


# Ending


def _end_group(pid: int, mark: str, *, everything: bool) -> None:
    """End what is left of the process group, SIGTERM first.

    ``everything``: also processes that left it, found by our mark.

    A program that ended in its time may have left a proper daemon behind, in a session of its own: that one is meant to
    stay. What just went to the background is not.
    """
    if pid <= 1:
        return
    if everything and _signal_group(pid, signal.SIGTERM):
        _await_empty(pid, _GRACE_SECONDS)
    _signal_group(pid, signal.SIGKILL)
    if everything:
        for stray in _marked(mark):
            with suppress(OSError):
                os.kill(stray, signal.SIGKILL)


def _signal_group(pid: int, how: signal.Signals) -> bool:
    try:
        os.killpg(pid, how)
    except OSError:
        return False
    return True


def _await_empty(pid: int, seconds: float) -> None:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at and _alive_in_group(pid):
        time.sleep(_EMPTY_LOOK_SECONDS)


def _alive_in_group(group: int) -> bool:
    """Our own child stays a zombie, and so a member, until it is waited for: it does not count."""
    for pid in _pids():
        with suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                return True
    return False


def _marked(mark: str) -> list[int]:
    """The processes that carry a run's mark in their environment."""
    found = []
    wanted = mark.encode()
    for pid in _pids():
        with suppress(OSError):
            if pid != os.getpid() and wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
