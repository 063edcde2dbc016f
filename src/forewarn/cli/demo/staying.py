"""After the stories: the region stays up so that a person can click in it, for a while."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from datetime import timedelta

from forewarn.cli.api.client import OperatorClient
from forewarn.cli.demo import typed
from forewarn.cli.output import Output

_TRY = ("vm list", "event watch", "campaign start --kind freeze", "clock next")
STAY = timedelta(minutes=10)  # less than the notices of what is left open, so that it stays open
_USUAL_CONTROL = ":16926"


def somebody_looks(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a person is there to end it: both ends are a terminal, and no build service pretends to be one."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not environment.get("CI")


def leave_something_open(client: OperatorClient) -> list[str]:
    """Leave two events that wait for approval, on a clock at its usual speed; returns what they are."""
    client.set_speed(1.0)
    host = client.vm("db")["host"] or ""
    left = [*client.operate("restart", ["web-1"])["events"], *client.maintain([host], "freeze")["events"]]
    return [f"{event['type']} of {', '.join(event['vms'])}" for event in left]


def invite(output: Output, metadata: str, control: str, left: list[str]) -> None:
    """Where to click, and what to type in another terminal."""
    output.line()
    output.prose(f"The clock now runs as yours does. Waiting for an approval: {'; '.join(left)}.")
    output.line("In another terminal:")
    for line in _commands(metadata, control):
        output.line(f"  {line}")
    output.line()
    output.line(f"The portal: {control}/portal/", at_once=True)
    minutes = STAY.total_seconds() / 60
    output.prose(f"The region stays up for {minutes:g} minutes. Enter or Ctrl-C ends it; nothing is kept.")


def _commands(metadata: str, control: str) -> Iterator[str]:
    if not control.endswith(_USUAL_CONTROL):
        yield typed.setting(FOREWARN_URL=control)
    if sys.platform == "win32":
        yield typed.reading(f"{metadata}/vm/web-0")
        for command in _TRY:
            yield f".venv\\Scripts\\forewarn {command}"
        yield ".venv\\Scripts\\forewarn az-env | Out-String | Invoke-Expression; az vm list"
        return
    yield "curl -H Metadata:true -G -d api-version=2020-07-01 \\"
    yield f"  {metadata}/vm/web-0/metadata/scheduledevents"
    for command in _TRY:
        yield f".venv/bin/forewarn {command}"
    yield 'eval "$(.venv/bin/forewarn az-env)" && az vm list'
    yield f"curl {control}/openapi.json   # the operator API"


def stay(seconds: float) -> None:
    """Until Enter, Ctrl-C or so many seconds have passed. Other signals end the whole demo, as at any other time."""
    entered = threading.Event()
    threading.Thread(target=_read_a_line, args=(entered,), name="enter", daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        entered.wait(seconds)


def _read_a_line(entered: threading.Event) -> None:
    """Past Python's own buffer, whose lock a thread that still reads would hold when the program ends."""
    with contextlib.suppress(OSError):  # the terminal was closed
        os.read(sys.stdin.fileno(), 4096)
    entered.set()
