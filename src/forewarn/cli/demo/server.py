"""The demo's server: ``forewarn serve`` for as long as its parent process lives; then nothing of it is left.

Standard input is a pipe whose other end the demo holds. However the demo ends, killed as well, the system closes that
end: the server is then told to end, and its directory is removed. This works wherever there are pipes.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

from forewarn.cli.main import main

_PATIENCE_SECONDS = 30.0  # longer than any way to end that works


def run(data: str, arguments: Sequence[str]) -> int:
    """Serve from the directory ``data``, and remove it at the end."""
    try:
        signal.signal(signal.SIGTERM, _end_at_once)  # until the server listens to signals itself
        threading.Thread(target=_end_with_the_demo, args=(data,), daemon=True).start()
        return main(["serve", "--data", data, *arguments])
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        shutil.rmtree(data, ignore_errors=True)


def _end_at_once(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _end_with_the_demo(data: str) -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing ever comes: it waits for the end
    if sys.platform == "win32":
        signal.raise_signal(signal.SIGTERM)  # to kill is to kill there
    else:
        os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_PATIENCE_SECONDS)  # the process ends before, unless something hangs
    shutil.rmtree(data, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
