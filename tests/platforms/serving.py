"""The product's server as a program at a host of the tests, and its command line there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.program import FOREWARN, ServerProgram, clean_environment
from tests.waiting import until

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def launch(inside: Sequence[str], data: Path, metadata: str, *options: str | Path, **variables: str) -> ServerProgram:
    """A server in the network of ``inside``, with its metadata face at that address, which is not waited for."""
    given = ("--metadata", metadata, "--log-level", "info", *options)
    environment = clean_environment(PATH=_PATH, **variables)
    return ServerProgram.launch(data, *given, wrapper=tuple(inside), env=environment)


@contextmanager
def serving(inside: Sequence[str], data: Path, metadata: str, *options: str | Path) -> Iterator[ServerProgram]:
    """The same, ready, until the block ends."""
    made = launch(inside, data, metadata, *options)
    try:
        made.await_ready()
        yield made
    finally:
        made.kill()
        made.close()


def forewarn(server: ServerProgram, inside: Sequence[str], *words: str) -> str:
    """A command of a person at that host."""
    line = [*inside, str(FOREWARN), *words, "--url", server.control]
    env = clean_environment(PATH=_PATH, **({"FOREWARN_TOKEN": server.token} if server.token else {}))
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, (
        f"forewarn {' '.join(words)}: {done.stdout}{done.stderr}\n{server.log.read_text()[-3000:]}"
    )
    return done.stdout


def facts(server: ServerProgram, inside: Sequence[str], *names: str) -> list[dict[str, Any]]:
    """What the journal holds of these kinds, in order."""
    lines = forewarn(server, inside, "journal", "export").splitlines()
    records = [json.loads(line) for line in lines]
    return [record for record in records if not names or record["fact"] in names]


def approved(server: ServerProgram, inside: Sequence[str], vm: str) -> None:
    """Wait until that VM itself has approved an event."""

    def by_it() -> bool:
        return any(fact["body"]["by"] == vm for fact in facts(server, inside, "EventApproved"))

    until(by_it, f"the approval of {vm}", lambda: server.log.read_text()[-3000:])
