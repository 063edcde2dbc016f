"""Very much at once is done in portions: no transaction is endless, and what is left is the next tick's.

Counted, not timed: what a step does must not grow with what there is to do.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

import pytest

from forewarn.core import agenda as agendas
from forewarn.core import commands as c
from forewarn.core import facts as f
from forewarn.core.agenda import Agenda, Due
from forewarn.core.causes import Cause
from forewarn.core.deciding.maintenance import VMS_MOST
from forewarn.core.folding.evolve import evolve
from forewarn.core.invariants import region as invariants
from forewarn.core.keys import Key
from forewarn.core.looking.deadlines import DUE_MOST, is_behind, next_deadline
from forewarn.core.looking.turns import VMS_AT_ONCE
from forewarn.core.refusal import Refused
from forewarn.core.region import CampaignState, Region
from forewarn.core.rules import Rules
from forewarn.core.specs import VmSpec
from forewarn.core.step import step
from tests.unit.core.world import DAY, HOUR, MINUTE, NOON, SECOND

RULES = Rules(update_domains=2, fault_domains=1)
FEW = 2 * DUE_MOST  # facts, at most, of one step: an entry that was taken leads to two, and a wave's slice is smaller


class Crowd:
    """Lone VMs that read, in the hands of the core alone."""

    def __init__(self, count: int) -> None:
        self.region, self.now, self.facts = Region(), NOON, list[f.Fact]()
        names = tuple(f"vm-{number}" for number in range(count))
        self.do(c.CreateVms(names, VmSpec(), "S"))
        self.do(c.Pulse(tuple((name, NOON) for name in names)))

    def do(self, command: c.Command) -> tuple[f.Fact, ...]:
        self.region, facts = step(self.region, command, self.now, RULES)
        self.facts += facts
        return facts

    def tick_until(self, now: datetime) -> list[int]:
        """How many facts one step made at most, for each tick until nothing is due any more; impacts last a second."""
        self.now, made = now, list[int]()
        while (due := self.region.agenda.first()) is not None and due.at <= now:
            made.append(self._do_all([c.Tick()]))
        return made

    def _do_all(self, commands: list[c.Command]) -> int:
        """With the impacts that follow; the most facts that one of them made."""
        most = 0
        for command in commands:
            facts = self.do(command)
            most = max(most, len(facts))
            ends_at = self.now + SECOND
            commands += [c.BeginImpact(fact.event_id, ends_at) for fact in facts if isinstance(fact, f.EventStarted)]
        return most

    def kinds(self) -> list[str]:
        return [type(fact).__name__ for fact in self.facts]


def test_events_that_fall_due_together_start_over_several_steps() -> None:
    crowd = Crowd(3 * DUE_MOST)
    crowd.do(c.MaintainHosts((), Cause.FREEZE, "M"))
    made = crowd.tick_until(NOON + 15 * MINUTE)
    assert max(made) <= FEW
    assert crowd.kinds().count("EventStarted") == 3 * DUE_MOST


@pytest.mark.parametrize("ids", [("C1", "C2"), ("C2", "C1")])
def test_campaigns_that_go_on_with_the_same_step_do_so_in_the_order_of_their_starts(ids: tuple[str, str]) -> None:
    crowd = Crowd(7 * DUE_MOST)
    hosts = [host.name for host in crowd.region.hosts.values() if host.update_domain == 0]
    for campaign_id, chosen in zip(ids, (hosts[::2], hosts[1::2]), strict=True):
        crowd.do(c.StartCampaign(campaign_id, Cause.FREEZE, hosts=tuple(chosen)))
    assert all(crowd.region.campaigns[each].waiting for each in ids)
    taken = [fact.campaign_id for fact in crowd.do(c.Tick()) if isinstance(fact, f.CampaignHostsTaken)]
    assert list(dict.fromkeys(taken)) == list(ids)


def test_a_command_does_not_take_on_all_that_is_due() -> None:
    crowd = Crowd(3 * DUE_MOST)
    crowd.do(c.MaintainHosts((), Cause.FREEZE, "M"))
    crowd.now += 15 * MINUTE
    assert len(crowd.do(c.CreateVms(("another",), VmSpec(), "T"))) <= FEW
    assert "another" in crowd.region.vms


def test_scopes_that_were_read_since_are_looked_at_in_portions_and_make_no_fact() -> None:
    crowd = Crowd(2 * DUE_MOST)
    crowd.now += HOUR
    crowd.do(c.Pulse(tuple((f"vm-{number}", crowd.now) for number in range(2 * DUE_MOST))))
    assert crowd.tick_until(NOON + DAY) == [0, 0]
    assert next_deadline(crowd.region) == NOON + DAY + HOUR


def test_a_deadline_behind_very_many_stale_entries_may_be_called_too_soon_and_never_too_late() -> None:
    crowd = Crowd(2 * DUE_MOST)
    crowd.now += HOUR
    crowd.do(c.Pulse(tuple((f"vm-{number}", crowd.now) for number in range(2 * DUE_MOST))))
    assert next_deadline(crowd.region) == NOON + DAY
    crowd.tick_until(NOON + DAY)
    assert next_deadline(crowd.region) == NOON + DAY + HOUR


def test_a_wave_over_many_hosts_is_scheduled_in_many_steps_and_runs_to_its_end() -> None:
    crowd = Crowd(8 * VMS_AT_ONCE)
    started = crowd.do(c.StartCampaign("C", Cause.FREEZE))
    assert VMS_AT_ONCE // 2 < len(started) <= FEW
    assert crowd.region.campaigns["C"].waiting
    assert next_deadline(crowd.region) == NOON
    made = crowd.tick_until(NOON)
    assert len(crowd.region.events) == 4 * VMS_AT_ONCE
    assert not crowd.region.campaigns["C"].waiting
    while crowd.region.campaigns["C"].state is CampaignState.RUNNING:
        due = next_deadline(crowd.region)
        assert due is not None
        made += crowd.tick_until(due)
    assert max(made) <= FEW
    assert crowd.kinds().count("EventCompleted") == 8 * VMS_AT_ONCE


def test_a_wave_that_was_half_scheduled_goes_on_after_a_replay() -> None:
    crowd = Crowd(8 * VMS_AT_ONCE)
    crowd.do(c.StartCampaign("C", Cause.FREEZE))
    replayed = Region()
    for fact in crowd.facts:
        replayed = evolve(replayed, fact)
    crowd.region = replayed
    crowd.tick_until(NOON)
    assert len(crowd.region.events) == 4 * VMS_AT_ONCE


def test_one_command_does_not_take_on_a_whole_fleet() -> None:
    crowd = Crowd(VMS_MOST + 1)
    before = crowd.region
    for command in (
        c.MaintainHosts((), Cause.FREEZE, "M"),
        c.FailHosts(tuple(h.name for h in before.hosts.values()), "F"),
    ):
        with pytest.raises(Refused, match=f"run {VMS_MOST + 1} VMs, and one command may hit {VMS_MOST}"):
            crowd.do(command)
    assert crowd.region is before


def test_a_host_that_fills_up_while_its_wave_waits_has_its_turn() -> None:
    rules = Rules(update_domains=1, fault_domains=1, vms_per_host=1)
    region = Region()
    for command in (
        c.CreateVms(("a", "b", "z"), VmSpec(), "s1"),
        c.Pulse(tuple((name, NOON) for name in "abz")),
        c.StartCampaign("c1", Cause.FREEZE, hosts_at_once=2),
        c.DeleteVms(("z",), "s2"),
    ):
        region, _ = step(region, command, NOON, rules)
    event_id = next(event.id for event in region.events.values() if "b" in event.vms)
    region, _ = step(region, c.CancelEvents((event_id,), "t"), NOON, rules)
    region, _ = step(region, c.CreateVms(("new",), VmSpec(), "s3"), NOON, rules)
    invariants.check(region)


def test_a_paused_campaign_takes_no_further_hosts() -> None:
    crowd = Crowd(8 * VMS_AT_ONCE)
    crowd.do(c.StartCampaign("C", Cause.FREEZE))
    scheduled = len(crowd.region.events)
    crowd.do(c.PauseCampaign("C"))
    crowd.tick_until(NOON)
    assert len(crowd.region.events) <= scheduled + VMS_AT_ONCE
    assert next_deadline(crowd.region) == NOON + 15 * MINUTE
    crowd.do(c.ResumeCampaign("C"))
    crowd.tick_until(NOON)
    assert len(crowd.region.events) == 4 * VMS_AT_ONCE


# The agenda itself


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of all nodes that a walk or a merge has come across."""
    found: list[str] = []
    real_merge, real_take = agendas._merge, agendas._Walk.take

    def merge(a: agendas._Node | None, b: agendas._Node | None) -> agendas._Node | None:
        found.extend(node.key for node in (a, b) if node is not None)
        return real_merge(a, b)

    def take(walk: agendas._Walk, now: datetime | None, most: int) -> list[Due]:
        taken = real_take(walk, now, most)
        found.extend(due.key for due in taken)
        return taken

    monkeypatch.setattr(agendas, "_merge", merge)
    monkeypatch.setattr(agendas._Walk, "take", take)
    return found


def many(count: int) -> Agenda:
    by_second = {second: [Key(f"key-{number}") for number in range(second, count, 100)] for second in range(100)}
    return Agenda.of({NOON + second * SECOND: keys for second, keys in by_second.items()})


def test_taking_a_few_of_many_costs_what_is_taken(looked_at: list[str]) -> None:
    costs = []
    for count in (1_000, 100_000):
        agenda = many(count)
        looked_at.clear()
        due, _ = agenda.split(NOON + DAY, 50)
        assert len(due) == 50
        costs.append(len(looked_at))
    assert costs[1] < 3 * costs[0]


def test_looking_for_the_next_deadline_does_not_walk_the_agenda(looked_at: list[str]) -> None:
    crowd = Crowd(3 * DUE_MOST)
    looked_at.clear()
    next_deadline(crowd.region)
    assert len(looked_at) < 5


def test_whether_too_much_is_due_for_one_settling_is_known_without_looking_at_all_of_it(looked_at: list[str]) -> None:
    agenda = many(4 * DUE_MOST)
    for now, behind, most in ((NOON - SECOND, False, 2), (NOON, False, 100), (NOON + DAY, True, DUE_MOST + 2)):
        looked_at.clear()
        assert is_behind(Region(agenda=agenda), now) is behind
        assert len(looked_at) <= most


def test_many_entries_at_once_are_the_agenda_that_adding_them_makes() -> None:
    dues: dict[datetime, list[Key]] = defaultdict(list)
    added = Agenda()
    for number in range(50):
        at, key = NOON + number % 9 * SECOND, Key(f"key-{number * 7 % 50}")
        dues[at].append(key)
        added = added.add(at, key)
    assert list(Agenda.of(dues).soonest(100)) == list(added.soonest(100)) == sorted(added.soonest(100))
    assert Agenda.of({}) == Agenda()


def test_an_agenda_made_at_once_is_a_leftist_heap() -> None:
    def rank(node: agendas._Node | None) -> int:
        if node is None:
            return 0
        left, right = rank(node.left), rank(node.right)
        assert left >= right
        assert node.rank == right + 1
        for branch in (node.left, node.right):
            assert branch is None or (branch.at, branch.key) >= (node.at, node.key)
        return node.rank

    for count in (1, 2, 3, 10, 1000):
        rank(many(count).root)
