"""Programs on Windows: each with all that it starts in a job of its own, under a keeper that outlives us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from forewarn.durable import FileLock
from forewarn.guest.system.parts import OUTPUT_BYTES, Program, TimeLeft

assert sys.platform == "win32"
from forewarn.guest.system.windows.jobs import end_job, job_name  # noqa: E402 - there is none elsewhere

_KEEPER = Path(__file__).with_name("keeper.py")
_LOCKED = b"locked\n"  # the keeper's first word
_SHELL = ("cmd.exe", "/d", "/s", "/c")  # /d: without what a user's registry would run first; /s: one pair of quotes
_LOOK_SECONDS = 0.2  # ours: how soon it is noticed that there is less time than there was
_CRASH = 0xC0000000  # ntstatus.h: from here on errors


class WindowsPrograms:
    """Real ones."""

    def start(self, program: Program, receipt: Path, output: Path) -> WindowsRun:
        receipt.parent.mkdir(parents=True, exist_ok=True)
        words = [_interpreter(), "-I", "-S", str(_KEEPER), str(receipt), str(output), str(OUTPUT_BYTES)]
        process = subprocess.Popen(  # noqa: S603 - our own words
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP,
        )
        try:
            _give(process, program)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return WindowsRun(process, receipt)

    def find(self, receipt: Path) -> FoundProgram:
        return FoundProgram(receipt)

    def shell(self, line: str) -> Sequence[str]:
        return (*_SHELL, line)

    def status_words(self, status: int) -> str:
        return f"ended with status {status:#x}" if status >= _CRASH else f"ended with status {status}"


def _interpreter() -> str:
    """Python itself, not the small program that stands for it in a virtual environment."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def _give(process: subprocess.Popen[bytes], program: Program) -> None:
    """Send the keeper its order once it holds the lock on the receipt.

    An agent that starts later then sees that the program may run.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout as told:
        if told.readline() != _LOCKED:
            raise OSError("the process that is to keep it has ended before it began")
    order = {
        "arguments": [*program.arguments],
        "stdin": program.stdin.decode("latin-1"),
        "environment": {**os.environ, **(program.environment or {})},
        "directory": program.directory or f"{os.environ.get('SYSTEMDRIVE', 'C:')}\\",
    }
    with process.stdin as to:
        to.write(json.dumps(order).encode() + b"\n")


class WindowsRun:
    """A program whose keeper is our child."""

    def __init__(self, process: subprocess.Popen[bytes], receipt: Path) -> None:
        self._process, self._receipt = process, receipt

    def wait(self, time_left: TimeLeft) -> bool:
        while (left := time_left.left()) > 0:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(min(left, _LOOK_SECONDS))
                return True
        return self._process.poll() is not None

    def end(self, *, everything: bool) -> None:
        """A program that has ended has left nothing: its job went with the keeper."""
        if everything:
            end_job(job_name(self._receipt))
            self._process.kill()  # one that has not begun is in no job yet
        self._process.wait()


class FoundProgram:
    """A program that an earlier process started; its receipt is locked for as long as it runs."""

    def __init__(self, receipt: Path) -> None:
        self._receipt = receipt

    def wait(self, time_left: TimeLeft) -> bool:
        while True:
            with suppress(BlockingIOError):
                FileLock(self._receipt).close()
                return True
            if not time_left.pause(_LOOK_SECONDS):
                return False

    def end(self, *, everything: bool) -> None:
        end_job(job_name(self._receipt))
