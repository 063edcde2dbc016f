"""The region of the test kit: what it makes, what it turns, what it lets go wrong."""

from __future__ import annotations

import json
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest

from forewarn.core.refusal import Refused
from forewarn.guest import Client
from forewarn.testing import Region, open_region
from forewarn.web.metadata.settings import MetadataSettings


def test_a_vm_of_the_fixture_is_reached_over_plain_http(region: Region) -> None:
    vm = region.vm("web-0")
    event = region.restart(vm)

    address = f"{vm.url}/metadata/scheduledevents?api-version=2020-07-01"
    request = urllib.request.Request(address, headers={"Metadata": "true"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request) as response:
        (shown,) = json.loads(response.read())["Events"]

    assert (shown["EventId"], shown["EventType"], shown["Resources"]) == (event.id, "Reboot", ["web-0"])


def test_an_approval_over_the_socket_starts_the_event(region: Region) -> None:
    vm = region.vm("web-0")
    event = region.restart("web-0")
    with Client(vm.url) as client:
        client.approve(event.id)

    region.assert_approved_before_deadline(event)
    assert (event.phase, event.approved_by, event.approved_at) == ("started", "web-0", region.now())


def test_a_quarter_of_an_hour_passes_when_it_is_told_to(region: Region) -> None:
    vm = region.vm("web-0")
    before = region.now()
    event = region.restart("web-0")

    assert region.advance(minutes=14, seconds=59) == before + timedelta(minutes=14, seconds=59)
    assert event.phase == "scheduled"
    region.advance(seconds=1)
    assert (event.phase, vm.power) == ("started", "restarting")
    region.run_until(lambda: event.ended)
    assert (event.phase, vm.power, vm.boots) == ("completed", "running", 2)


def test_next_turns_the_clock_to_each_change(region: Region) -> None:
    region.vm("web-0")
    event = region.restart("web-0")
    phases = []
    while not event.ended:
        region.next()
        phases.append(event.phase)

    assert phases == ["started", "started", "completed"]


def test_the_document_and_the_approval_of_a_handle_are_those_of_the_vm(region: Region) -> None:
    vm = region.vm("web-0", availability_set="front")
    other = region.vm("web-1", availability_set="front")
    event = region.redeploy("web-0")
    (shown,) = other.document().events
    other.approve()

    assert (shown.event_id, shown.resources) == (event.id, ("web-0",))
    assert (event.phase, event.approved_by) == ("started", "web-1")
    with pytest.raises(AssertionError, match="no event that web-0 could approve"):
        vm.approve()


def test_a_vm_that_nobody_reads_for_is_restarted_without_a_word(region: Region) -> None:
    vm = region.vm("quiet", enabled=False)
    event = region.restart("quiet")

    assert (event.announced, event.phase) == (False, "started")
    assert vm.document().events == ()


def test_a_spot_vm_is_evicted_with_thirty_seconds_of_notice(region: Region) -> None:
    vm = region.vm("batch", spot=True)
    event = region.evict(vm)

    assert event.not_before - region.now() == timedelta(seconds=30)
    assert region.evict(vm).id == event.id
    region.run_until(lambda: event.ended)
    assert (vm.power, vm.host) == ("deallocated", "")


def test_a_deletion_with_notice_is_an_event_and_without_is_none(region: Region) -> None:
    warned = region.vm("warned", terminate_notice=timedelta(minutes=5))
    unwarned = region.vm("unwarned")
    event = region.delete(warned)

    assert not region.delete(unwarned)
    assert not unwarned.exists
    assert event
    assert event.type == "Terminate"
    region.run_until(lambda: not warned.exists, timedelta(minutes=6))


def test_maintenance_of_a_host_is_an_event_for_each_scope_on_it(region: Region) -> None:
    alone = region.vm("db")
    member = region.vm("web-0", availability_set="front")
    assert alone.host == member.host

    events = region.maintain(alone.host, "freeze")
    assert {event.type for event in events} == {"Freeze"}
    assert {event.resources for event in events} == {("db",), ("web-0",)}
    alone.approve()
    assert [event.phase for event in events].count("started") == 0
    member.approve()
    assert [event.phase for event in events] == ["started", "started"]


def test_a_host_that_fails_hits_at_once(region: Region) -> None:
    vm = region.vm("db")
    (event,) = region.fail(vm.host)

    assert (event.type, event.phase) == ("Redeploy", "started")


def test_what_is_canceled_has_no_impact(region: Region) -> None:
    region.vm("db")
    event = region.restart("db")
    region.cancel(event)
    region.advance(hours=1)

    assert event.phase == "canceled"
    region.assert_no_impact("db")


def test_a_fault_strikes_as_often_as_it_was_asked_to(region: Region) -> None:
    vm = region.vm("web-0")
    region.fault(vm, "error", times=1)
    faults: list[str] = []
    with Client(vm.url, on_fault=lambda fault, _: faults.append(fault.reason)) as client:
        assert client.document() is not None
        assert client.document() is not None

    assert len(faults) == 1


def test_faults_can_be_taken_back(region: Region) -> None:
    vm = region.vm("web-0")
    region.fault(None, "drop")
    region.clear_faults()
    with Client(vm.url, patience_seconds=0.0) as client:
        assert client.document() is not None


def test_what_makes_no_sense_is_refused_and_changes_nothing(region: Region) -> None:
    vm = region.vm("web-0")
    before = region.timeline()

    with pytest.raises(Refused, match="only Spot VMs can"):
        region.evict(vm)
    with pytest.raises(Refused, match="no VM named 'nobody'"):
        region.restart("nobody")
    with pytest.raises(Refused, match="no host named 'host-9'"):
        region.maintain("host-9")
    with pytest.raises(Refused, match="Time only goes forward"):
        region.advance(timedelta(minutes=-1))
    with pytest.raises(Refused, match="no fault 'flood'"):
        region.fault(vm, "flood")
    with pytest.raises(LookupError, match="no VM named 'nobody'"):
        region.fault("nobody", "error")
    with pytest.raises(ValueError, match="another kind of VM"):
        region.vm("web-0", spot=True)
    assert region.timeline() == before


def test_asking_for_a_vm_again_gives_the_same_one(region: Region) -> None:
    region.vm("web-0", availability_set="front")
    region.vm("WEB-0")
    again = region.vm("web-0", availability_set="front")

    assert again.name == "web-0"
    assert [moment.text for moment in region.timeline() if "was made" in moment.text] == ["web-0 was made, on host-0."]


def test_a_region_of_ones_own_begins_and_behaves_as_wanted() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    with open_region(start=noon, metadata=MetadataSettings(not_before_format="iso8601")) as region:
        vm = region.vm("web-0")
        event = region.restart("web-0")
        with Client(vm.environment["FOREWARN_ENDPOINT"]) as client:
            document = client.document()

        assert document is not None
        assert document.events[0].not_before == event.not_before == noon + timedelta(minutes=15)


def test_two_regions_do_not_know_each_other(region: Region) -> None:
    with open_region() as other:
        other.vm("web-0")

        assert other.url != region.url
        assert region.timeline() == []


def test_the_same_operation_again_is_the_same_event(region: Region) -> None:
    region.vm("web-0")
    first, other = region.restart("web-0"), region.redeploy("web-0")
    assert region.restart("web-0").id == first.id != other.id
