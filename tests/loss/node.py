"""Runs ``forewarn`` with an ear at its engine: what it hands over is written down first, by whom and when.

``python node.py NOTES NAME forewarn ARGUMENTS…``: a machine that is touched leaves a trace here even if the node dies
before it can tell its journal.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import datetime
from pathlib import Path

sys.path.pop(0)  # this file's directory, whose modules are no part of the program

from forewarn.__main__ import main
from forewarn.core.region import Event
from forewarn.engines.simulated import SimulatedEngine
from forewarn.stores.sqlite import file as sqlite_file


def listen_in(notes: str, name: str) -> None:
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    begin = SimulatedEngine.begin

    def heard(engine: SimulatedEngine, event: Event, now: datetime) -> datetime | None:
        note = {"type": "Begun", "event_id": event.id, "node": name, "process": os.getpid(), "at": time.monotonic()}
        os.write(file, json.dumps(note).encode() + b"\n")
        return begin(engine, event, now)

    SimulatedEngine.begin = heard  # type: ignore[assignment,method-assign]  # planted


if __name__ == "__main__":
    _, told_notes, told_name, program, *arguments = sys.argv
    listen_in(told_notes, told_name)
    if pages := os.environ.get("LOSS_WAL_PAGES"):
        sqlite_file._WAL_PAGES = int(pages)
    if os.environ.get("LOSS_SABOTAGE"):
        sys.path.append(str(Path(__file__).parents[2]))
        from tests.loss.sabotage import commit_it

        commit_it()
    sys.argv = [program, *arguments]
    sys.exit(main())
