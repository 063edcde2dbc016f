"""Region files: what is read, and what is refused with the file and the key named."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.core.region import Binding, EvictionPolicy, ScopeKind, VmSpec
from forewarn.server import fleet
from forewarn.settings.errors import CommandFailed
from forewarn.settings.fleet_file import FleetEntry, Run, runs
from forewarn.settings.region_file import RegionFile, read_region_file


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
def test_what_nobody_reads_or_nobody_can_mean_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
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


def test_runs_are_bounded_and_leave_out_what_exists() -> None:
    entry = FleetEntry("n", 10)

    assert list(runs(entry, 4)) == [Run(0, 4), Run(4, 4), Run(8, 2)]
    assert list(runs(entry, 4, lambda name: name not in ("n-0", "n-3", "n-9"))) == [Run(1, 2), Run(4, 4), Run(8, 1)]
    assert list(runs(entry, 4, lambda name: False)) == []
    assert list(runs(FleetEntry("solo"), 4)) == [Run(0, 1)]


def test_a_fleet_means_the_same_to_the_core() -> None:
    assert fleet.spec_of(FleetEntry("a")) == VmSpec()
    service = fleet.spec_of(FleetEntry("a", cloud_service="shop", role="Web", tags={"k": "v"}))
    assert (service.kind, service.set_name, service.role) == (ScopeKind.CLOUD_SERVICE, "shop", "Web")
    assert service.tags == (("k", "v"),)
    spot = fleet.spec_of(FleetEntry("a", availability_set="s", spot=True, eviction_policy="Delete"))
    assert (spot.kind, spot.eviction_policy) == (ScopeKind.AVAILABILITY_SET, EvictionPolicy.DELETE)
    assert fleet.binding_of(FleetEntry("a")) is None
    assert fleet.binding_of(FleetEntry("a", netns="n")) == Binding(netns="n")
