"""The watchdog must bark at scale sets, operations and resources too: each invariant is broken by hand once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.invariants import region as invariants
from forewarn.core.maps import Map
from forewarn.core.region import Region, Resource, Rolling, replace
from forewarn.core.specs import Domains, Policy, with_traits
from tests.unit.core.world import MINUTE, NOON, World

Break = Callable[[Region], Region]


@pytest.fixture(scope="module")
def healthy() -> Region:
    """The set web of three that reads, of which OP deletes web_0; DONE and ALSO have ended; two resources."""
    world = World()
    world.create("lone")
    world.reading_set()
    world.together("DONE")
    world.together("OP", c.DeleteInstances("web", ("web_0",), "s"))
    world.advance(MINUTE)
    world.together("ALSO", c.KeepResource("/a", "{}"), c.KeepResource("/b", "{}", "scale-set/web"))
    return world.region


def part(name: str, key: object, /, **changes: object) -> Break:
    """One entry of one map of the region, changed."""

    def broken(region: Region) -> Region:
        entries = getattr(region, name)
        return replace(region, **{name: entries.set(key, replace(entries[key], **changes))})

    return broken


def traits(name: str, key: object, /, **changes: object) -> Break:
    """The same of what it has alike with others, or that a lone VM's scope has not."""

    def broken(region: Region) -> Region:
        entries = getattr(region, name)
        return replace(region, **{name: entries.set(key, with_traits(entries[key], **changes))})

    return broken


def scale_set(**changes: object) -> Break:
    return part("scale_sets", "web", **changes)


def vm(key: str, **changes: object) -> Break:
    return part("vms", key, **changes)


def operation(key: str, **changes: object) -> Break:
    return part("operations", key, **changes)


def filed(name: str, key: object, other: object) -> Break:
    """The same under another key."""

    def broken(region: Region) -> Region:
        entries = getattr(region, name)
        return replace(region, **{name: entries.delete(key).set(other, entries[key])})

    return broken


def whole(**changes: object) -> Break:
    return lambda region: replace(region, **changes)


def deletion(**changes: object) -> Break:
    def broken(region: Region) -> Region:
        (found,) = (event.id for event in region.events.values() if event.cause is Cause.DELETION)
        return part("events", found, **changes)(region)

    return broken


BREAKS: dict[str, tuple[Break, str]] = {
    "a set under another key": (filed("scale_sets", "web", "other"), "is filed under other"),
    "a set that is not there": (whole(scale_sets=Map()), "scale set web has instances and no record"),
    "a set that lost an instance": (scale_set(instances=Map({"web_1": None})), "lists other instances"),
    "a miscounted leaver": (scale_set(leaving=0), "1 instances of scale set web are leaving, 0 are counted"),
    "a set that goes though some stay": (scale_set(deleting=True), "and 2 of its instances stay"),
    "a group with other domains than its set": (
        traits("scopes", "placement-group/web~0", domains=Domains(fault=9)),
        "has 9 fault domains, its scale set 0",
    ),
    "a VM beyond the domains of its set": (
        traits("scopes", "placement-group/web~0", domains=Domains(update=1)),
        "is in domains 1/1 of 1/0",
    ),
    "a rolling upgrade that neither runs nor has ended": (
        scale_set(rolling=Rolling(started_at=NOON)),
        "ended at None, its next batch is None",
    ),
    "a canceled rolling upgrade that runs": (
        scale_set(rolling=Rolling(started_at=NOON, next_at=NOON, canceled=True)),
        "is canceled and has not ended",
    ),
    "an id that will come again": (scale_set(next_id=2), "instance web_2 has an id, though the next one is 2"),
    "a model of the future": (traits("vms", "web_1", model=2), "is of model 2, though the latest is 1"),
    "an instance without a model": (traits("vms", "web_1", model=0), "is of model 0"),
    "two of one id": (vm("web_1", number=2), "have one id"),
    "an instance with another's name": (vm("web_1", name="WEB_9"), "is called web_9"),
    "a lone VM with a model": (traits("vms", "lone", model=1), "in no scale set"),
    "a protected lone VM": (traits("vms", "lone", protected=True), "in no scale set"),
    "a deletion that waits for nobody": (deletion(group=""), "does not wait with the others"),
    "a group without its set": (
        lambda region: replace(region, scopes=region.scopes.set("x", replace(region.scopes[GROUP], name="db~0"))),
        "has outlived its scale set",
    ),
    "a group with its own policy": (traits("scopes", "placement-group/web~0", policy=Policy(True)), "another policy"),
    "a second single group": (
        lambda region: scale_set(single_placement_group=True)(second(region, ())),
        "not the single placement group",
    ),
    "a crowded group": (lambda region: second(region, tuple(map(str, range(101)))), "has 101 members"),
    "an operation under another key": (filed("operations", "OP", "other"), "is filed under other"),
    "an operation that waits and has ended": (operation("OP", ended_at=NOON), "waits for 1 events and ended"),
    "an operation that waits for nothing": (operation("OP", waiting=Map()), "waits for 0 events and ended at None"),
    "an operation without a number": (operation("DONE", number=None), "has number None"),
    "an operation that waits for the past": (operation("OP", waiting=Map({"X": None})), "which has ended"),
    "a forgotten waiter": (whole(awaited=Map()), "the awaited events"),
    "a forgotten end": (whole(operations_ended=Map({0: "DONE"})), "the ended operations"),
    "a forgotten total": (whole(operations_ended_total=7), "others than the last 2"),
    "an end that should be remembered": (
        lambda region: whole(operations_ended=Map({1: "ALSO"}), operations=region.operations.delete("DONE"))(region),
        "of 2 ended operations, 1 are remembered",
    ),
    "ends out of order": (operation("DONE", ended_at=NOON + 2 * MINUTE), "in the order of their ends"),
    "a resource under another key": (whole(resources=Map({"/x": Resource("/A", "{}")})), "is filed under /x"),
    "a forgotten owner": (whole(owned=Map()), "the owned resources"),
}
GROUP = "placement-group/web~0"


def second(region: Region, members: tuple[str, ...]) -> Region:
    """With a second placement group."""
    group = replace(region.scopes[GROUP], name="web~1", key="placement-group/web~1")
    group = with_traits(group, members=Map(dict.fromkeys(members)))
    return replace(region, scopes=region.scopes.set(group.key, group))


def test_a_region_with_sets_and_operations_has_no_violations(healthy: Region) -> None:
    assert invariants.violations(healthy, now=NOON + MINUTE) == []


@pytest.mark.parametrize(("broken", "sentence"), BREAKS.values(), ids=list(BREAKS))
def test_each_broken_invariant_of_sets_and_operations_is_named(broken: Break, sentence: str, healthy: Region) -> None:
    found = invariants.violations(broken(healthy))
    assert any(sentence in each for each in found), found
