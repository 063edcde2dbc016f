"""What the helpers of the test kit assert, and what they say when it is not so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from forewarn.testing import Region, open_region


@pytest.fixture
def region() -> Iterator[Region]:
    with open_region(start=datetime(2026, 1, 1, 12, tzinfo=UTC)) as opened:
        yield opened


def test_an_event_that_nobody_approved_is_told_with_the_timeline(region: Region) -> None:
    region.vm("web-0")
    event = region.restart("web-0")
    region.note("the load balancer knows", by="app")
    region.advance(minutes=15)

    with pytest.raises(AssertionError) as failed:
        region.assert_approved_before_deadline(event)

    scheduled = "Reboot of web-0 (user-restart) scheduled, not before 2026-01-01T12:15:00Z. [ID]"
    told = str(failed.value).replace(event.id, "ID").replace(event.id[:8], "ID")
    assert [line.rstrip() for line in told.splitlines()] == [
        "Nobody has approved <Reboot ID of web-0: started>, which was due not before 12:15:00.",
        "    +0:00:00  2026-01-01 12:00:00  operator      web-0 was made, on host-0.",
        "    +0:00:00  2026-01-01 12:00:00  vm web-0      vm/web-0 is enabled: from here on its events wait.",
        f"    +0:00:00  2026-01-01 12:00:00  operator      {scheduled}",
        "    +0:00:00  2026-01-01 12:00:00  app           the load balancer knows",
        "    +0:15:00  2026-01-01 12:15:00  clock         Started. [ID]",
        "    +0:15:00  2026-01-01 12:15:00  driver        Impact began, until 2026-01-01T12:15:30Z. [ID]",
        "    +0:15:00  2026-01-01 12:15:00                web-0 never asked",
        "    +0:15:00  2026-01-01 12:15:00  now",
    ]


def test_a_note_before_the_approval_is_in_time_though_the_clock_stood_still(region: Region) -> None:
    vm = region.vm("web-0")
    event = region.restart("web-0")
    early = region.note("prepared")
    vm.approve(event)
    late = region.note("prepared again")

    assert early.at == late.at == event.impact_began_at
    region.assert_prepared_before_impact(event, early)
    with pytest.raises(AssertionError, match="began before the VM was prepared"):
        region.assert_prepared_before_impact(event, late)


def test_an_instant_of_preparation_is_compared_with_the_clock(region: Region) -> None:
    region.vm("web-0")
    event = region.restart("web-0")
    region.assert_prepared_before_impact(event, region.now() + timedelta(days=1))  # no impact so far
    region.advance(minutes=15)

    region.assert_prepared_before_impact(event, event.not_before)
    with pytest.raises(AssertionError, match="began before the VM was prepared"):
        region.assert_prepared_before_impact(event, event.not_before + timedelta(seconds=1))


def test_impact_is_told_for_the_vm_that_was_hit_only(region: Region) -> None:
    hit = region.vm("web-0", availability_set="front")
    region.vm("web-1", availability_set="front")
    region.vm("gone")
    region.restart(hit)
    region.assert_no_impact(hit)
    region.advance(minutes=15)
    region.delete("gone")

    region.assert_no_impact("web-1")
    with pytest.raises(AssertionError, match=r"web-0 was hit\."):
        region.assert_no_impact("WEB-0".lower())
    with pytest.raises(AssertionError, match=r"gone was hit\."):
        region.assert_no_impact("gone")


def test_what_never_comes_true_ends_at_the_limit(region: Region) -> None:
    region.vm("web-0")
    event = region.restart("web-0")
    with pytest.raises(AssertionError, match=r"within 0:10:00 of the region's time\.\n"):
        region.run_until(lambda: event.ended, timedelta(minutes=10))

    assert (region.now() - region.timeline()[0].at, event.phase) == (timedelta(minutes=10), "scheduled")
    with pytest.raises(AssertionError, match=r"within 0 seconds of real time\.\n"):
        region.wait_until(lambda: event.ended, seconds=0)


def test_who_waits_in_vain_is_told_what_for_where_and_how_the_events_stand(region: Region) -> None:
    region.vm("web-0")
    event = region.restart("web-0")
    with pytest.raises(AssertionError) as failed:
        region.wait_until(lambda: event.ended, seconds=0, message="the worker has drained")

    first, line, phase, *_ = str(failed.value).splitlines()
    assert first == "It was not so within 0 seconds of real time: the worker has drained"
    assert line.startswith("  test_checks.py:")
    assert line.endswith('region.wait_until(lambda: event.ended, seconds=0, message="the worker has drained")')
    assert phase == f"  <Reboot {event.id} of web-0: scheduled>"
