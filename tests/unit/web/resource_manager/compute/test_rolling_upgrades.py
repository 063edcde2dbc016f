"""Rolling upgrades as clients ask for them and are told of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.web.resource_manager.compute.bench import Bench, scale_set_body

pytestmark = pytest.mark.anyio
SET = "virtualMachineScaleSets/web"
LATEST = f"{SET}/rollingUpgrades/latest"


def body(mode: str = "Rolling", **batches: Any) -> dict[str, Any]:
    policy = {"maxBatchInstancePercent": 50, "pauseTimeBetweenBatches": "PT5M", **batches}
    return scale_set_body(4, upgradePolicy={"mode": mode, "rollingUpgradePolicy": policy})


async def told(bench: Bench) -> tuple[str, str, int, int]:
    shown = (await bench.get(LATEST))["properties"]
    status, progress = shown["runningStatus"], shown["progress"]
    return (
        status["code"],
        status["lastAction"],
        progress["successfulInstanceCount"],
        progress["pendingInstanceCount"],
    )


async def test_a_new_model_of_a_rolling_set_is_told_batch_by_batch(bench: Bench) -> None:
    await bench.put(SET, body(), 201)
    assert (await bench.refused(404, "GET", LATEST))["code"] == "NotFound"

    await bench.ok("PATCH", SET, {"sku": {"name": "Standard_F2", "capacity": 4}})

    assert await told(bench) == ("RollingForward", "Start", 2, 2)
    shown = await bench.get(f"{SET}/virtualMachines")
    assert [each["properties"]["latestModelApplied"] for each in shown["value"]] == [True, True, False, False]
    await bench.advance(minutes=5)
    assert await told(bench) == ("Completed", "Start", 4, 0)


async def test_a_rolling_upgrade_is_started_and_canceled(bench: Bench) -> None:
    await bench.put(SET, body("Manual"), 201)
    assert "no rolling upgrade" in (await bench.refused(409, "POST", f"{SET}/rollingUpgrades/cancel"))["message"]
    await bench.ok("PATCH", SET, {"sku": {"name": "Standard_F2", "capacity": 4}})

    await bench.begin("POST", f"{SET}/osRollingUpgrade")
    assert await told(bench) == ("RollingForward", "Start", 2, 2)
    assert "in progress" in (await bench.refused(409, "POST", f"{SET}/osRollingUpgrade"))["message"]
    await bench.begin("POST", f"{SET}/rollingUpgrades/cancel")

    assert await told(bench) == ("Cancelled", "Cancel", 2, 0)
    await bench.advance(hours=1)
    shown = await bench.get(f"{SET}/virtualMachines")
    assert [each["properties"]["latestModelApplied"] for each in shown["value"]] == [True, True, False, False]


@pytest.mark.parametrize(
    ("batches", "member"),
    [
        ({"maxBatchInstancePercent": 4}, "maxBatchInstancePercent"),
        ({"maxBatchInstancePercent": 101}, "maxBatchInstancePercent"),
        ({"pauseTimeBetweenBatches": "soon"}, "pauseTimeBetweenBatches"),
        ({"pauseTimeBetweenBatches": "P8D"}, "pauseTimeBetweenBatches"),
    ],
)
async def test_impossible_batch_sizes_and_pauses_are_refused(
    bench: Bench, batches: dict[str, Any], member: str
) -> None:
    error = await bench.refused(400, "PUT", SET, body(**batches))

    assert error["target"] == f"properties.upgradePolicy.rollingUpgradePolicy.{member}"
