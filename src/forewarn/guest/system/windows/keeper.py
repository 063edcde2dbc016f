"""A program's keeper: a small process that starts it, notes in the receipt that it began and how it ended, and ends.

Run by ``programs`` as ``python -I -S keeper.py RECEIPT OUTPUT``, with its order on standard input. It outlives an agent
that is killed. It is in one job with the program and all that this starts: whoever ends the job, or the keeper, ends
them all. The receipt is locked for as long as it lives.

1. It locks the receipt and says so, in a line. Only now is it told what to do.
2. It reads the order, one line of JSON. Without a whole one, because the agent is gone, nothing begins.
3. It writes ``began PID``, runs the program, keeps the beginning of its output, and writes ``ended STATUS``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[4]))  # without site, nobody else does

assert sys.platform == "win32"
from forewarn import durable  # noqa: E402 - found by the line above
from forewarn.guest.system.windows.jobs import job_name, join_new_job  # noqa: E402 - the same

LOCKED = b"locked\n"
NEVER_BEGAN = 125  # as on Linux; ours
SHELL = ("cmd.exe", "/d", "/s", "/c")
_DRAIN_SECONDS = 0.5  # ours: for output that is still on its way when the program has ended
_NO_WINDOW = subprocess.CREATE_NO_WINDOW


def main(receipt: Path, output: Path, output_bytes: int) -> int:
    lock = durable.FileLock(receipt)
    lock.note("")  # one of an earlier run may be there
    sys.stdout.buffer.write(LOCKED)
    sys.stdout.buffer.flush()
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return NEVER_BEGAN
    join_new_job(job_name(receipt))
    order: dict[str, Any] = json.loads(line)
    noting = os.open(receipt, os.O_WRONLY | os.O_APPEND | durable.OWN)
    os.write(noting, f"began {os.getpid()}\n".encode())
    status = _run(order, output, output_bytes)
    os.write(noting, f"ended {status}\n".encode())
    os._exit(0)  # at once, and the job with it: nothing that went to the background stays


def _run(order: dict[str, Any], output: Path, most: int) -> int:
    with output.open("wb") as kept:
        try:
            process = subprocess.Popen(  # noqa: S603 - what the administrator wrote is what shall run
                command_line(order["arguments"]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=order["environment"],
                cwd=order["directory"],
                creationflags=_NO_WINDOW,
            )
        except OSError as problem:
            kept.write(f"{order['arguments'][0]}: {problem.strerror or problem}".encode())
            return 127  # as shells say that there is no such program
        assert process.stdin is not None
        assert process.stdout is not None
        feeding = threading.Thread(target=_feed, args=(process.stdin, order["stdin"].encode("latin-1")), daemon=True)
        reading = threading.Thread(target=_keep, args=(process.stdout, kept, most), daemon=True)
        feeding.start()
        reading.start()
        status = process.wait()
        reading.join(_DRAIN_SECONDS)
        return status


def command_line(arguments: list[str]) -> str:
    """As programs of Windows take it apart again; what is for the shell stands as it is, between quotes."""
    if tuple(arguments[:4]) == SHELL:
        return f'{" ".join(SHELL)} "{arguments[4]}"'
    return subprocess.list2cmdline(arguments)


def _feed(to: IO[bytes], data: bytes) -> None:
    with suppress(OSError):  # it need not read it
        to.write(data)
        to.close()


def _keep(source: IO[bytes], kept: IO[bytes], most: int) -> None:
    """The beginning; the rest is read and thrown away, so that the program can go on."""
    with suppress(OSError, ValueError):
        while piece := source.read1(65536):  # type: ignore[attr-defined]  # a buffered reader has it
            kept.write(piece[:most])
            kept.flush()
            most -= min(most, len(piece))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
