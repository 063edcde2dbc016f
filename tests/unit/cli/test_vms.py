"""``forewarn vm``: create, look, disturb."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run


def test_one_vm_has_the_name_alone_and_several_are_numbered(run: Run, region: Region) -> None:
    assert run("vm", "create", "db").out == "Created 1 VM: db.\n"
    assert run("vm", "create", "web", "--count", "3", "--availability-set", "front").status == 0
    assert run("vm", "list", "--names").lines == ["db", "web-0", "web-1", "web-2"]


def test_every_option_of_create_reaches_the_region(run: Run, region: Region) -> None:
    created = run(
        "vm", "create", "w", "--no-vnet", "--terminate-notice", "10m",
        "--size", "Standard_E4", "--os-type", "Windows", "--tag", "team=web", "--tag", "stage=a=b",
        "--address", "10.0.0.4", "--local-address", "127.1.0.4", "--netns", "space", "--interface", "tap0",
        "--unix", "w",
    )  # fmt: skip

    assert (created.status, created.err) == (0, "")
    vm = run("vm", "show", "w", "--json").json
    assert (vm["vnet"], vm["terminate_notice_seconds"]) == (False, 600)
    assert (vm["size"], vm["os_type"], vm["tags"]) == ("Standard_E4", "Windows", {"team": "web", "stage": "a=b"})
    place = {"netns": "space", "interface": "tap0", "unix": "w"}
    assert vm["binding"] == {"address": "10.0.0.4", "local_address": "127.1.0.4", **place}


def test_a_spot_vm_has_an_eviction_policy(run: Run, region: Region) -> None:
    run("vm", "create", "cheap", "--spot", "--eviction-policy", "Delete")

    vm = run("vm", "show", "cheap", "--json").json
    assert (vm["spot"], vm["eviction_policy"]) == (True, "Delete")


def test_a_cloud_service_names_its_instances_by_role(run: Run, region: Region) -> None:
    run("vm", "create", "fe", "--count", "2", "--cloud-service", "shop", "--role", "FrontEnd")

    assert "resource name    FrontEnd_IN_1" in run("vm", "show", "fe-1").out


def test_many_vms_are_created_in_chunks_that_continue_the_numbers(run: Run, region: Region) -> None:
    result = run("vm", "create", "n", "--count", "5001", "--json")

    assert result.json["created"][-2:] == ["n-4999", "n-5000"]
    assert len(region.plane.region.vms) == 5001
    assert result.err == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name the VMs to create"),
        (["a", "--file", "x.toml"], "name the VMs to create"),
        (["a", "--count", "0"], "'0' is not a whole number"),
        (["a", "--availability-set", "s", "--cloud-service", "c", "--role", "r"], "not in both"),
        (["a", "--role", "r"], "give both or neither"),
        (["a", "--eviction-policy", "Delete"], "for Spot VMs only"),
        (["a", "--count", "2", "--netns", "n"], "belongs to a single VM"),
        (["a", "--terminate-notice", "15"], "'15' is not a duration"),
        (["a", "--tag", "x"], "'x' is not KEY=VALUE"),
    ],
)
def test_a_create_that_cannot_be_meant_is_refused_and_nothing_is_created(
    run: Run, region: Region, arguments: list[str], sentence: str
) -> None:
    result = run("vm", "create", *arguments)

    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("forewarn: ")
    assert sentence in result.err
    assert len(result.err.splitlines()) == 1
    assert not region.plane.region.vms


def test_a_name_that_is_taken_is_refused_by_the_server(run: Run, region: Region) -> None:
    run("vm", "create", "db")

    result = run("vm", "create", "DB")

    assert (result.status, result.out) == (1, "")
    assert "db" in result.err.lower()


def test_a_region_file_creates_what_is_missing_and_leaves_the_rest_alone(
    run: Run, region: Region, tmp_path: Path
) -> None:
    run("vm", "create", "web", "--count", "3", "--availability-set", "front")
    run("vm", "delete", "web-1")
    file = tmp_path / "region.toml"
    file.write_text('[[vm]]\nname = "web"\ncount = 5\navailability_set = "front"\n[[vm]]\nname = "db"\n')

    first = run("vm", "create", "--file", str(file))
    again = run("vm", "create", "--file", str(file), "--json")

    assert first.out == "Created 4 VMs: web-1, web-3, web-4, db. 2 existed already and were left alone.\n"
    assert again.json == {"created": [], "left_alone": 6}


def test_options_beside_a_file_are_refused_since_they_would_be_ignored(
    run: Run, region: Region, tmp_path: Path
) -> None:
    file = tmp_path / "region.toml"
    file.write_text('[[vm]]\nname = "db"\n')

    result = run("vm", "create", "--file", str(file), "--spot")

    assert result.status == 2
    assert not region.plane.region.vms


def test_a_refusal_in_the_middle_says_how_much_was_created(run: Run, region: Region, tmp_path: Path) -> None:
    file = tmp_path / "region.toml"
    file.write_text('[[vm]]\nname = "good"\n[[vm]]\nname = "not a name!"\n')

    result = run("vm", "create", "--file", str(file))

    assert result.status == 1
    assert "1 VMs were created before" in result.err


def test_a_restart_where_nobody_reads_happens_at_once_and_says_why(run: Run, region: Region) -> None:
    run("vm", "create", "db")

    result = run("vm", "restart", "db")

    assert result.status == 0
    assert "at once" in result.out
    assert "nobody in the scope reads" in result.out


def test_a_restart_shows_the_event_its_not_before_and_who_must_approve(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2", "--availability-set", "front")
    region.read("web-1")

    result = run("vm", "restart", "web-0")

    event_id = run("event", "list", "--json").json[0]["id"]
    assert f"{event_id}  Reboot  scheduled" in result.out
    assert "resources   web-0" in result.out
    assert "not before  2026-01-01T12:15:00Z (in 15 min)" in result.out
    assert f"by any VM of availability-set/front, or: forewarn event approve {event_id}" in result.out


def test_a_restart_that_the_policy_approves_waits_for_no_approval(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2", "--availability-set", "front")
    region.read("web-0")
    run("scope", "policy", "availability-set/front", "--auto-approve-reboot")

    result = run("vm", "restart", "web-0")

    assert "Reboot  started" in result.out
    assert "not before" not in result.out


def test_stopping_starting_and_deleting_are_told_in_words(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "2")

    assert "deallocated" in run("vm", "deallocate", "web-0").out
    assert run("vm", "show", "web-0", "--json").json["power"] == "deallocated"
    assert run("vm", "start", "web-0").status == 0
    assert run("vm", "redeploy", "web-0").status == 0
    assert run("vm", "delete", "web-0", "web-1").status == 0
    assert run("vm", "list", "--names").out == ""


def test_a_stopped_vm_keeps_its_host_and_a_reimaged_one_boots_again(run: Run, region: Region) -> None:
    run("vm", "create", "db")

    assert "db was stopped at once" in run("vm", "stop", "db").out
    assert run("vm", "show", "db", "--json").json["host"] == "host-0"
    assert run("vm", "start", "db").status == 0
    assert "db was reimaged at once" in run("vm", "reimage", "db").out
    run("clock", "advance", "10m")
    assert run("vm", "show", "db", "--json").json["boots"] == 3


def test_only_spot_vms_can_be_evicted(run: Run, region: Region) -> None:
    run("vm", "create", "plain")
    run("vm", "create", "cheap", "--spot")
    region.read("cheap")

    refused, accepted = run("vm", "evict", "plain"), run("vm", "evict", "cheap")

    assert refused.status == 1
    assert "in 30 s" in accepted.out


def test_names_can_be_piped_in(run: Run, region: Region) -> None:
    run("vm", "create", "web", "--count", "3")

    assert run("vm", "delete", "-", stdin=run("vm", "list", "--names").out).status == 0
    assert run("vm", "list", "--json").json == []
    assert run("vm", "delete", "-", stdin="\n").status == 2


def test_an_unknown_vm_is_status_4_and_nothing_happens_to_the_others(run: Run, region: Region) -> None:
    run("vm", "create", "db")

    shown, restarted = run("vm", "show", "nobody"), run("vm", "restart", "db", "nobody")

    assert (shown.status, restarted.status) == (4, 4)
    assert "nobody" in shown.err
    assert run("vm", "show", "db", "--json").json["boots"] == 1


def test_a_name_with_a_slash_cannot_reach_another_path(run: Run, region: Region) -> None:
    assert run("vm", "show", "../../v1/clock").status == 4


def test_a_list_can_be_limited_to_a_scope(run: Run, region: Region) -> None:
    run("vm", "create", "db")
    run("vm", "create", "web", "--count", "2", "--availability-set", "front")

    listed = run("vm", "list", "--scope", "availability-set/front")

    assert listed.lines[0].split() == ["NAME", "POWER", "SCOPE", "HOST", "UD", "FD", "SPOT", "BOOTS"]
    assert [line.split()[0] for line in listed.lines[1:]] == ["web-0", "web-1"]


def test_an_empty_region_says_how_to_begin_without_dirtying_the_pipe(run: Run, region: Region) -> None:
    listed = run("vm", "list")

    assert (listed.status, listed.out) == (0, "")
    assert "forewarn vm create" in listed.err


def test_a_vm_reads_and_its_document_is_printed(run: Run, region: Region) -> None:
    run("vm", "create", "db")

    first, second = run("vm", "read", "db"), run("vm", "read", "db", "--json")

    assert first.json == {"DocumentIncarnation": 1, "Events": []}
    assert first.err == "First read of vm/db: from here on its events wait.\n"
    assert (second.json["scope"], second.json["enabled"], second.err) == ("vm/db", False, "")


def test_vms_that_read_when_they_are_made_are_warned(run: Run, region: Region) -> None:
    run("vm", "create", "cheap", "--spot", "--read")

    (event,) = run("vm", "evict", "cheap", "--json").json["events"]

    assert (event["type"], event["phase"]) == ("Preempt", "scheduled")


def test_several_vms_are_created_by_their_names(run: Run, region: Region) -> None:
    assert run("vm", "create", "a", "b", "c").out == "Created 3 VMs: a, b, c.\n"


def test_an_address_goes_to_one_vm_only(run: Run, region: Region) -> None:
    result = run("vm", "create", "a", "b", "--address", "10.0.0.4")

    assert (result.status, "belongs to a single VM" in result.err) == (2, True)
    assert not region.plane.region.vms


def test_a_look_at_a_document_is_no_read(run: Run, region: Region) -> None:
    run("vm", "create", "db", "--tag", "team=web")

    looked = run("vm", "document", "DB")
    raw = run("vm", "document", "db", "--raw", "--api-version", "2017-08-01")
    instance = run("vm", "instance", "db", "--json")

    assert looked.json == {"DocumentIncarnation": 1, "Events": []}
    assert "Nobody reads for vm/db: this is what its first read would get." in looked.err
    assert raw.out == '{"DocumentIncarnation":1,"Events":[]}'
    assert instance.json["compute"]["tags"] == "team:web"
    assert region.plane.region.scopes.get("vm/db") is None
    run("vm", "read", "db")
    assert run("vm", "document", "db").err == ""


def test_showing_the_document_of_an_unknown_vm_or_in_an_unknown_version_is_refused(run: Run, region: Region) -> None:
    run("vm", "create", "db")

    assert run("vm", "document", "nobody").status == 4
    assert "2020-07-01" in run("vm", "document", "db", "--api-version", "2021-01-01").err
    assert run("vm", "instance", "db", "--api-version", "1999-01-01").status == 1
