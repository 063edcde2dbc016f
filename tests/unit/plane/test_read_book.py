"""The book of reads by itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from forewarn.core import commands as c
from forewarn.plane.reads import ReadBook
from tests.unit.core.world import DAY, HOUR, MINUTE, NOON, SECOND, World, in_set

_ANY = timedelta(0)


@pytest.fixture
def world() -> World:
    """Two VMs of a set and one alone, all reading since noon; and one that does not."""
    world = World()
    world.create("Web-0", "Web-1", spec=in_set("front"))
    world.read("Web-0")
    world.reading("lone")
    world.create("quiet")
    return world


def noted(*reads: tuple[str, datetime]) -> ReadBook:
    book = ReadBook()
    for name, at in reads:
        book.last[name] = at
    return book


def test_of_a_scope_the_newest_read_counts(world: World) -> None:
    book = noted(("Web-0", NOON + MINUTE), ("Web-1", NOON + 2 * MINUTE), ("lone", NOON + SECOND))
    assert sorted(book.newer_than(world.region, _ANY)) == [
        ("lone", NOON + SECOND),
        ("web-1", NOON + 2 * MINUTE),
    ]


def test_what_the_journal_knows_within_the_hour_is_not_told(world: World) -> None:
    book = noted(("lone", NOON + HOUR - SECOND))
    assert book.newer_than(world.region, HOUR) == []
    assert book.newer_than(world.region, _ANY) == [("lone", NOON + HOUR - SECOND)]


def test_what_is_told_is_kept_until_the_journal_knows_it(world: World) -> None:
    book = noted(("lone", NOON + HOUR))
    assert book.newer_than(world.region, HOUR) == book.newer_than(world.region, HOUR) == [("lone", NOON + HOUR)]
    world.now += HOUR
    world.do(c.Pulse((("lone", NOON + HOUR),)))
    assert book.newer_than(world.region, _ANY) == []


def test_the_read_of_a_vm_that_is_deleted_counts_for_those_that_are_left_in_its_scope(world: World) -> None:
    """Azure disables a scope when none of its VMs has read for a day, whether or not the VM that did is still there.

    Found by the simulator: ``--seed 5 --vms 24 --days 0.5 --faults none --pace 100``.
    """
    book = noted(("Web-0", NOON + HOUR), ("lone", NOON + HOUR), ("quiet", NOON + HOUR))
    for name in ("web-0", "lone", "quiet"):
        book.deleted(world.region, name)
    world.now += HOUR + MINUTE
    world.do(c.DeleteVms(("Web-0", "lone", "quiet"), "s"))
    assert sorted(world.region.vms) == ["web-1"]
    assert book.keeping_alive(world.region, NOON + DAY) == [("web-1", NOON + HOUR)]
    assert book.newer_than(world.region, HOUR) == book.newer_than(world.region, HOUR) == [("web-1", NOON + HOUR)]
    world.do(c.Pulse((("web-1", NOON + HOUR),)))
    assert book.newer_than(world.region, _ANY) == []
    assert book.keeping_alive(world.region, NOON + DAY) == []


def test_reads_of_scopes_that_are_not_enabled_or_gone_are_not_written(world: World) -> None:
    book = noted(("quiet", NOON + HOUR), ("nobody", NOON + HOUR))
    assert book.newer_than(world.region, _ANY) == []
    assert book.keeping_alive(world.region, NOON + 2 * DAY) == []


def test_a_read_keeps_alive_only_what_would_lapse(world: World) -> None:
    book = noted(("lone", NOON + HOUR))
    assert book.keeping_alive(world.region, NOON + DAY - SECOND) == []
    assert book.keeping_alive(world.region, NOON + DAY) == [("lone", NOON + HOUR)]


def test_finding_the_scopes_that_would_lapse_does_not_walk_all_reads(world: World) -> None:
    class Closed(dict[str, datetime]):
        def __iter__(self) -> Iterator[str]:
            raise AssertionError("it was read from end to end")

        items = values = keys = __iter__  # type: ignore[assignment]  # whoever goes through all of it fails

    book = noted()
    book.last = Closed({"lone": NOON + HOUR, "Web-1": NOON + HOUR, "quiet": NOON})
    assert sorted(book.keeping_alive(world.region, NOON + DAY)) == [("lone", NOON + HOUR), ("web-1", NOON + HOUR)]


def test_an_old_read_keeps_nothing_alive(world: World) -> None:
    assert noted(("lone", NOON)).keeping_alive(world.region, NOON + DAY) == []
