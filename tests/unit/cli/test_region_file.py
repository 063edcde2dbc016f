"""Region files: what is read, and what is refused with the file and the key named."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forewarn.cli.reference.region_file import EXAMPLE
from forewarn.core.specs import Binding, EvictionPolicy, ScopeKind, VmSpec
from forewarn.server import fleet
from forewarn.settings.binding_file import BindingEntry
from forewarn.settings.errors import CommandFailed
from forewarn.settings.fleet_file import FleetEntry, Stretch, runs
from forewarn.settings.machine_entries import BlueprintEntry, EngineEntry, HostEntry, MachinesEntry
from forewarn.settings.notification_file import NotificationEntry
from forewarn.settings.region_file import RegionFile, check_region_file, read_region_file
from forewarn.settings.resolve import resolve

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Run as Type

PAGE = Path(__file__).parents[3] / "docs" / "region-file.md"


def read(tmp_path: Path, text: str) -> RegionFile:
    file = tmp_path / "region.toml"
    file.write_text(text)
    return read_region_file(file)


def test_a_file_holds_settings_and_a_fleet(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        [settings]
        clock = "x60"
        update_domains = 3
        [[vm]]
        name = "web"
        count = 3
        availability_set = "front"
        terminate_notice = "10m"
        tags = {team = "web"}
        [[vm]]
        name = "batch"
        spot = true
        vnet = false
        """,
    )

    assert found.settings == {"clock": "x60", "update_domains": "3"}
    assert found.fleet[0] == FleetEntry("web", 3, "front", terminate_notice=timedelta(minutes=10), tags={"team": "web"})
    assert (found.fleet[1].spot, found.fleet[1].vnet) == (True, False)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[settings]\nclok = 'real'", "unknown key 'settings.clok'; did you mean 'clock'?"),
        ("[settings]\nlog-level = 'info'", "did you mean 'log_level'?"),
        ("[setings]", "unknown key 'setings'; did you mean 'settings'?"),
        ("clock = 'real'", "the key 'clock' belongs under [settings]"),
        ("[[vm]]\nname = 'a'\navailability-set = 's'", "unknown key 'vm.availability-set'; did you mean"),
        ("[[vm]]\nname = 'a'\nbanana = 1", "unknown key 'vm.banana'."),
        ("[vm]\nname = 'a'", "two brackets"),
        ("vm = [1]", "is not a table"),
        ("settings = 1", "under one [settings] line"),
        ("[settings]\nclock = true", "must be text or a number"),
        ("[[vm]]\ncount = 2", "a VM needs a name"),
        ("[[vm]]\nname = 'a'\ncount = '2'", "count of [[vm]] number 1 must be a whole number"),
        ("[[vm]]\nname = 'a'\ncount = 0", "must be from 1 to"),
        ("[[vm]]\nname = 'a'\nspot = 1", "spot of [[vm]] number 1 must be true or false"),
        ("[[vm]]\nname = 'a'\ntags = {a = 1}", "values of tags must be text"),
        ("[[vm]]\nname = 'a'\nterminate_notice = '5'", "'5' is not a duration"),
        ("[[vm]]\nname = 'a'\nspot = true\neviction_policy = 'Burn'", "none of Deallocate, Delete"),
        ("[[vm]]\nname = 'a'\nterminate_notice = '4m'", "must be between 5 and 15 minutes"),
        ("[[vm]]\nname = 'a'\nspot = true\nterminate_notice = '5m'", "a Spot VM has no terminate notice"),
        ("[[vm]]\nname = 'a'\n[[vm]]\nname = 'A'", "two [[vm]] tables are named 'A'"),
        ("[[vm]]\nname = 'a'\ncloud_service = 's'", "give both or neither"),
        ("[binding]\nvm = 'a'", "bindings are written as [[binding]] tables"),
        ("binding = [1]", "[[binding]] number 1 is not a table"),
        ("[[binding]]\nnetns = 'a'", "names a vm or a scale_set, one of the two"),
        ("[[binding]]\nvm = 'a'\nscale_set = 'b'", "names a vm or a scale_set, one of the two"),
        ("[[binding]]\nvm = 'a'\nnetnss = 'b'", "unknown key 'binding.netnss'; did you mean 'netns'?"),
        ("[[binding]]\nvm = 'a'\nnetns = 1", "netns of [[binding]] number 1 must be text"),
        ("= broken", "is not TOML"),
    ],
)
def test_unknown_keys_and_impossible_values_of_a_file_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        read(tmp_path, text)

    assert caught.value.status == 2
    assert str(tmp_path / "region.toml") in caught.value.message
    assert sentence in caught.value.message


def test_a_file_that_is_not_there_or_not_text_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="No such file"):
        read_region_file(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(CommandFailed, match="is not TOML"):
        read_region_file(tmp_path / "bytes.toml")


def test_requests_for_a_fleet_are_bounded_and_leave_out_what_exists() -> None:
    entry = FleetEntry("n", 10)

    assert list(runs(entry, 4)) == [Stretch(0, 4), Stretch(4, 4), Stretch(8, 2)]
    assert list(runs(entry, 4, lambda name: name not in ("n-0", "n-3", "n-9"))) == [
        Stretch(1, 2),
        Stretch(4, 4),
        Stretch(8, 1),
    ]
    assert list(runs(entry, 4, lambda name: False)) == []
    assert list(runs(FleetEntry("solo"), 4)) == [Stretch(0, 1)]


def test_a_fleet_means_the_same_to_the_core() -> None:
    assert fleet.spec_of(FleetEntry("a")) == VmSpec()
    service = fleet.spec_of(FleetEntry("a", cloud_service="shop", role="Web", tags={"k": "v"}))
    assert (service.kind, service.set_name, service.role) == (ScopeKind.CLOUD_SERVICE, "shop", "Web")
    assert service.tags == (("k", "v"),)
    spot = fleet.spec_of(FleetEntry("a", availability_set="s", spot=True, eviction_policy="Delete"))
    assert (spot.kind, spot.eviction_policy) == (ScopeKind.AVAILABILITY_SET, EvictionPolicy.DELETE)
    assert fleet.binding_of(FleetEntry("a")) is None
    assert fleet.binding_of(FleetEntry("a", netns="n")) == Binding(netns="n")


# The example, the page and the check


def uncommented(text: str) -> str:
    """With the keys and tables that the example only shows."""
    return re.sub(r"^#(?=[a-z_]+ = |\[)", "", text, flags=re.MULTILINE)


def test_the_example_is_a_region_file_and_its_vms_can_be_made(tmp_path: Path) -> None:
    found = read(tmp_path, EXAMPLE)

    assert resolve({}, {}, found.settings, found.path).clock.kind == "real"
    assert [(entry.name, entry.count) for entry in found.fleet] == [("db", 1), ("web", 3), ("batch", 1), ("fe", 2)]
    assert [fleet.spec_of(entry).kind for entry in found.fleet] == [
        ScopeKind.VM,
        ScopeKind.AVAILABILITY_SET,
        ScopeKind.VM,
        ScopeKind.CLOUD_SERVICE,
    ]


def test_the_commented_lines_of_the_example_are_valid_too_and_no_key_is_left_out(tmp_path: Path) -> None:
    text = uncommented(EXAMPLE)
    (tmp_path / "server.xml").write_text("<domain/>")
    found = read(tmp_path, text)

    resolve({}, {}, found.settings, found.path)
    assert [str(entry) for entry in found.bindings] == ["VM 'web-0'", "scale set 'workers'"]
    assert [host.name for host in found.declared.hosts] == ["rack-1", "hyper-1"]
    for entry in (FleetEntry, BindingEntry, HostEntry, EngineEntry, BlueprintEntry, MachinesEntry):
        for field in fields(entry):
            if field.name not in ("url", "token_file", "program"):  # of kind remote, which excludes the others
                assert re.search(rf"^{field.name} = ", text, re.MULTILINE), field.name


def test_every_key_of_a_region_file_is_in_its_documentation() -> None:
    page = PAGE.read_text()
    _, *tables = re.split(r"^### `\[.*$", page.partition("### An example")[0], flags=re.MULTILINE)[1:]
    entries = (FleetEntry, BindingEntry, NotificationEntry, EngineEntry, HostEntry, BlueprintEntry, MachinesEntry)

    for entry, table in zip(entries, tables, strict=True):
        assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [field.name for field in fields(entry)]
    assert EXAMPLE in page


WRONG = """\
[settings]
clok = "real"
update_domains = 0

[[vm]]
name = "a"
cout = 3

[[vm]]
name = "b"
spot = 1

[[vm]]
name = "c"
role = "x"

[[binding]]
vm = "a"
netnss = "b"
"""


def test_a_check_finds_everything_that_is_wrong_by_its_line(tmp_path: Path, run: Type) -> None:
    file = tmp_path / "region.toml"
    file.write_text(WRONG)

    checked = run("settings", "--check", str(file))

    assert checked.status == 2
    assert checked.lines == [
        f"{file}:2: unknown key 'settings.clok'; did you mean 'clock'?",
        f"{file}:3: the setting update_domains is not right: '0' is not a whole number from 1 to 20",
        f"{file}:7: unknown key 'vm.cout'; did you mean 'count'?",
        f"{file}:11: spot of [[vm]] number 2 must be true or false",
        f"{file}:13: [[vm]] number 3: a cloud service and a role go together: give both or neither",
        f"{file}:19: unknown key 'binding.netnss'; did you mean 'netns'?",
    ]
    told = run("settings", "--check", str(file), "--json").json
    assert (told["good"], [each["line"] for each in told["complaints"]]) == (False, [2, 3, 7, 11, 13, 19])
    assert file.read_text() == WRONG


def test_a_start_names_the_first_and_counts_the_rest(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"region.toml:2: unknown key .* \(4 more: forewarn settings --check "):
        read(tmp_path, WRONG)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[settings]\n\nclock = real\n", ":3: is not TOML: Invalid value"),
        ("[settings]\nephemeral = true\ndata = 'here'\n", ": an ephemeral region is kept nowhere, and data"),
    ],
)
def test_a_check_tells_of_the_whole_file_too(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "region.toml"
    file.write_text(text)

    (found,) = check_region_file(file)[1]

    assert str(found).startswith(f"{file}{complaint}")


def test_the_printed_example_passes_the_check(tmp_path: Path, run: Type) -> None:
    file = tmp_path / "region.toml"
    file.write_text(run("settings", "--example").out)

    assert run("settings", "--check", str(file)).out == f"{file} is good: 2 settings, 7 VMs, 0 bindings\n"
    assert run("settings", "--check", str(file), "--json").json["good"] is True


@pytest.mark.parametrize(
    "arguments", [("--check", "x", "--clock", "real"), ("--example", "--config", "x"), ("--running", "--example")]
)
def test_options_that_would_be_ignored_beside_check_or_example_are_refused(
    arguments: tuple[str, ...], run: Type
) -> None:
    refused = run("settings", *arguments)

    assert (refused.status, refused.out) == (2, "")
    assert "leave off" in refused.err
