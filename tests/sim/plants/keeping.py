"""What is kept: commits that fail, snapshots, debts, clocks, and what an agent knows after it was killed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forewarn.core.folding import assemble
from forewarn.core.region import replace as replaced
from forewarn.core.retired import NONE_RETIRED
from forewarn.guest.agent.barrier import members as barrier
from forewarn.guest.agent.keeping.journal import AgentJournal
from forewarn.plane.clock import RealClock
from forewarn.plane.impacts import Impacts
from forewarn.plane.ports import JournalFault
from forewarn.plane.writer import Writer
from forewarn.sim.plan import Misfortune
from forewarn.stores.snapshots import parts
from tests.sim.plants.plant import Plant


def a_failed_commit_is_published(patch: pytest.MonkeyPatch) -> None:
    honest, stepped = Writer.carry_out, Writer._step_all

    def step_all(self: Writer, batch: Any, now: Any) -> Any:
        found = stepped(self, batch, now)
        self.__dict__["ahead"] = found[0]
        return found

    def carry_out(self: Writer, line: Any, waiting: int) -> Any:
        batch = honest(self, line, waiting)
        if isinstance(batch.outcome, JournalFault):
            self.region = self.__dict__.pop("ahead", self.region)
        return batch

    patch.setattr(Writer, "_step_all", step_all)
    patch.setattr(Writer, "carry_out", carry_out)


def owed_impacts_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Impacts, "_owe", lambda self, event_ids, fault: None)
    patch.setattr(Impacts, "take_up", lambda self, region: None)


def snapshots_forget_retired_numbers(patch: pytest.MonkeyPatch) -> None:
    honest = assemble.assemble

    def assembled(*args: Any, **more: Any) -> Any:
        return honest(*args, **{**more, "retired": NONE_RETIRED})

    patch.setattr(parts, "assemble", assembled)


def snapshots_forget_what_is_due(patch: pytest.MonkeyPatch) -> None:
    honest = assemble._index

    def index(region: Any) -> Any:
        return replaced(honest(region), agenda=region.agenda)

    patch.setattr(assemble, "_index", index)


def a_leap_of_the_clock_is_believed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RealClock, "_is_believed", lambda self, gap, at: True)


def a_killed_agent_forgets_its_steps(patch: pytest.MonkeyPatch) -> None:
    honest = AgentJournal._open

    def opened(self: AgentJournal) -> None:
        honest(self)
        self.state = replace(self.state, effects=())

    patch.setattr(AgentJournal, "_open", opened)


def a_silent_member_is_ready(patch: pytest.MonkeyPatch) -> None:
    honest = barrier.rule

    def rule(event: Any, own_name: str, gathering: Any, tick: float, patience_seconds: float | None) -> Any:
        return honest(event, own_name, gathering, tick, 5.0)

    patch.setattr(barrier, "rule", rule)


KEEPING = (
    Plant(
        "what a failed commit would have led to is shown after the next one",
        "plane.writer.Writer.carry_out",
        a_failed_commit_is_published,
        faults=(Misfortune.STORE,),
        seam=True,
    ),
    Plant(
        "an impact that could not be recorded, or that a start finds open, is not begun again",
        "plane.impacts.Impacts._owe",
        owed_impacts_are_forgotten,
        faults=(Misfortune.CRASH, Misfortune.STORE),
        seam=True,
    ),
    Plant(
        "a start from a snapshot does not know the numbers of scopes that are gone",
        "stores.snapshots.parts.RegionBuilder.region",
        snapshots_forget_retired_numbers,
        faults=(Misfortune.CRASH,),
        seam=True,
    ),
    Plant(
        "a start from a snapshot does not know what is due",
        "core.folding.assemble._index",
        snapshots_forget_what_is_due,
        faults=(Misfortune.CRASH,),
        seam=True,
    ),
    Plant(
        "a clock that leaps ahead for a moment is believed at once",
        "plane.clock.RealClock._is_believed",
        a_leap_of_the_clock_is_believed,
        faults=(Misfortune.CLOCK,),
        seam=True,
    ),
    Plant(
        "an agent that was killed has forgotten which steps it has done",
        "guest.agent.keeping.journal.AgentJournal._open",
        a_killed_agent_forgets_its_steps,
        faults=(Misfortune.CRASH,),
        seam=True,
    ),
    Plant(
        "a member that does not answer for five seconds counts as ready",
        "guest.agent.barrier.members.rule",
        a_silent_member_is_ready,
        faults=(Misfortune.CRASH, Misfortune.PARTITION),
        seam=True,
    ),
)
