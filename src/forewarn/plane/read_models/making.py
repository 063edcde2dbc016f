"""How the read models are made of a region, and moved on to a later one: both in small steps.

Each step is a ``yield``; between two of them others may go on. What comes of it tells of one region, however many are
published meanwhile.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import TypeAlias, TypeVar

from msgspec import Struct

from forewarn.core.maps import Map
from forewarn.core.region import Region, replace
from forewarn.plane.read_models.census import Census
from forewarn.plane.read_models.order import Order, Sorting
from forewarn.plane.read_models.register import (
    At,
    Cohort,
    Register,
    by_cohort,
    by_not_before,
    by_schedule,
    down,
    pending,
    shown,
    spot,
)
from forewarn.plane.read_models.touched import Touched

_STEP = 500  # ours: things that one step looks at, which takes about a millisecond
_CHANGES = 200  # ours: things that one step takes out of all orders and counts and puts in again, a millisecond too
_NOWHERE = Region()

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]


class Models(Struct, frozen=True):
    """Register and census of one region, whose last record has the number ``seq``."""

    region: Region = _NOWHERE
    seq: int = 0
    register: Register = Register()
    census: Census = Census()


def made(region: Region, seq: int) -> Steps[Models]:
    """Make the models of a region from nothing."""
    start = Models(region, seq, Register(scopes=(yield from _sorted(region.scopes))))
    with_sets = replace(start.register, scale_sets=(yield from _sorted(region.scale_sets)))
    census = yield from _hosts_counted(region)
    with_vms = yield from _vms_added(replace(start, register=with_sets, census=census))
    return (yield from _events_added(with_vms))


def steps_of(region: Region) -> int:
    """About how many steps it takes to make them."""
    return (2 * len(region.vms) + len(region.scopes) + len(region.hosts) + 4 * len(region.events)) // _STEP + 1


def _hosts_counted(region: Region) -> Steps[Census]:
    census = Census(hosts=bytes(len(region.hosts)))
    for hosts in _portions(region.hosts.values()):
        census = census.with_healths((), hosts, region)
        yield
    return census


def _vms_added(models: Models) -> Steps[Models]:
    region, census = models.region, models.census
    names, not_running, spots, pendings = (Sorting[str]() for _ in range(4))
    for items in _portions(region.vms.items()):
        keys, vms = zip(*items, strict=True)
        names.add(keys)
        not_running.add(down(vms))
        spots.add(spot(vms))
        pendings.add(pending(region, vms))
        census = census.with_vms((), _NOWHERE, vms, region)
        yield
    register = replace(
        models.register,
        vms=(yield from (yield from names.ordered()).prepared()),
        not_running=(yield from not_running.ordered()),
        spot=(yield from spots.ordered()),
        pending=(yield from pendings.ordered()),
    )
    return replace(models, register=register, census=census)


def _events_added(models: Models) -> Steps[Models]:
    region, census = models.region, models.census
    ids, scheduled, not_before = Sorting[str](), Sorting[At](), Sorting[At]()
    cohorts: dict[Cohort, Sorting[At]] = {}
    for events in _portions(region.events.values()):
        told = shown(events)
        ids.add(event.id for event in told)
        scheduled.add(map(by_schedule, told))
        not_before.add(map(by_not_before, told))
        for cohort, instants in by_cohort(events).items():
            cohorts.setdefault(cohort, Sorting()).add(instants)
        census = census.with_events((), events, region)
        yield
    ordered: dict[Cohort, Order[At]] = {}
    for cohort, sorting in cohorts.items():
        ordered[cohort] = yield from sorting.ordered()
    register = replace(
        models.register,
        events=(yield from (yield from ids.ordered()).prepared()),
        events_by_schedule=(yield from scheduled.ordered()),
        events_by_not_before=(yield from not_before.ordered()),
        cohorts=Map(ordered),
    )
    return replace(models, register=register, census=census)


def _sorted(keys: Iterable[str]) -> Steps[Order[str]]:
    sorting = Sorting[str]()
    for portion in _portions(keys):
        sorting.add(portion)
        yield
    return (yield from sorting.ordered())


def moved(models: Models, region: Region, seq: int, touched: Touched) -> Steps[Models]:
    """On to a later region; ``touched`` is all that the facts in between are about.

    In order of the keys: neighbours lie in the same blocks, and each step copies few of them.
    """
    before, register, census = models.region, models.register, models.census
    for scopes in _portions((yield from _sorted(touched.scopes)), _CHANGES):
        register = register.with_scopes(scopes, region)
        yield
    register = register.with_scale_sets(touched.scale_sets, region)
    for numbers in _portions(touched.hosts, _CHANGES):
        old = [before.hosts[number] for number in numbers if number in before.hosts]
        new = [region.hosts[number] for number in numbers if number in region.hosts]
        census = census.with_healths(old, new, region)
        yield
    for keys in _portions((yield from _sorted(touched.vms)), _CHANGES):
        was = [before.vms[key] for key in keys if key in before.vms]
        now = [region.vms[key] for key in keys if key in region.vms]
        register = register.with_vms(was, before, now, region)
        census = census.with_vms(was, before, now, region)
        yield
    for ids in _portions((yield from _sorted(touched.events)), _CHANGES):
        were = [before.events[event_id] for event_id in ids if event_id in before.events]
        are = [region.events[event_id] for event_id in ids if event_id in region.events]
        register = register.with_events(were, are)
        census = census.with_events(were, are, region)
        yield
    return Models(region, seq, register, census)


def _portions(things: Iterable[T], most: int = _STEP) -> Iterator[list[T]]:
    rest = iter(things)
    while portion := list(islice(rest, most)):
        yield portion
