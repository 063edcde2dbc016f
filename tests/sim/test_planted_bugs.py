"""A checker that cannot fail proves nothing: rules are broken on purpose, and each time the simulator says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from forewarn.core import settle
from forewarn.core.region import Event, Region
from forewarn.guest import watch
from forewarn.guest.agent.barrier import members as barrier
from forewarn.guest.agent.deciding import handling
from forewarn.guest.agent.deciding.policy import APPROVES
from forewarn.plane.ports import JournalFault
from forewarn.plane.standing import Standing
from forewarn.plane.writer import Batch, Line, Writer, Written
from forewarn.sim.misfortunes import Misfortunes
from forewarn.sim.plan import Misfortune, Plan
from forewarn.sim.running import Outcome, simulate
from forewarn.sim.summary import page, story
from forewarn.sim.trace import Trace
from forewarn.web.metadata.answering.cache import DocumentCache

Plant = Callable[[pytest.MonkeyPatch], None]


def lived(seed: int, *faults: Misfortune, nodes: int = 1) -> Outcome:
    plan = Plan(seed, vms=20, days=0.25, faults=faults, nodes=nodes, pace=12.0)
    return simulate(plan, Trace(plan))


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


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("plant", "rule", "faults", "nodes"),
    [
        (start_early, "early start", (), 1),
        (approve_unprepared, "agent", (), 1),
        (ask_nobody, "agent", (), 1),
        (forget_to_restore, "liveness", (), 1),
        (show_another_scope, "wire", (), 1),
        (answer_before_it_is_on_disk, "acknowledged", (Misfortune.STORE,), 1),
        (guess_how_it_ended, "watcher", (), 1),
        (answer_when_cut_off, "stale", (Misfortune.STORE,), 3),
    ],
)
def test_a_broken_rule_is_found_and_told(
    plant: Plant, rule: str, faults: tuple[Misfortune, ...], nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    for seed in range(1, 7):
        outcome = lived(seed, *faults, nodes=nodes)
        if outcome.violations:
            break
    found = outcome.violations[0]
    assert found.rule == rule, found
    told = story(outcome, found)
    assert f"forewarn sim --seed {outcome.plan.seed}" in told[-1]
    assert found.sentence in told[1]
    assert "No violation" not in page(outcome)[-1]
