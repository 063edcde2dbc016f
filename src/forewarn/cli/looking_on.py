"""What a server says on a terminal while it runs: each request of a guest, each change of an event, as they come.

Lines are printed by a thread of their own: a terminal that stands still must not make VMs wait. Questions that are
alike in a row are one line and a number. Needs the server extra.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from forewarn.cli import terse
from forewarn.cli.commands.watching import CHANGES, SeenEvents, change_line
from forewarn.cli.output import Output, cut
from forewarn.core.facts import ScopeDisabled, ScopeEnabled, VmCreated, VmDeleted
from forewarn.core.looking.story import tell
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Record
from forewarn.settings.times import show_instant
from forewarn.web.operator.records import record_fields
from forewarn.web.seen import SeenRequest

_MOST_WAITING = 2_000  # ours: lines that a slow terminal has not taken; what comes then is counted
_FOLD_SECONDS = 5.0  # ours: so long at most until repetitions are told
_TOLD_BESIDES = (VmCreated, VmDeleted, ScopeEnabled, ScopeDisabled)  # of facts that are no change of an event


@dataclass(slots=True)
class _Repeated:
    """The last line about a VM's requests, and how often the same has come since."""

    line: str
    more: int = 0


class LiveTelling:
    """Told on the loop's thread; prints in its own."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._waiting: queue.Queue[Callable[[], None]] = queue.Queue(_MOST_WAITING)
        self._left_out = 0
        self._events = SeenEvents()
        self._last: dict[str, _Repeated] = {}
        threading.Thread(target=self._print, name="telling", daemon=True).start()

    def follow(self, plane: Plane) -> None:
        """From here on facts are told, too. On the loop."""
        plane.subscribe(self.published)

    # Of the loop

    def seen(self, request: SeenRequest) -> None:
        self._later(lambda: self._tell_request(request))

    def published(self, _region: object, records: Sequence[Record]) -> None:
        for record in records:
            if type(record.fact).__name__ in CHANGES:
                fields: dict[str, Any] = record_fields(record).model_dump(mode="json")
                self._later(lambda fields=fields: self._tell_change(fields))  # type: ignore[misc]  # bound now
            elif isinstance(record.fact, _TOLD_BESIDES):
                at, text = show_instant(record.fact.at), tell(record.fact)
                self._later(lambda at=at, text=text: self._say(at, text))  # type: ignore[misc]  # bound now

    def _later(self, tell_it: Callable[[], None]) -> None:
        try:
            self._waiting.put_nowait(tell_it)
        except queue.Full:
            self._left_out += 1

    # Of the thread

    def _print(self) -> None:
        while True:
            try:
                self._waiting.get(timeout=_FOLD_SECONDS)()
            except queue.Empty:
                self._tell_repeated()
            except (OSError, ValueError):
                return  # the terminal has gone
            if self._left_out and self._waiting.empty():
                self._say("", f"{self._left_out} more, faster than this terminal; they are not shown")
                self._left_out = 0

    def _tell_change(self, fields: Any) -> None:
        self._tell_repeated()
        self._out.line(change_line(self._out, fields, self._events.learn(fields)), at_once=True)

    def _tell_request(self, seen: SeenRequest) -> None:
        who = seen.vm or "nobody's"
        rest = "; ".join(filter(None, (_what_came(seen), f"fault {seen.fault}" if seen.fault else "")))
        line = f"{who}  {seen.words}{f': {rest}' if rest else ''}"
        last = self._last.get(who)
        if last is not None and last.line == line:
            last.more += 1
            return
        self._tell_repeated(who)
        self._last[who] = _Repeated(line)
        self._say(show_instant(seen.at), line)

    def _tell_repeated(self, only: str = "") -> None:
        for who in [only] if only else list(self._last):
            last = self._last.get(who)
            if last is not None and last.more:
                self._say("", f"{last.line}, {last.more} more time{'' if last.more == 1 else 's'}")
                last.more = 0

    def _say(self, at: str, text: str) -> None:
        moment = terse.moment(self._out, at)
        line = f"{moment}  {text}" if moment else f"  {text}"
        self._out.line(line if self._out.width is None else cut(line, self._out.width), at_once=True)


def _what_came(seen: SeenRequest) -> str:
    if seen.reason:
        return seen.reason
    if seen.incarnation is not None:
        return f"incarnation {seen.incarnation}, {seen.made}" if seen.made else f"incarnation {seen.incarnation}"
    return seen.made
