"""``az vmss rolling-upgrade`` starts, cancels and tells the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.az_region import IMAGE, PASSWORD, AzRegion

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def told(region: AzRegion) -> tuple[str, int, int]:
    shown: Any = region.run("vmss rolling-upgrade get-latest -g g -n web")
    progress = shown["progress"]
    return shown["runningStatus"]["code"], progress["successfulInstanceCount"], progress["pendingInstanceCount"]


def test_a_rolling_upgrade_by_az(tmp_path: Path) -> None:
    with AzRegion.start(tmp_path) as region:
        region.run("group create -n g -l westus")
        mode = ("--orchestration-mode", "Uniform", "--upgrade-policy-mode", "rolling", "--instance-count", "4")
        batches = ("--max-batch-instance-percent", "50", "--pause-time-between-batches", "PT10M")
        region.run("vmss create -g g -n web", *IMAGE, *PASSWORD, *mode, *batches)
        assert "NotFound" in region.refused("vmss rolling-upgrade get-latest -g g -n web", status=3)
        assert "no rolling upgrade" in region.refused("vmss rolling-upgrade cancel -g g -n web")

        region.run("vmss update -g g -n web --set sku.name=Standard_F2s_v2")
        assert told(region) == ("RollingForward", 2, 2)
        region.pass_minutes(10)
        assert told(region) == ("Completed", 4, 0)

        region.run("vmss update -g g -n web --set sku.name=Standard_B2s")
        region.run("vmss rolling-upgrade cancel -g g -n web")
        assert told(region) == ("Cancelled", 2, 0)
        region.run("vmss rolling-upgrade start -g g -n web")
        assert told(region) == ("Completed", 2, 0)
