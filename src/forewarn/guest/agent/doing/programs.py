"""Programs that others wrote, run so that they cannot do harm: they may hang, fork, flood, or leave children behind.

Each runs in a session and group of its own, under a small shell that outlives us: it waits for a word from us before
it begins, and notes in a *receipt* that it began and how it ended. So an agent that was killed meanwhile learns
afterwards whether the program ran, and with what result, or that it certainly never began. The receipt's file stays
locked for as long as that shell lives.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from forewarn.guest.agent.deciding.state import Outcome
from forewarn.guest.agent.doing.budget import Budget

OUTPUT_BYTES = 64 * 1024
RUN_VARIABLE = "FOREWARN_RUN"
_GRACE_SECONDS = 2.0
_LOOK_SECONDS = 0.2  # how soon a changed budget is noticed

# Standard error of the shell is the receipt; the program's own goes where its output goes.
_SHELL = 'read -r word; [ "$word" = go ] || exit 125; echo "began $$" >&2; "$@" 2>&1; echo "ended $?" >&2'
_LIMITER = 'umask 077; head -c "$1" >"$2"; exec cat >/dev/null'


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run has ended, and what is worth telling about it."""

    outcome: Outcome
    detail: str = ""

    @property
    def good(self) -> bool:
        return self.outcome is Outcome.DONE


@dataclass(frozen=True, slots=True)
class Program:
    """What to run."""

    arguments: Sequence[str]
    stdin: bytes = b""
    environment: Mapping[str, str] | None = None
    directory: str | None = None


@dataclass(frozen=True, slots=True)
class Receipts:
    """Where a run leaves its traces."""

    directory: Path
    run: str

    @property
    def receipt(self) -> Path:
        return self.directory / f"{self.run}.receipt"

    @property
    def output(self) -> Path:
        return self.directory / f"{self.run}.output"

    def open(self) -> int:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        how = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self.receipt, how, 0o600)

    def forget(self) -> None:
        for path in (self.receipt, self.output):
            path.unlink(missing_ok=True)

    def read_output(self) -> str:
        with suppress(OSError):
            return self.output.read_bytes()[:OUTPUT_BYTES].decode("utf-8", "replace")
        return ""


def run(program: Program, budget: Budget, receipts: Receipts) -> Ended:
    """Run it to its end, or to the end of the budget: then it is ended together with everything it started."""
    receipt = receipts.open()
    mark = f"{RUN_VARIABLE}={receipts.receipt}"
    try:
        fcntl.flock(receipt, fcntl.LOCK_EX)
        os.ftruncate(receipt, 0)
        limiter = _start_limiter(receipts.output)
        try:
            process = _start(program, receipts, receipt, limiter)
        except (OSError, ValueError) as problem:
            _close(limiter)
            limiter.wait()
            return Ended(Outcome.FAILED, f"cannot be started: {problem}")
        _close(limiter)
    finally:
        os.close(receipt)
    _feed(process, program.stdin)
    in_time = _await(process, budget)
    _end_group(process.pid, mark, everything=not in_time)
    process.wait()
    _let_go(limiter)
    return _verdict(receipts, budget, in_time=in_time)


def adopt(receipts: Receipts, budget: Budget, *, same_boot: bool) -> Ended:
    """What became of a run that an earlier agent began. One that still runs is waited for."""
    if not receipts.receipt.exists():
        return Ended(Outcome.NEVER_BEGAN if same_boot else Outcome.UNKNOWN, "it was announced and never begun")
    receipt = receipts.open()
    try:
        in_time = _await_lock(receipt, budget)
        if not in_time:
            _end_group(_pid_in(receipts), f"{RUN_VARIABLE}={receipts.receipt}", everything=True)
    finally:
        os.close(receipt)
    began, ended = _read(receipts)
    if ended is not None or not in_time:
        return _verdict(receipts, budget, in_time=in_time)
    if not began and same_boot:
        return Ended(Outcome.NEVER_BEGAN, "it was announced and never begun")
    return Ended(Outcome.UNKNOWN, "it was under way when the machine or the agent went down")


def boot_id() -> str:
    """Changes with every boot; empty where the system does not tell."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


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
    program: Program, receipts: Receipts, receipt: int, limiter: subprocess.Popen[bytes]
) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **(program.environment or {}), RUN_VARIABLE: str(receipts.receipt)}
    return subprocess.Popen(  # noqa: S603 - what the administrator wrote is what shall run
        ["/bin/sh", "-c", _SHELL, "sh", *program.arguments],
        stdin=subprocess.PIPE,
        stdout=limiter.stdin,
        stderr=receipt,
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


_LINGERING: list[subprocess.Popen[bytes]] = []


def _let_go(limiter: subprocess.Popen[bytes]) -> None:
    """A daemon that was left behind may hold on to our output: then its end is waited for another time."""
    _LINGERING[:] = [each for each in _LINGERING if each.poll() is None]
    try:
        limiter.wait(0.5)
    except subprocess.TimeoutExpired:
        _LINGERING.append(limiter)


# Waiting and ending


def _await(process: subprocess.Popen[bytes], budget: Budget) -> bool:
    """Whether it ended by itself within its time."""
    handle = os.pidfd_open(process.pid)
    try:
        while (left := budget.left()) > 0:
            if select.select([handle], [], [], min(left, _LOOK_SECONDS))[0]:
                return True
        return bool(select.select([handle], [], [], 0)[0])
    finally:
        os.close(handle)


def _await_lock(receipt: int, budget: Budget) -> bool:
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(receipt, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if not budget.pause(_LOOK_SECONDS):
            return False


def _end_group(pid: int, mark: str, *, everything: bool) -> None:
    """End what is left of the group, kindly first. ``everything``: also those who left it, whom our mark betrays.

    A program that ended in its time may have left a proper daemon behind, in a session of its own: that one is meant
    to stay. What just went to the background is not.
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
    waiting = Budget(seconds)
    while waiting.pause(0.02):
        if not _alive_in_group(pid):
            return


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


# Receipts


def _read(receipts: Receipts) -> tuple[bool, int | None]:
    """Whether it began, and its status if it ended."""
    began, status = False, None
    with suppress(OSError):
        for line in receipts.receipt.read_text("utf-8", "replace").splitlines():
            word, _, number = line.partition(" ")
            began = began or word == "began"
            if word == "ended" and number.isdecimal():
                status = int(number)
    return began, status


def _pid_in(receipts: Receipts) -> int:
    with suppress(OSError):
        for line in receipts.receipt.read_text("utf-8", "replace").splitlines():
            word, _, number = line.partition(" ")
            if word == "began" and number.isdecimal():
                return int(number)
    return 0


def _verdict(receipts: Receipts, budget: Budget, *, in_time: bool) -> Ended:
    said = last_lines(receipts.read_output())
    _, status = _read(receipts)
    if in_time and status == 0:
        return Ended(Outcome.DONE, said)
    if not in_time:
        outcome = Outcome.INTERRUPTED if budget.called_off else Outcome.TIMED_OUT
        return Ended(outcome, f"{budget.why_over()}{f': {said}' if said else ''}")
    how = "ended without a status" if status is None else _status_words(status)
    return Ended(Outcome.FAILED, f"{how}{f': {said}' if said else ''}")


def _status_words(status: int) -> str:
    if status > 128:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(status - 128).name}"
    return f"ended with status {status}"


def last_lines(text: str, most: int = 400) -> str:
    """What a log line can hold of a program's output."""
    return " ".join(text.split())[-most:]
