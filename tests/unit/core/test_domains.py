"""Update and fault domains: a set's own numbers of them, and the region's where a set has none."""

from __future__ import annotations

from itertools import product

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.refusal import Hint
from forewarn.core.specs import DEFAULT_POLICY, DEFAULT_RESOURCE_GROUP, Domains, Orchestration
from tests.unit.core.world import World, in_set


def put_set(world: World, domains: Domains, name: str = "front") -> c.PutAvailabilitySet:
    return c.PutAvailabilitySet(name, DEFAULT_RESOURCE_GROUP, DEFAULT_POLICY, domains)


@pytest.mark.parametrize(("update", "fault"), list(product((1, 2, 3, 5, 7, 20), (1, 2, 3))))
def test_vms_of_a_set_take_its_domains_in_turn(update: int, fault: int) -> None:
    world = World()
    world.do(put_set(world, Domains(update, fault)))
    names = [f"web-{number}" for number in range(25)]
    world.create(*names, spec=in_set("front"))

    assert [world.vm(name).update_domain for name in names] == [number % update for number in range(25)]
    assert [world.vm(name).fault_domain for name in names] == [number % fault for number in range(25)]
    hosts = {world.vm(name).host: world.vm(name) for name in names}
    for number, vm in hosts.items():
        assert number is not None
        host = world.region.hosts[number]
        assert (host.update_domain, host.fault_domain) == (vm.update_domain, vm.fault_domain)


def test_numbers_that_are_not_given_are_the_regions(world: World) -> None:
    world.do(put_set(world, Domains(update=7)))
    world.create(*(f"web-{number}" for number in range(9)), spec=in_set("front"))

    found = {(vm.update_domain, vm.fault_domain) for vm in world.region.vms.values()}
    assert {update for update, _ in found} == set(range(7))
    assert {fault for _, fault in found} == set(range(3))


def test_a_campaign_walks_the_domains_that_a_set_has(world: World) -> None:
    world.do(put_set(world, Domains(7, 1)))
    world.reading(*(f"web-{number}" for number in range(7)), spec=in_set("front"))
    world.do(c.StartCampaign("C", Cause.FREEZE))

    walked = []
    while world.region.events:
        (event,) = world.region.events.values()
        walked.append(event.update_domain)
        world.next()
        while event.id in world.region.events:
            world.next()
    assert walked == list(range(7))


@pytest.mark.parametrize("domains", [Domains(21, 1), Domains(-1, 1), Domains(1, 4), Domains(1, -1)])
def test_numbers_that_no_set_has_are_refused(world: World, domains: Domains) -> None:
    assert world.refused(put_set(world, domains)).hint is Hint.INVALID


def test_domains_are_said_once(world: World) -> None:
    world.do(put_set(world, Domains(3, 2)))
    world.do(put_set(world, Domains(3, 2)))
    world.do(put_set(world, Domains()))

    refused = world.refused(put_set(world, Domains(4, 2)))

    assert refused.hint is Hint.CONFLICT
    assert refused.message == (
        "Availability set 'front' has 3 update domains and 2 fault domains, which cannot be changed."
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_instances_take_the_fault_domains_of_their_set(count: int) -> None:
    world = World()
    world.put_set("web", 12, fault_domains=count)
    world.put_set("web", 130)

    vms = sorted(world.region.vms.values(), key=lambda vm: vm.number)
    assert [vm.fault_domain for vm in vms] == [number % count for number in range(130)]
    assert world.refused(world.put("web", 3, fault_domains=count % 5 + 1)).hint is Hint.CONFLICT


@pytest.mark.parametrize(("orchestration", "count"), [(Orchestration.UNIFORM, 6), (Orchestration.FLEXIBLE, 4)])
def test_a_scale_set_has_no_more_fault_domains_than_there_may_be(
    world: World, orchestration: Orchestration, count: int
) -> None:
    assert world.refused(world.put("web", 3, fault_domains=count, orchestration=orchestration)).hint is Hint.INVALID
