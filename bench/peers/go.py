"""Go's net/http, where Go is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.processes import CannotMeasure, running, wait_for
from tests.ports import free_port

_SOURCE = Path(__file__).with_name("metadata.go")


def version() -> str | None:
    """What Go says of itself; None where it is not installed."""
    go = shutil.which("go")
    if go is None:
        return None
    return subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True).stdout.strip()


@contextmanager
def serving(directory: Path, server: str, body: bytes, vms: int) -> Iterator[tuple[int, int]]:
    """The peer's port and process id. One processor, as the others have one process."""
    program, port = directory / "go-peer", free_port()
    _build(program, directory)
    command = [str(program), f"127.0.0.1:{port}", str(vms), server, body.decode()]
    with running(command, pinned=True, env={"GOMAXPROCS": "1"}) as pid:
        wait_for(port, pid)
        yield port, pid


def _build(program: Path, directory: Path) -> None:
    env = {**os.environ, "GOCACHE": str(directory / "go-cache"), "GO111MODULE": "off", "GOTOOLCHAIN": "local"}
    built = subprocess.run(["go", "build", "-o", str(program), str(_SOURCE)], env=env, capture_output=True, text=True)
    if built.returncode:
        raise CannotMeasure(f"the Go peer does not build: {built.stderr.strip()}")
