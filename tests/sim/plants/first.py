"""The first ones: a rule of each kind that the judge knows."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from forewarn.core.deciding import settle
from forewarn.core.region import Event, Region
from forewarn.guest import watch
from forewarn.guest.agent.barrier import members as barrier
from forewarn.guest.agent.deciding import handling
from forewarn.guest.agent.deciding.policy import APPROVES
from forewarn.plane.ports import JournalFault
from forewarn.plane.standing import Standing
from forewarn.plane.writer import Batch, Line, Writer, Written
from forewarn.sim.misfortunes import Misfortunes
from forewarn.sim.plan import Misfortune
from forewarn.web.metadata.answering.cache import DocumentCache
from tests.sim.plants.plant import Plant


def start_early(patch: pytest.MonkeyPatch) -> None:
    honest = settle.may_start

    def may_start(region: Region, event: Event, now: datetime) -> bool:
        return honest(region, event, now + timedelta(minutes=16))

    patch.setattr(settle, "may_start", may_start)


def approve_unprepared(patch: pytest.MonkeyPatch) -> None:
    def may_approve(state: Any, care: Any) -> bool:
        return care.verdict in APPROVES

    patch.setattr(handling, "may_approve", may_approve)


def ask_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(barrier, "is_shared", lambda event, name: False)


def forget_to_restore(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(handling, "_restoring", lambda moment: None)


def show_another_scope(patch: pytest.MonkeyPatch) -> None:
    honest = DocumentCache.served

    def served(self: DocumentCache, region: Any, scope: Any, version: Any) -> Any:
        found = next((each for each in region.scopes.values() if each.events and each.key != scope.key), scope)
        return honest(self, region, found if found.incarnation == scope.incarnation else scope, version)

    patch.setattr(DocumentCache, "served", served)


def answer_before_it_is_on_disk(patch: pytest.MonkeyPatch) -> None:
    honest = Writer.carry_out

    def carry_out(self: Writer, line: Line, waiting: int) -> Batch:
        batch = honest(self, line, waiting)
        if not isinstance(batch.outcome, JournalFault):
            return batch
        return Batch(batch.asked, Written(self.region, self.seq, (), tuple(() for _ in batch.asked)))

    patch.setattr(Writer, "carry_out", carry_out)


def guess_how_it_ended(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(watch, "judge", lambda event, **_: (watch.Ending.CANCELED, "surely"))


def answer_when_cut_off(patch: pytest.MonkeyPatch) -> None:
    async def cut(self: Misfortunes, random: Random) -> None:
        handle = self._server(random).handle
        handle.cut = True
        await asyncio.sleep(1_200.0)
        handle.cut = False

    patch.setattr(Misfortunes, "_store", cut)
    patch.setattr(Standing, "stale", "")


FIRST = (
    Plant("an event starts a quarter of an hour before its time", "core.deciding.settle.may_start", start_early),
    Plant(
        "an agent approves before its steps are done", "guest.agent.deciding.handling.may_approve", approve_unprepared
    ),
    Plant("an agent asks nobody whom the event names too", "guest.agent.barrier.members.is_shared", ask_nobody),
    Plant("an agent never undoes its steps", "guest.agent.deciding.handling._restoring", forget_to_restore),
    Plant("a VM sees the document of another scope", "web.metadata.answering.cache.DocumentCache", show_another_scope),
    Plant(
        "what the journal could not keep is answered as done",
        "plane.writer.Writer.carry_out",
        answer_before_it_is_on_disk,
        faults=(Misfortune.STORE,),
    ),
    Plant("a watcher takes every end for a cancellation", "guest.watch.judge", guess_how_it_ended),
    Plant(
        "a node that is cut off from its store goes on answering",
        "plane.standing.Standing.stale",
        answer_when_cut_off,
        faults=(Misfortune.STORE,),
        nodes=3,
    ),
)
