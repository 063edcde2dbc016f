"""What was foretold is what then happens: dry runs beside the requests in earnest, forecasts beside a turned clock.

Hypothesis plays operator, guest and clock on a whole plane. Each request is made twice at the same instant, first as a
dry run; and each turn of the clock is compared, fact by fact, with the forecast that was made before it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import md5
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from forewarn.core import facts as f
from forewarn.core.commands import Command, Tick
from forewarn.core.refusal import Refused
from forewarn.core.region import Region, Vm
from forewarn.core.rules import Rules
from forewarn.core.step import step
from forewarn.engines.simulated import Durations, SimulatedEngine
from forewarn.plane.clock import TurnableClock
from forewarn.plane.plane import Plane
from forewarn.plane.ports import CLOCK, Origin, Record
from forewarn.plane.system import ServerSystem
from forewarn.plane.writer import Writer
from forewarn.stores.memory import MemoryJournal
from forewarn.web.operator.desk import Asker, DryRun
from forewarn.web.operator.routes import campaigns, events, fleet, hosts, scale_sets, scopes
from forewarn.web.operator.schema import requests as r
from forewarn.web.operator.schema import scale_set_requests as s
from forewarn.web.operator.schema.answers import CommandAnswer

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
RULES = Rules(update_domains=2, fault_domains=1, vms_per_host=2, user_operation_limit=3)
WHO = Origin("operator", "model", "request")
# Impacts that take no time end as they begin, and what has waited for them starts out of them.
AT_ONCE = Durations(*[timedelta(0)] * 5)
NAMES = [f"vm-{number}" for number in range(6)]
SETS = ["uni", "flex"]
MAINTENANCE = ["freeze", "live-migration", "network", "reboot", "redeploy", "predicted-failure"]
_NOT_FORETOLD = (f.ClockMoved, f.ScopeRead, f.ScopesRead)  # who moves a clock, and who reads, acts
_T = TypeVar("_T")

Asking = Callable[[Asker], Awaitable[CommandAnswer]]
pick = st.integers(0, 1_000)
hurries = st.sampled_from([1, 30, 300, 600, 900, 3_600, 86_399, 86_400, 8 * 86_400]).map(lambda n: timedelta(seconds=n))


def _next_uuid(numbers: Iterator[int]) -> UUID:
    """In no order that could be taken for that of their making."""
    return UUID(bytes=md5(str(next(numbers)).encode()).digest(), version=4)


def without_new(value: Any, fresh: Sequence[str]) -> Any:
    """An answer as a dry run may tell it: what is new in it has no id, and no name that was drawn."""
    if isinstance(value, dict):
        return {key: without_new(each, fresh) for key, each in value.items() if key != "dry_run"}
    if isinstance(value, list):
        return [without_new(each, fresh) for each in value if each not in fresh]
    if isinstance(value, str):
        for each in (*fresh, "(yet to be made)"):  # in a sentence, these words stand where the id will stand
            value = value.replace(each, "")
    return value


class Foretold(RuleBasedStateMachine):
    """A plane on a journal in memory, and the functions of the operator's routes before it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.journal = MemoryJournal()

    @initialize(durations=st.sampled_from([Durations(), AT_ONCE]))
    def open(self, durations: Durations) -> None:
        system = ServerSystem(new_uuid=partial(_next_uuid, count()))  # the same choices lead to the same ids again
        engine = SimulatedEngine(durations)
        self.plane = Plane.open(self.journal, lambda _: TurnableClock(START), engine, RULES, system=system)
        self.run(self.plane.start())
        self.run(self._quiet())

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        self.run(self.plane.close())
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()

    @property
    def region(self) -> Region:
        return self.plane.region

    # A request, twice

    def both(self, asking: Asking) -> None:
        """The dry run tells what the request in earnest then does, or why it is refused; and changes nothing."""
        self.run(self._both(asking))

    async def _both(self, asking: Asking) -> None:
        heard: list[Sequence[Record]] = []
        forget = self.plane.subscribe(lambda _, records: heard.append(records))
        before, head = self.region, self.journal.head()
        foretold = await _answer(asking, DryRun(self.plane, WHO))
        assert self.region is before
        assert (self.journal.head(), heard) == (head, [])
        forget()
        done = await _answer(asking, Asker(self.plane, WHO))
        fresh = [each for record in self.journal.read(head, 100_000) if (each := _new_id(record.fact))]
        drawn = [vm.name for key, vm in self.region.vms.items() if key not in before.vms and vm.scale_set == "flex"]
        await self._quiet()
        if isinstance(done, str) or isinstance(foretold, str):
            assert foretold == done
            return
        assert (foretold.pop("dry_run"), done["dry_run"]) == (True, False)
        told = without_new(_undrawn(foretold), [])
        heard_then = without_new(_undrawn(done, drawn), fresh)
        assert told == heard_then, {key: (told[key], heard_then[key]) for key in told if told[key] != heard_then[key]}
        assert not any(each in str(foretold) for each in fresh)

    async def _quiet(self) -> None:
        """What follows from a write by itself is done: impacts have begun, and the clock has ticked for what is due.

        So the next request finds a region that only time that nobody has looked at, or another request, can change.
        """
        await self.plane.submit(Tick(), CLOCK)
        while self._is_busy():  # noqa: ASYNC110 - the loop is simulated, and there is no event to wait for
            await asyncio.sleep(0)  # the writer's thread is at it, and gives no sign when it is done

    def _is_busy(self) -> bool:
        due = self.region.agenda.first()
        begins = any(each.started_at and not each.impact_began_at for each in self.region.events.values())
        return begins or (due is not None and due.at <= self.plane.now())

    # The fleet

    @rule(p=pick, spot=st.booleans(), notice=st.sampled_from([None, 300]), read=st.booleans(), lone=st.booleans())
    def create(self, p: int, spot: bool, notice: int | None, read: bool, lone: bool) -> None:
        said = {
            "name": NAMES[p % len(NAMES)],
            "spot": spot,
            "terminate_notice_seconds": None if spot else notice,
            "availability_set": None if lone else "front",
            "read": read,
        }
        body = r.CreateVmsBody.model_validate(said)
        self.both(lambda asker: fleet.create(body, asker))

    @rule(
        name=st.sampled_from(SETS),
        p=st.integers(0, 3),
        notice=st.sampled_from([None, 300, 600]),
        upgrade=st.sampled_from(["Manual", "Automatic", "Rolling"]),
    )
    def create_or_change_a_set(self, name: str, p: int, notice: int | None, upgrade: Any) -> None:
        said: dict[str, Any] = {"capacity": p, "upgrade": upgrade, "terminate_notice_seconds": notice}
        if name in self.region.scale_sets:
            self.both(lambda asker: scale_sets.change(name, s.ScaleSetChangeBody.model_validate(said), asker))
        else:
            kind = "Flexible" if name == "flex" else "Uniform"
            body = s.CreateScaleSetBody.model_validate({"name": name, "orchestration": kind, **said})
            self.both(lambda asker: scale_sets.create(body, asker))

    @rule(name=st.sampled_from(SETS))
    def delete_a_set(self, name: str) -> None:
        self.both(lambda asker: scale_sets.delete(name, asker))

    @precondition(lambda self: self.region.vms)
    @rule(p=pick)
    def delete_an_instance(self, p: int) -> None:
        instances = sorted(vm.name for vm in self.region.vms.values() if vm.scale_set) or ["none"]
        name = instances[p % len(instances)]
        body = s.ChosenInstancesBody(instances=[name])
        self.both(lambda asker: scale_sets.delete_instances(name.partition("_")[0], body, asker))

    @rule(
        p=pick,
        q=pick,
        how=st.sampled_from(
            [
                fleet.restart,
                fleet.redeploy,
                fleet.reimage,
                fleet.evict,
                fleet.delete,
                fleet.stop,
                fleet.deallocate,
                fleet.start,
            ]
        ),
    )
    def operate(self, p: int, q: int, how: Callable[[r.NamesBody, Asker], Awaitable[CommandAnswer]]) -> None:
        """Also VMs that are not there."""
        known = [*sorted(self.region.vms), "nobody"]
        body = r.NamesBody(names=list(dict.fromkeys(known[each % len(known)] for each in (p, q))))
        self.both(lambda asker: how(body, asker))

    @precondition(lambda self: self.region.scopes)
    @rule(p=pick, reboot=st.booleans(), down=st.booleans())
    def set_a_policy(self, p: int, reboot: bool, down: bool) -> None:
        kind, _, name = sorted(self.region.scopes)[p % len(self.region.scopes)].partition("/")
        body = r.PolicyBody.model_validate({"auto_approve_reboot": reboot, "all_instances_down": down})
        self.both(lambda asker: scopes.set_policy(kind, name, body, asker))

    # Guests

    @precondition(lambda self: self.region.vms)
    @rule(p=pick, kept=st.booleans())
    def read(self, p: int, kept: bool) -> None:
        """A VM polls. The first read goes to the journal; of later ones only the book of reads knows, for a while."""
        vm = self.region.vms[sorted(self.region.vms)[p % len(self.region.vms)]]
        if self.region.scope_of(vm).enabled_at is None or kept:
            self.run(self._enable(vm))
        else:
            self.plane.read_by(vm.name)

    async def _enable(self, vm: Vm) -> None:
        await self.plane.enable(vm)
        await self._quiet()

    # Hosts, campaigns, events

    @precondition(lambda self: self.region.hosts)
    @rule(p=pick, kind=st.sampled_from(MAINTENANCE), fails=st.booleans())
    def work_on_a_host(self, p: int, kind: Any, fails: bool) -> None:
        host = f"host-{p % (len(self.region.hosts) + 1)}"
        if fails:
            self.both(lambda asker: hosts.fail(r.FailBody(hosts=[host]), asker))
        else:
            self.both(lambda asker: hosts.maintain(r.MaintainBody(hosts=[host], kind=kind), asker))

    @precondition(lambda self: self.region.hosts)
    @rule(kind=st.sampled_from(MAINTENANCE), at_once=st.sampled_from([None, 1]))
    def start_a_campaign(self, kind: Any, at_once: int | None) -> None:
        body = r.CampaignBody.model_validate({"kind": kind, "hosts_at_once": at_once})
        self.both(lambda asker: campaigns.start(body, asker))

    @precondition(lambda self: self.region.campaigns)
    @rule(p=pick, how=st.sampled_from([campaigns.pause, campaigns.resume, campaigns.cancel]))
    def steer_a_campaign(self, p: int, how: Callable[[str, Asker], Awaitable[CommandAnswer]]) -> None:
        name = sorted(self.region.campaigns)[p % len(self.region.campaigns)]
        self.both(lambda asker: how(name, asker))

    @precondition(lambda self: self.region.events)
    @rule(p=pick, q=pick, how=st.sampled_from([events.approve, events.cancel]))
    def turn_events(self, p: int, q: int, how: Callable[[r.EventIdsBody, Asker], Awaitable[CommandAnswer]]) -> None:
        known = sorted(self.region.events)
        body = r.EventIdsBody(ids=[known[each % len(known)] for each in (p, q)])
        self.both(lambda asker: how(body, asker))

    # Time

    @rule(by=hurries)
    def turn_the_clock(self, by: timedelta) -> None:
        """What the clock then does is what the forecast told, fact by fact, ids and all."""
        self.run(self._turn(by))

    async def _turn(self, by: timedelta) -> None:
        now, to, before = self.plane.now(), self.plane.now() + by, self.region
        forecast = await self.plane.forecasts.look(before, self.plane.seq, now, to, lambda _: True)
        assert self.region is before
        head = self.journal.head()
        await self.plane.advance(to)
        happened = [record.fact for record in self.journal.read(head, 100_000)]
        done = [fact for fact in happened if not isinstance(fact, _NOT_FORETOLD)]
        assert [each.fact for each in forecast.facts] == done[:500]
        assert (forecast.cut_at is None) == (len(done) <= 500)
        await self._quiet()

    @precondition(lambda self: any(scope.lapses_at for scope in self.region.scopes.values()))
    @rule(p=pick, kind=st.sampled_from(MAINTENANCE))
    def start_a_campaign_when_only_the_book_knows_that_a_scope_is_read_for(self, p: int, kind: Any) -> None:
        """Its day is over as far as the journal knows, so its VMs would be hit at once; but one read in time."""
        enabled = {key: scope.lapses_at for key, scope in self.region.scopes.items() if scope.lapses_at}
        key = sorted(enabled)[p % len(enabled)]
        vms = self.region.members_of(self.region.scopes[key])
        lapses_at = enabled[key]
        if not vms or lapses_at - timedelta(seconds=1) <= self.plane.now():
            return
        self.run(self._turn(lapses_at - timedelta(seconds=1) - self.plane.now()))
        vm = self.region.vms.get(vms[p % len(vms)].key)
        if vm is not None and self.region.scope_of(vm).enabled_at is not None:
            self.plane.read_by(vm.name)
            self.plane.clock.move_to(lapses_at + timedelta(seconds=1))
            self.start_a_campaign(kind, None)

    @rule(seconds=st.sampled_from([1, 60, 1_000]))
    def let_time_pass_that_nobody_has_looked_at(self, seconds: int) -> None:
        """As on a busy server: what is due has not been done yet, and comes with the next request."""
        self.plane.clock.move_to(self.plane.now() + timedelta(seconds=seconds))


def _undrawn(answer: dict[str, Any], drawn: Sequence[str] = ()) -> Any:
    """Names that were drawn are told apart in no way, as `flex_…` is in a dry run."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(each) for key, each in value.items()}
        if isinstance(value, list):
            return [changed(each) for each in value]
        if isinstance(value, str):
            for name in drawn:
                value = value.replace(name, "flex_…")
        return value

    return changed(answer)


def _new_id(fact: f.Fact) -> str:
    """From the journal: what is new in the region may be gone again by now."""
    if isinstance(fact, f.EventScheduled | f.EventBornStarted):
        return fact.event.id
    return fact.campaign_id if isinstance(fact, f.CampaignStarted) else ""


async def _answer(asking: Asking, asker: Asker) -> dict[str, Any] | str:
    """The answer as JSON, or the refusal."""
    try:
        return (await asking(asker)).model_dump(mode="json")
    except Refused as refused:
        return f"{refused.hint}: {refused.message}"


_USUAL = settings(
    max_examples=60,
    derandomize=bool(os.environ.get("CI")),  # there the same stories each time; who runs it by hand lives new ones
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def test_what_a_dry_run_and_a_forecast_tell_is_what_then_happens() -> None:
    run_state_machine_as_test(Foretold, settings=_USUAL)


def test_a_dry_run_that_forgets_reads_which_only_memory_knows_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(writer: Writer, region: Region, command: Command) -> tuple[Region, tuple[f.Fact, ...]]:
        return step(region, command, writer._now(), RULES)

    monkeypatch.setattr(Writer, "rehearse", forgetful)
    found = settings(_USUAL, phases=[Phase.generate], derandomize=True, database=None, report_multiple_bugs=False)
    with pytest.raises(AssertionError, match=r"at_once|open_events_by_phase"):  # hit, not told
        run_state_machine_as_test(Foretold, settings=found)
