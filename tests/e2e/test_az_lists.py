"""``az resource list`` shows what it was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.az_region import AzRegion

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_resources_are_listed_by_group_type_and_tag(tmp_path: Path) -> None:
    with AzRegion.start(tmp_path) as region:
        for group in ("g2", "g3"):
            region.run(f"group create -n {group} -l westus")
            region.run(f"network vnet create -g {group} -n net-{group} --tags team={group}")
        region.run("vm availability-set create -g g3 -n set")

        def names(*options: str) -> list[str]:
            return sorted(each["name"] for each in region.run("resource list", *options))

        assert names("-g", "g2") == ["net-g2"]
        assert names("-g", "g3") == ["net-g3", "set"]
        assert names("--resource-type", "Microsoft.Network/virtualNetworks") == ["net-g2", "net-g3"]
        assert names("--tag", "team=g3") == ["net-g3"]
        assert names("--name", "set") == ["set"]
