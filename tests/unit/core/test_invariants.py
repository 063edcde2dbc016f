"""The watchdog must bark: each invariant is broken by hand once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from forewarn.core.agenda import Agenda
from forewarn.core.causes import Cause
from forewarn.core.invariants import region as invariants
from forewarn.core.maps import Map
from forewarn.core.phases import Phase
from forewarn.core.region import (
    Campaign,
    CampaignState,
    Event,
    Group,
    Host,
    Power,
    Region,
    Scope,
    Vm,
    replace,
)
from forewarn.core.rules import Rules
from forewarn.core.specs import Binding, with_traits
from tests.unit.core.world import DAY, HOUR, MINUTE, NOON, World, in_set

Break = Callable[[Region], Region]
SET = "availability-set/front"


@pytest.fixture(scope="module")
def healthy() -> Region:
    """web-0 and web-1 on host-0 (a set that reads), lone on it too; a campaign's freeze is pending for all of them,
    and web-0 has a pending restart."""
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("web-0", "web-1", spec=in_set("front"))
    world.reading("lone")
    world.start_campaign()
    world.restart("web-0")
    return world.region


def vm(key: str, **changes: object) -> Break:
    return lambda region: replace(region, vms=region.vms.set(key, replace(region.vms[key], **changes)))


def traits(key: str, **changes: object) -> Break:
    return lambda region: replace(region, vms=region.vms.set(key, with_traits(region.vms[key], **changes)))


def scope(**changes: object) -> Break:
    return lambda region: replace(region, scopes=region.scopes.set(SET, replace(region.scopes[SET], **changes)))


def without_a_member(region: Region) -> Region:
    left = with_traits(region.scopes[SET], members=Map({"web-0": None}))
    return replace(region, scopes=region.scopes.set(SET, left))


def host(**changes: object) -> Break:
    return lambda region: replace(region, hosts=region.hosts.set(0, replace(region.hosts[0], **changes)))


def campaign(**changes: object) -> Break:
    return lambda region: replace(
        region, campaigns=region.campaigns.set("C1", replace(region.campaigns["C1"], **changes))
    )


def event(cause: Cause, **changes: object) -> Break:
    def broken(region: Region) -> Region:
        found = next(each for each in region.events.values() if each.cause is cause and each.scope == SET)
        return replace(region, events=region.events.set(found.id, replace(found, **changes)))

    return broken


def whole(**changes: object) -> Break:
    return lambda region: replace(region, **changes)


def refiled(part: str, key: object) -> Break:
    """One more entry of a map, under a key that is not its own."""

    def broken(region: Region) -> Region:
        entries: Map[object, Vm | Scope | Host | Event | Campaign] = getattr(region, part)
        return replace(region, **{part: entries.set(key, next(iter(entries.values())))})

    return broken


BREAKS: dict[str, tuple[Break, str]] = {
    "a VM under another key": (refiled("vms", "other"), "is filed under other"),
    "a VM with an event twice": (lambda region: vm("lone", events=region.vms["lone"].events * 2)(region), "twice"),
    "a VM with an unknown event": (vm("lone", events=("X",)), "lists event X, which does not hit it"),
    "a VM that forgot its event": (vm("lone", events=()), "which does not know of it"),
    "a stopped VM on a host": (vm("lone", power=Power.DEALLOCATED), "is deallocated on host 0"),
    "a running VM on no host": (vm("lone", host=None), "is running on host None"),
    "a VM on an unknown host": (vm("lone", host=9), "lives on host 9, which does not know it"),
    "a VM of another fault domain": (traits("lone", fault_domain=3), "of other domains"),
    "a VM of another update domain": (traits("lone", update_domain=3), "of other domains"),
    "a VM frozen by nothing": (vm("lone", power=Power.FROZEN), "nothing is being done to it"),
    "a VM with a future number": (vm("web-0", number=7), "only 2 were made"),
    "a binding that is not indexed": (vm("lone", binding=Binding("10.0.0.4")), "the addresses"),
    "a host under another key": (refiled("hosts", 7), "host-0 is filed under 7"),
    "a crowded host": (host(capacity=2), "has 3 VMs and room for 2"),
    "a host with a stranger": (host(vms=Map({"stranger": None})), "lists VM stranger"),
    "a scope under another key": (refiled("scopes", "vm/other"), "is filed under vm/other"),
    "a scope without a member": (without_a_member, "lists other members"),
    "a scope that is not there": (lambda region: replace(region, scopes=region.scopes.delete(SET)), "no record"),
    "a lone scope without its VM": (
        lambda region: replace(region, vms=region.vms.delete("lone")),
        "has outlived its VM",
    ),
    "a half enabled scope": (scope(lapses_at=None), "is half enabled"),
    "an enabled scope without a document": (scope(incarnation=0), "has incarnation 0"),
    "a scope that is there and gone": (
        lambda region: replace(region, retired=region.retired.having(SET, 3)),
        "is there, and remembered as gone",
    ),
    "a scope that went and never had a document": (
        lambda region: replace(region, retired=region.retired.having("vm/gone", 0)),
        "never had a document",
    ),
    "a scope that hides an event": (scope(events=()), "shows other events"),
    "a scope that shows an event twice": (
        lambda region: scope(events=region.scopes[SET].events * 2)(region),
        "shows other events",
    ),
    "two instances of one name": (
        lambda region: vm("web-1", name="WEB-0")(region),
        "two VMs of scope",
    ),
    "an event under another key": (refiled("events", "other"), "is filed under other"),
    "an event that ended and stayed": (event(Cause.FREEZE, phase=Phase.COMPLETED), "is completed"),
    "an approval without an instant": (event(Cause.FREEZE, phase=Phase.APPROVED), "is approved"),
    "an instant without an approver": (event(Cause.FREEZE, approved_at=NOON), "was approved by ''"),
    "a start without an instant": (event(Cause.FREEZE, phase=Phase.STARTED), "is started, which"),
    "an end before its beginning": (event(Cause.FREEZE, impact_ends_at=NOON), "has not begun"),
    "an early start": (event(Cause.FREEZE, phase=Phase.STARTED, started_at=NOON + MINUTE), "nobody had approved"),
    "a start before the scheduling": (event(Cause.FREEZE, scheduled_at=NOON + HOUR), "went back in time"),
    "a broken second": (event(Cause.FREEZE, not_before=NOON + timedelta(microseconds=1)), "has the NotBefore"),
    "a NotBefore in the past": (event(Cause.FREEZE, not_before=NOON - MINUTE), "has the NotBefore"),
    "a target of another scope": (event(Cause.USER_RESTART, vms=("web-0", "lone")), "which does not know of it"),
    "an event of another scope": (event(Cause.USER_RESTART, scope="vm/lone"), "hits VM web-0 of scope"),
    "an event of another update domain": (event(Cause.USER_RESTART, update_domain=4), "of update domain 4"),
    "an event that does not name its target": (event(Cause.USER_RESTART, resources=("web-1",)), "does not name it"),
    "a target twice": (event(Cause.FREEZE, vms=("web-0", "web-0")), "names a VM twice"),
    "an unknown campaign": (event(Cause.USER_RESTART, campaign="C2"), "has events and no record"),
    "a campaign that lost an event": (campaign(open_events=Map()), "lists other open events"),
    "a campaign in another wave": (campaign(wave=3), "works on update domains [0]"),
    "a campaign with too many hosts": (
        lambda region: campaign(
            hosts_at_once=1, open_events=Map(zip(region.campaigns["C1"].open_events, (0, 1), strict=True))
        )(region),
        "works on 2 hosts at once",
    ),
    "a campaign that ended without an instant": (campaign(state=CampaignState.CANCELED), "ended at None"),
    "a campaign that ended and goes on": (
        campaign(state=CampaignState.CANCELED, ended_at=NOON, waiting=(0,)),
        "hosts still wait",
    ),
    "a completed campaign with events": (campaign(state=CampaignState.COMPLETED, ended_at=NOON), "open events"),
    "a miscounted user operation": (whole(user_operations=0), "1 user operations are scheduled, 0 are counted"),
    "a forgotten group": (whole(groups=Map({"host/X": Group()})), "the groups"),
    "a forgotten vacancy": (whole(vacancies=Map()), "the vacancies"),
    "a forgotten deadline": (whole(agenda=Agenda()), "the agenda says None"),
}


def test_a_region_that_lives_has_no_violations(healthy: Region) -> None:
    assert invariants.violations(healthy, now=NOON) == []
    invariants.check(healthy, now=NOON, user_operation_limit=1)


@pytest.mark.parametrize(("broken", "sentence"), BREAKS.values(), ids=list(BREAKS))
def test_each_broken_invariant_of_a_region_is_named(broken: Break, sentence: str, healthy: Region) -> None:
    found = invariants.violations(broken(healthy))
    assert any(sentence in each for each in found), found
    with pytest.raises(AssertionError):
        invariants.check(broken(healthy))


def test_too_many_user_operations_are_named(healthy: Region) -> None:
    two = whole(user_operations=2)(healthy)
    assert any("the limit is 1" in each for each in invariants.violations(two, user_operation_limit=1))


def test_an_overdue_deadline_is_named(healthy: Region) -> None:
    late = invariants.violations(healthy, now=NOON + DAY)
    assert any("something is still due since" in each for each in late)
    assert any("may start and has not" in each for each in late)


def test_an_instant_in_the_future_is_named(healthy: Region) -> None:
    assert any("after" in each for each in invariants.violations(healthy, now=NOON - MINUTE))


def test_an_event_without_targets_is_named(healthy: Region) -> None:
    emptied = event(Cause.USER_RESTART, vms=())(healthy)
    assert any("nobody left to hit" in each for each in invariants.violations(emptied, now=NOON))


def test_a_campaign_that_stands_still_is_named(healthy: Region) -> None:
    still = campaign(open_events=Map())(healthy)
    assert any("nothing will move it on" in each for each in invariants.violations(still, now=NOON))
