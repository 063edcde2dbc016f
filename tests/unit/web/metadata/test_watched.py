"""Whose reads are noted, for how long, and how many."""

from __future__ import annotations

from dataclasses import replace

from forewarn.web.watched import MOST_READS, MOST_VMS, SECONDS_WATCHED, NotedRead, WatchedVms
from tests.unit.web.metadata.story import NOON

READ = NotedRead(0.0, NOON, "2020-07-01", 200, 3, "curl/8")


def test_only_the_reads_of_a_vm_that_somebody_asks_about_are_kept() -> None:
    watched = WatchedVms()
    watched.note("web-0", READ)
    assert watched.ask("web-0", 1.0) == ()
    later = replace(READ, elapsed=2.0)
    watched.note("web-0", later)
    watched.note("web-1", later)
    assert watched.ask("web-0", 3.0) == (later,)
    assert list(watched.names) == ["web-0"]


def test_a_vm_is_watched_for_a_minute_after_somebody_last_asked() -> None:
    watched = WatchedVms()
    for second in (0.0, 59.0):
        watched.ask("web-0", second)
    last = replace(READ, elapsed=59.0 + SECONDS_WATCHED - 1)
    watched.note("web-0", last)
    assert list(watched.names) == ["web-0"]
    watched.note("web-0", replace(READ, elapsed=59.0 + SECONDS_WATCHED))
    assert not watched.names
    assert watched.ask("web-0", 200.0) == ()


def test_what_is_kept_is_bounded_and_the_oldest_goes() -> None:
    watched = WatchedVms()
    for number in range(MOST_VMS + 1):
        watched.ask(f"vm-{number}", 0.0)
        watched.ask("vm-0", 0.0)
    assert len(watched.names) == MOST_VMS
    assert "vm-0" in watched.names
    assert "vm-1" not in watched.names
    for second in range(MOST_READS + 5):
        watched.note("vm-0", replace(READ, elapsed=second))
    assert [read.elapsed for read in watched.ask("vm-0", 30.0)] == list(range(MOST_READS + 4, 4, -1))
