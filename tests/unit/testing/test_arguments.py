"""What a test may hand to a region: natural forms are understood, all others refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from forewarn.core.refusal import Refused
from forewarn.testing import Region, open_region


def test_durations_are_understood_as_the_command_line_takes_them(region: Region) -> None:
    vm = region.vm("w", terminate_notice="10m")
    event = region.delete(vm)

    assert event
    assert event.not_before - region.now() == timedelta(minutes=10)
    before = region.now()
    assert region.advance("9m30s") - before == timedelta(minutes=9, seconds=30)
    region.run_until(lambda: not vm.exists, "1min")


def test_a_deletion_without_a_notice_is_false_and_says_why(region: Region) -> None:
    region.vm("w")
    event = region.delete("w")

    assert not event
    with pytest.raises(AttributeError, match=r"no phase: w was deleted at once, because it has no terminate notice"):
        _ = event.phase
    with pytest.raises(ValueError, match="w was deleted at once"):
        region.assert_approved_before_deadline(event)


def test_notice_and_duration_are_of_that_event_alone(region: Region) -> None:
    vm = region.vm("web-0")
    before = region.now()
    event = region.freeze("web-0", notice="5m", duration="40s")
    (shown,) = vm.document().events

    assert (event.type, event.not_before - before) == ("Freeze", timedelta(minutes=5))
    assert shown.duration_seconds == 40
    region.advance("5m39s")
    assert vm.power == "frozen"
    region.advance("1s")
    assert vm.power == "running"
    region.run_until(lambda: event.ended)
    usual = region.freeze("web-0")
    assert usual.not_before - region.now() == timedelta(minutes=15)
    (shown,) = vm.document().events
    assert shown.duration_seconds == 9


def test_a_restart_takes_as_long_as_it_was_told_to(region: Region) -> None:
    vm = region.vm("web-0")
    event = region.restart(vm, notice="1m", duration="5m")
    region.advance("5m59s")
    assert (event.phase, vm.power) == ("started", "restarting")
    region.advance("1s")
    assert vm.power == "running"


def test_what_begins_at_once_lasts_as_long_as_it_was_told_to(region: Region) -> None:
    vm = region.vm("web-0", enabled=False)
    region.restart(vm, duration="5m")
    region.advance("4m59s")
    assert vm.power == "restarting"
    region.advance("1s")
    assert vm.power == "running"


def test_a_note_is_named_by_its_text(region: Region) -> None:
    vm = region.vm("web-0")
    event = region.restart("web-0")
    region.note("drained")
    vm.approve(event)
    region.note("too late")

    region.assert_prepared_before_impact(event, "drained")
    with pytest.raises(AssertionError, match="began before the VM was prepared"):
        region.assert_prepared_before_impact(event, "too late")
    with pytest.raises(AssertionError, match=r"There is no note 'drianed'.*notes: 'drained', 'too late'\."):
        region.assert_prepared_before_impact(event, "drianed")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda r: r.vm("x", terminate_notice=600), "terminate_notice is 600, which has no unit; write '10m'"),
        (lambda r: r.vm("x", terminate_notice="ten"), "terminate_notice: 'ten' is not a duration"),
        (lambda r: r.vm(3), "a VM is given by its name"),
        (lambda r: r.restart(None), "a VM is given by its name"),
        (lambda r: r.restart("web-0", notice=5), "notice is 5, which has no unit"),
        (lambda r: r.redeploy("web-0", duration=timedelta(-1)), "time only goes forward"),
        (lambda r: r.maintain("host-0", "frezee"), "there are freeze, .*; did you mean 'freeze'?"),
        (lambda r: r.maintain("host-0", "deletion"), "no work on hosts of the kind 'deletion'; there are freeze"),
        (lambda r: r.maintain("host-0", None), "no work on hosts of the kind None"),
        (lambda r: r.maintain(7), "a host is given by its name"),
        (lambda r: r.fail(None), "a host is given by its name"),
        (lambda r: r.cancel("1F2F0E87"), "an event is given by what region.restart"),
        (lambda r: r.assert_approved_before_deadline(None), "an event is given by what region.restart"),
        (lambda r: r.assert_prepared_before_impact(r.restart("web-0"), 12), "prepared_at is 12; it is the text of"),
        (lambda r: r.assert_no_impact(None), "a VM is given by its name"),
        (lambda r: r.advance(15), "by is 15, which has no unit"),
        (lambda r: r.run_until(lambda: False, 15), "limit is 15, which has no unit"),
        (lambda r: r.fault("web-0", "eror"), "There is no fault 'eror'"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(
    region: Region, call: Callable[[Any], object], sentence: str
) -> None:
    region.vm("web-0")
    with pytest.raises((ValueError, Refused), match=sentence):
        call(region)


def test_a_name_that_is_not_there_brings_the_one_that_is_like_it(region: Region) -> None:
    region.vm("web-0")
    with pytest.raises(Refused, match=r"There is no VM named 'wbe-0'\. Did you mean 'web-0'\?"):
        region.restart("wbe-0")
    with pytest.raises(LookupError, match=r"no VM named 'wbe-0' .* Did you mean 'web-0'?"):
        region.fault("wbe-0", "error")


def test_settings_of_a_region_are_those_of_a_server(region: Region) -> None:
    with open_region(notice_user_restart="5m", reboot_impact=timedelta(minutes=2), vms_per_host=1) as chosen:
        one, two = chosen.vm("web-0"), chosen.vm("web-1")
        event = chosen.restart(one)
        assert one.host != two.host
        assert event.not_before - chosen.now() == timedelta(minutes=5)
    with pytest.raises(ValueError, match=r"no setting 'notice_user_restrat'; did you mean 'notice_user_restart'?"):
        open_region(notice_user_restrat="5m").__enter__()
    with pytest.raises(ValueError, match="a region of a test has no setting 'store'"):
        open_region(store="postgresql://x").__enter__()
    with pytest.raises(ValueError, match=r"the setting vms_per_host .* is not right"):
        open_region(vms_per_host="many").__enter__()
