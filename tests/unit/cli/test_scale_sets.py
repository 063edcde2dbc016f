"""``forewarn vmss``: scale sets from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from forewarn.cli import scale_set_options as options
from forewarn.core.specs import Orchestration, ScaleInRule, UpgradeMode

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run


def test_a_set_is_created_with_its_instances_and_says_so(run: Run, region: Region) -> None:
    created = run("vmss", "create", "web", "--capacity", "3")

    assert (created.status, created.err) == (0, "")
    assert created.out == "Scale set 'web' created. 3 instances created: web_0, web_1, web_2.\n"
    assert run("vm", "list", "--names").lines == ["web_0", "web_1", "web_2"]
    assert run("vmss", "list", "--names").lines == ["web"]


def test_every_option_of_create_reaches_the_region(run: Run, region: Region) -> None:
    created = run(
        "vmss", "create", "w", "--capacity", "1", "--orchestration", "Flexible", "--single-placement-group",
        "--resource-group", "rg1", "--upgrade", "Rolling", "--scale-in", "NewestVM", "--auto-approve-reboot",
        "--auto-approve-redeploy", "--no-all-instances-down", "--terminate-notice", "10m", "--os-image-notice", "PT15M",
        "--no-vnet", "--size", "Standard_E4", "--os-type", "Windows", "--tag", "team=web", "--tag", "stage=a",
    )  # fmt: skip

    assert (created.status, created.err) == (0, "")
    shown = run("vmss", "show", "w", "--json").json
    assert (shown["orchestration"], shown["single_placement_group"], shown["capacity"]) == ("Flexible", True, 1)
    assert (shown["resource_group"], shown["upgrade"], shown["scale_in"]) == ("rg1", "Rolling", "NewestVM")
    assert shown["policy"] == {
        "auto_approve_reboot": True,
        "auto_approve_redeploy": True,
        "all_instances_down": False,
    }
    assert (shown["terminate_notice_seconds"], shown["os_image_notice_seconds"]) == (600, 900)
    assert (shown["vnet"], shown["size"], shown["os_type"]) == (False, "Standard_E4", "Windows")
    assert shown["tags"] == {"team": "web", "stage": "a"}


def test_a_spot_set_has_an_eviction_policy(run: Run, region: Region) -> None:
    run("vmss", "create", "cheap", "--spot", "--eviction-policy", "Delete")

    assert "spot                   Delete" in run("vmss", "show", "cheap").out
    assert run("vm", "show", "cheap_0", "--json").json["eviction_policy"] == "Delete"


def test_an_update_changes_what_it_names_and_instances_get_it_when_told(run: Run, region: Region) -> None:
    run("vmss", "create", "web", "--terminate-notice", "10m", "--auto-approve-reboot", "--size", "Standard_A1")

    updated = run("vmss", "update", "web", "--terminate-notice", "5m", "--no-all-instances-down")

    assert "The model has version 2 now; instances that have it: 0 of 2." in updated.out
    shown = run("vmss", "show", "web", "--json").json
    assert (shown["terminate_notice_seconds"], shown["size"]) == (300, "Standard_A1")
    assert shown["policy"]["auto_approve_reboot"] is True
    assert shown["policy"]["all_instances_down"] is False
    assert "1 (not the latest)" in run("vmss", "show", "web").out
    assert "web_0 was given the latest model" in run("vmss", "update-instances", "web", "0").out
    assert "web_1 was given the latest model" in run("vmss", "update-instances", "web", "*").out
    assert "not the latest" not in run("vmss", "show", "web").out
    run("vmss", "update", "web", "--terminate-notice", "none")
    assert run("vmss", "show", "web", "--json").json["terminate_notice_seconds"] is None


def test_scaling_in_shows_the_events_of_those_who_go(run: Run, region: Region) -> None:
    run("vmss", "create", "web", "--capacity", "3", "--terminate-notice", "5m", "--scale-in", "OldestVM")
    region.read("web_0")

    result = run("vmss", "scale", "web", "2")

    assert "Terminate  scheduled" in result.out
    assert "resources   web_0" in result.out
    assert "not before  2026-01-01T12:05:00Z (in 5 min)" in result.out
    assert "The capacity is 2 now." in result.out
    assert "Terminate" in run("vmss", "show", "web").out


def test_instances_are_named_by_number_or_by_name(run: Run, region: Region) -> None:
    run("vmss", "create", "web", "--capacity", "4")

    assert run("vmss", "delete-instances", "web", "0", "WEB_2").status == 0
    assert run("vmss", "delete-instances", "web", "-", stdin="3\n").status == 0
    assert run("vm", "list", "--names").lines == ["web_1"]
    assert run("vmss", "show", "web", "--json").json["capacity"] == 1


@pytest.mark.parametrize("verb", ["restart", "redeploy", "reimage", "deallocate", "stop"])
def test_all_instances_are_meant_where_none_is_named(run: Run, region: Region, verb: str) -> None:
    run("vmss", "create", "web", "--capacity", "2")

    result = run("vmss", verb, "web", "--json")

    assert result.json["at_once"] == ["web_0", "web_1"]
    region.wait(region.plane.advance(region.plane.now().replace(hour=13)))
    assert run("vmss", "start", "web").status == 0
    assert {vm["power"] for vm in run("vmss", "show", "web", "--json").json["instances"]} == {"running"}


def test_nothing_on_standard_input_does_not_mean_all(run: Run, region: Region) -> None:
    run("vmss", "create", "web")

    result = run("vmss", "deallocate", "web", "-", stdin="\n")

    assert result.status == 2
    assert {vm.power.value for vm in region.plane.region.vms.values()} == {"running"}


def test_protected_instances_stay_when_fewer_are_wanted(run: Run, region: Region) -> None:
    run("vmss", "create", "web", "--capacity", "3")

    assert "protected from scale-in" in run("vmss", "protect", "web", "0").out
    assert run("vmss", "protect", "web", "1", "2").status == 0
    assert run("vmss", "scale", "web", "2").status == 1
    assert run("vmss", "protect", "web", "1", "--off", "--json").json["at_once"] == ["web_1"]
    assert run("vmss", "scale", "web", "2").status == 0
    assert run("vm", "list", "--names").lines == ["web_0", "web_2"]
    assert "protected" in run("vm", "show", "web_0").out


def test_a_set_goes_with_its_last_instance(run: Run, region: Region) -> None:
    run("vmss", "create", "web", "--terminate-notice", "5m")
    region.read("web_0")

    assert "Scale set 'web' goes with its last instance." in run("vmss", "delete", "web").out
    assert "with its last instance" in run("vmss", "show", "web").out
    run("clock", "advance", "10m")
    assert run("vmss", "show", "web").status == 4
    assert run("vmss", "list", "--json").json == []


def test_the_list_tells_how_many_have_the_latest_model(run: Run, region: Region) -> None:
    run("vmss", "create", "web", "--capacity", "3", "--terminate-notice", "10m")
    run("vmss", "update", "web", "--size", "Standard_A1")
    run("vmss", "update-instances", "web", "1")

    titles, row = run("vmss", "list").lines

    assert titles.split()[:6] == ["NAME", "MODE", "CAPACITY", "INSTANCES", "MODEL", "LATEST"]
    assert row.split() == ["web", "Uniform", "3", "3", "2", "1", "Manual", "600", "s", "no", "forewarn"]


def test_a_vm_of_a_set_tells_which_and_a_lone_one_does_not(run: Run, region: Region) -> None:
    run("vmss", "create", "web", "--capacity", "1")
    run("vm", "create", "lone")

    shown = run("vm", "show", "web_0").out
    assert "scale set        web\n" in shown
    assert "instance id      0\n" in shown
    assert "scale set" not in run("vm", "show", "lone").out


def test_an_empty_region_says_how_to_begin_without_dirtying_the_pipe(run: Run, region: Region) -> None:
    listed = run("vmss", "list")

    assert (listed.status, listed.out) == (0, "")
    assert "forewarn vmss create" in listed.err


@pytest.mark.parametrize(
    ("status", "words", "sentence"),
    [
        (1, ["create", "WEB"], "exists already"),
        (1, ["create", "a", "--terminate-notice", "1m"], "between 5 and 15 minutes"),
        (1, ["create", "a", "--spot", "--terminate-notice", "5m"], "Spot"),
        (2, ["create", "a", "--terminate-notice", "5"], "'5' is not a duration"),
        (2, ["create", "a", "--capacity", "-1"], "--capacity"),
        (2, ["create", "a", "--orchestration", "uniform"], "did you mean 'Uniform'?"),
        (2, ["create"], "NAME"),
        (2, ["update", "web"], "say what to change"),
        (2, ["update", "web", "--orchestration", "Flexible"], "--orchestration"),
        (4, ["update", "nobody", "--size", "x"], "nobody"),
        (2, ["scale", "web"], "N"),
        (2, ["scale", "web", "many"], "'many' is not a whole number"),
        (1, ["scale", "web", "1001"], "'capacity'"),
        (4, ["scale", "nobody", "1"], "nobody"),
        (4, ["restart", "web", "0", "9"], "no instance '9'"),
        (2, ["delete-instances", "web"], "INSTANCE"),
        (4, ["delete-instances", "web", "0", "9"], "no instance '9'"),
        (4, ["protect", "web", "9"], "no instance '9'"),
        (4, ["show", "../vms"], "../vms"),
        (4, ["delete", "nobody"], "nobody"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence_and_nothing_happens(
    run: Run, region: Region, status: int, words: list[str], sentence: str
) -> None:
    run("vmss", "create", "web")
    before = region.plane.seq

    result = run("vmss", *words)

    assert (result.status, result.out) == (status, "")
    assert result.err.startswith("forewarn: ")
    assert sentence in result.err
    assert len(result.err.splitlines()) == 1
    assert region.plane.seq == before


def test_the_words_of_the_options_are_those_of_the_core() -> None:
    assert tuple(word.value for word in Orchestration) == options.ORCHESTRATIONS
    assert tuple(word.value for word in UpgradeMode) == options.UPGRADES
    assert tuple(word.value for word in ScaleInRule) == options.SCALE_INS
