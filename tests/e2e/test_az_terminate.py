"""What the document on terminate notification advises, walked end to end: ``az`` outside, GET and POST inside."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import pytest

from tests.e2e.az_region import IMAGE, PASSWORD, AzRegion, side_by_side, summary

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzRegion]:
    """One for all; each test has a scale set of its own, and leaves no event behind."""
    with AzRegion.start(tmp_path_factory.mktemp("region")) as started:
        yield started


def make_set(region: AzRegion, name: str, count: int) -> str:
    """A scale set whose VMs read their events; what names it to ``az``."""
    region.make_set("forewarn", name, count, "--terminate-notification-time", "10")
    assert region.events(f"{name}_0") == []
    return f"-g forewarn -n {name}"


def notice_minutes(region: AzRegion, event: dict[str, Any]) -> int:
    """From now, when the event has just come; documents know no fractions of a second."""
    now = datetime.fromisoformat(region.server.json("clock", "show")["now"])
    return round((parsedate_to_datetime(event["NotBefore"]) - now).total_seconds() / 60)


def test_only_deletions_are_announced_and_all_of_them(region: AzRegion) -> None:
    some = make_set(region, "some", 4)
    quiet = region.server.document("some_0")

    with region.time_passing():
        side_by_side(
            partial(region.run, f"vmss reimage {some} --instance-ids 0"),
            partial(region.run, f"vmss deallocate {some} --instance-ids 1"),
            partial(region.run, f"vmss stop {some} --instance-ids 2"),
        )
    region.run(f"vmss start {some}")
    assert region.server.document("some_0") == quiet
    with region.running(f"vmss restart {some} --instance-ids 0"):
        (restart,) = region.told("some_0")
        assert summary([restart]) == [("Reboot", ["some_0"])]
        region.approve("some_0", restart)
        region.pass_minutes(2)

    with region.running(f"vmss delete-instances {some} --instance-ids 1"):
        (by_hand,) = region.told("some_0")
        assert summary([by_hand]) == [("Terminate", ["some_1"])]
        region.approve("some_3", by_hand)
        region.pass_minutes(1)
    with region.running(f"vmss scale {some} --new-capacity 2"):
        (scaled_in,) = region.told("some_0")
        assert scaled_in["EventType"] == "Terminate"
        region.approve("some_0", scaled_in)
        region.pass_minutes(1)
    assert len(region.run(f"vmss list-instances {some}")) == 2

    assert "Terminate notifications cannot be enabled on Spot instances" in region.refused(
        "vmss create -g forewarn -n cheap --priority Spot --terminate-notification-time 10", *IMAGE, *PASSWORD
    )
    assert not [name for name in region.names() if name.startswith("cheap")]


def test_an_approval_ends_the_wait_before_the_timeout_and_nothing_can_put_the_timeout_off(region: AzRegion) -> None:
    pair = make_set(region, "pair", 3)

    with region.running(f"vmss delete-instances {pair} --instance-ids 0") as command:
        (event,) = region.told("pair_0")
        assert notice_minutes(region, event) == 10
        assert command.waits
        region.approve("pair_0", event)
        region.pass_minutes(1)
    assert "pair_0" not in region.names()

    with region.running(f"vmss delete-instances {pair} --instance-ids 1") as command:
        (event,) = region.told("pair_1")
        region.run(f"vmss update {pair} --enable-terminate-notification true --terminate-notification-time 15")
        region.run(f"vmss update-instances {pair} --instance-ids *")
        assert region.events("pair_1") == [event]
        region.pass_minutes(9)
        assert region.events("pair_1") == [event]
        assert command.waits
        region.pass_minutes(2)
    assert "pair_1" not in region.names()
    assert "pair_2" in region.names()


def test_a_changed_timeout_counts_once_an_instance_has_the_latest_model(region: AzRegion) -> None:
    trio = make_set(region, "trio", 3)
    region.run(f"vmss update {trio} --enable-terminate-notification true --terminate-notification-time 5")
    region.run(f"vmss update-instances {trio} --instance-ids 1")

    with region.running(f"vmss delete-instances {trio} --instance-ids 0 1"):
        old, new = sorted(region.told("trio_2", 2), key=lambda event: str(event["Resources"]))
        assert [notice_minutes(region, event) for event in (old, new)] == [10, 5]
        region.approve("trio_2", old, new)
        region.pass_minutes(1)
    assert [name for name in region.names() if name.startswith("trio")] == ["trio_2"]


def test_an_approved_deletion_waits_for_the_pending_ones(region: AzRegion) -> None:
    many = make_set(region, "many", 5)

    with region.running(f"vmss delete-instances {many} --instance-ids 1"):
        (first,) = region.told("many_0")
        region.pass_minutes(2)
        with region.running(f"vmss delete-instances {many} --instance-ids 2") as command:
            _, second = sorted(region.told("many_0", 2), key=lambda event: str(event["Resources"]))
            region.approve("many_2", second)
            region.pass_minutes(5)
            assert "many_2" in region.names()
            assert command.waits
            region.approve("many_1", first)
            region.pass_minutes(1)
    assert not {"many_1", "many_2"} & set(region.names())

    with region.running(f"vmss delete-instances {many} --instance-ids 3 4") as command:
        equal = region.told("many_0", 2)
        assert equal[0]["NotBefore"] == equal[1]["NotBefore"]
        region.approve("many_0", equal[0])
        region.pass_minutes(9)
        assert {"many_3", "many_4"} < set(region.names())
        assert command.waits
        region.pass_minutes(2)
    assert [name for name in region.names() if name.startswith("many")] == ["many_0"]
