"""Faults built into a node that has readers, or into these, which are programs of their own."""

from __future__ import annotations

import asyncio
import math
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from forewarn.core.region import Region
from forewarn.plane.ports import Record
from forewarn.plane.writer import Asked, Writer
from forewarn.server.readers import crew
from forewarn.server.readers.ground import HandedPatience, ReaderGround
from forewarn.server.readers.messages import Beat, Edition, decode_for_reader, encode
from forewarn.server.readers.seats import ReaderProcess
from forewarn.server.readers.telling import Telling
from forewarn.web.metadata.answering.outcomes import Outcome
from forewarn.web.metadata.asking.callers import Caller
from forewarn.web.metadata.asking.request import Request
from forewarn.web.slices.bulletins import Bulletin, ScopeSlice
from forewarn.web.slices.holding import HeldChange, Holding

_RUNNER = Path(__file__).with_name("sabotaged_reader.py")
_EARLY_SECONDS = 0.05  # before a commit is told of; longer than most commits take


# In the reader


def _half_applied() -> None:
    """Of what an edition tells of scopes, a half is known with the next edition only."""
    apply, left = Holding.apply, list[ScopeSlice]()

    def half(self: Holding, bulletin: Bulletin) -> HeldChange | None:
        if bulletin.whole or bulletin.more:
            return apply(self, bulletin)
        now = len(bulletin.scopes) // 2
        known = {each.key: each for each in (*left, *bulletin.scopes[:now])}
        left[:] = bulletin.scopes[now:]
        return apply(self, replace(bulletin, scopes=tuple(known.values())))

    Holding.apply = half  # type: ignore[method-assign]  # planted


def _approves_twice() -> None:
    """What was answered once is handed on once more, and that is the answer."""
    hand_on = ReaderGround.hand_on

    async def twice(
        self: ReaderGround, request: Request, caller: Caller, patience: HandedPatience, *, held: bool
    ) -> Outcome:
        if request.verb == b"POST":
            await hand_on(self, request, caller, HandedPatience(), held=held)
        return await hand_on(self, request, caller, patience, held=held)

    ReaderGround.hand_on = twice  # type: ignore[method-assign]  # planted


def _never_stale() -> None:
    """It answers, however long its server has said nothing."""
    hear = ReaderGround.hear

    def heard(self: ReaderGround, beat: Beat) -> None:
        hear(self, beat)
        self.standing.until = math.inf

    ReaderGround.hear = heard  # type: ignore[method-assign]  # planted


IN_READERS: dict[str, Callable[[], None]] = {
    "reader-half": _half_applied,
    "reader-twice": _approves_twice,
    "reader-never-stale": _never_stale,
}


def in_readers() -> None:
    """The node begins readers that have the fault whose name is in the environment."""

    async def launch(end: socket.socket, descriptors: Sequence[int]) -> ReaderProcess:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, str(_RUNNER), str(end.fileno())),
            pass_fds=(end.fileno(), *descriptors),
            start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
        )

    crew.launch_process = launch


# In the node


def told_too_early() -> None:
    """Readers know of a transaction before it is committed."""
    step_all, begin = Writer._step_all, Telling.__init__
    tellings: list[tuple[asyncio.AbstractEventLoop, Telling]] = []

    def begun(self: Telling, *values: Any, **named: Any) -> None:
        begin(self, *values, **named)
        tellings.append((asyncio.get_running_loop(), self))

    def stepped(self: Writer, asked: Sequence[Asked], *rest: Any) -> Any:
        region, answers, entries = step_all(self, asked, *rest)
        numbered = enumerate(entries, self.seq + 1)
        records = [Record(seq, each.fact, each.command, each.origin) for seq, each in numbered]
        for loop, telling in tellings:
            loop.call_soon_threadsafe(_tell, telling, region, records)
            time.sleep(_EARLY_SECONDS)
        return region, answers, entries

    Telling.__init__ = begun  # type: ignore[method-assign]  # planted
    Writer._step_all = stepped  # type: ignore[method-assign,assignment]  # planted


def _tell(telling: Telling, region: Region, records: Sequence[Record]) -> None:
    telling._publish(region, records)


def successors_know_the_past() -> None:
    """Each reader that begins is told what the first one was told that began when there were VMs."""
    beginning, first = Telling.beginning, list[bytes]()

    def again(self: Telling) -> Iterator[bytes]:
        edition = self.edition  # what comes after it is told later
        if not first and self._before.vms:
            first.extend(beginning(self))
        for message in first or beginning(self):
            news = decode_for_reader(message)
            assert isinstance(news, Edition)
            yield encode(replace(news, edition=edition, beat=self.beat()))

    Telling.beginning = again  # type: ignore[method-assign]  # planted
