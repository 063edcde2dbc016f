"""A program at a real terminal: what it prints is read, and what is typed reaches it as keys do."""

from __future__ import annotations

import fcntl
import os
import subprocess
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.waiting import PATIENCE_SECONDS, until


class Terminal:
    """The user's side of it."""

    def __init__(self, process: subprocess.Popen[bytes], side: int) -> None:
        self.process = process
        self.shown = ""
        self._side = side
        threading.Thread(target=self._watch, daemon=True).start()

    def sees(self, text: str) -> None:
        until(lambda: text in self.shown, f"{text!r} on the terminal", lambda: self.shown)

    def types(self, text: str) -> None:
        os.write(self._side, text.encode())

    def ends(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)

    def _watch(self) -> None:
        with suppress(OSError):  # nobody is at the other side any more
            while found := os.read(self._side, 65536):
                self.shown += found.decode(errors="replace").replace("\r\n", "\n")


@contextmanager
def at_terminal(
    command: Sequence[str | Path], env: Mapping[str, str], stdin: int | None = None, stdout: int | None = None
) -> Iterator[Terminal]:
    """Run it with the terminal as its own; ``stdin`` or ``stdout`` may be something else."""
    ours, theirs = os.openpty()

    def take_it() -> None:
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        command,
        env=dict(env),
        stdin=theirs if stdin is None else stdin,
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=take_it,
        pass_fds=(theirs,),
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait(PATIENCE_SECONDS)
        os.close(ours)
