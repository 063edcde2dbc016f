"""``forewarn try``: a throw-away region with one VM and one event, brought about by the commands that it prints."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from forewarn.cli import parsing, throwaway
from forewarn.cli.api.client import DEFAULT_URL
from forewarn.cli.demo import typed
from forewarn.cli.output import Output
from forewarn.cli.parsing import Subparsers
from forewarn.cli.throwaway import EVENTS, VM
from forewarn.settings.errors import CommandFailed
from forewarn.settings.extras import import_part

_PATIENCE_SECONDS = 60.0  # ours: for a loaded machine; a person can press Ctrl-C


def add_to(subparsers: Subparsers) -> None:
    trial = parsing.add_command(
        subparsers,
        "try",
        _try,
        "see one event and approve it",
        "Run a throw-away region whose clock stands still, with one VM that reads its document, and bring about one "
        "event. It prints the commands that did it, the document with the event in it, how to approve it, and what to "
        "type next. Ctrl-C ends it; nothing is kept.",
        "forewarn try",
        "forewarn try preempt",
    )
    trial.add_argument("type", nargs="?", choices=tuple(EVENTS), default="reboot", help="which event (default: reboot)")


def _try(args: argparse.Namespace, out: Output) -> int:
    """Serve until Ctrl-C, after the event was brought about and shown. ``forewarn mock`` is for programs; see there."""
    serving = import_part("forewarn.server.life", "forewarn try")

    def greet(server: Any) -> None:
        _tell(server.urls, args.type, out)

    return throwaway.serve(serving, {"clock": "virtual"}, (), greet)


def _tell(urls: dict[str, str], kind: str, out: Output) -> None:
    from forewarn.cli.main import main  # which imports this module

    event = EVENTS[kind]
    control, endpoint = urls["control"], f"{urls['metadata']}/vm/{VM}"
    out.line(f"A throw-away region: one VM, {VM}, and a clock that stands still.")
    if control != DEFAULT_URL:
        out.line(f"$ {typed.setting(FOREWARN_URL=control)}")
    for words in (f"vm create {VM} --read{event.options}", event.typed(VM)):
        out.line(f"$ forewarn {words}", at_once=True)
        if main([*shlex.split(words), "--url", control]):
            raise CommandFailed("that should have worked; what went wrong is told above.")
    out.line("$ " + "\n".join(typed.reading_tidily(endpoint)))
    shown = _get(typed.document_url(endpoint))
    out.line(json.dumps(shown, indent=4))
    if not shown["Events"]:
        raise CommandFailed("the event is over already: somebody else has used this region in the meantime.")
    for line in _what_next(shown["Events"][0]["EventId"], endpoint):
        out.line(line, at_once=True)


def _get(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_PATIENCE_SECONDS)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}", headers={"Metadata": "true"})
        found: dict[str, Any] = json.loads(connection.getresponse().read())
        return found
    finally:
        connection.close()


def _what_next(event_id: str, endpoint: str) -> Iterator[str]:
    approval = json.dumps({"StartRequests": [{"EventId": event_id}]}, separators=(",", ":"))
    yield ""
    yield f"In another terminal, approve it as a program inside {VM} would (the answer is empty):"
    yield from (f"  {line}" for line in typed.approving(endpoint, approval))
    yield "or leave it alone, and turn the clock to what happens then:"
    yield from _made_known()
    yield "  forewarn clock next"
    yield f"Its story: forewarn event show {event_id[:8]}. All commands: forewarn --help."
    yield "Ctrl-C ends this region; nothing is kept."


def _made_known() -> Iterator[str]:
    """What makes our command known to another shell, where it is not: ``make try`` runs it by its path."""
    place = Path(sys.argv[0])
    if place.name == "forewarn" and shutil.which("forewarn") is None and (place.parent / "activate").exists():
        yield f"  . {place.parent / 'activate'}"
