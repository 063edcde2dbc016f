"""Fault rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


async def test_a_fault_rule_is_added_listed_and_cleared(bench: Bench) -> None:
    await bench.create("Web", count=2)

    rule = await bench.post("/v1/faults", {"kind": "throttled", "vms": ["web-0", "WEB-0"], "times": 3}, 201)
    late = await bench.post("/v1/faults", {"kind": "delay", "share": 0.5, "delay_seconds": 2}, 201)

    assert rule | {"id": ""} == {
        "id": "",
        "kind": "throttled",
        "vms": ["Web-0"],
        "times": 3,
        "share": None,
        "delay_seconds": 0,
        "answered": 0,
    }
    assert (late["vms"], late["share"], late["delay_seconds"]) == ([], 0.5, 2)
    assert (await bench.get("/v1/faults"))["faults"] == [rule, late]
    assert (await bench.client.delete(f"/v1/faults/{rule['id']}")).json() == {"cleared": 1}
    assert (await bench.get("/v1/faults"))["faults"] == [late]
    assert (await bench.client.delete("/v1/faults")).json() == {"cleared": 1}
    assert (await bench.get("/v1/faults"))["faults"] == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"kind": "flood"},
        {"kind": "gone", "times": 0},
        {"kind": "gone", "times": 1.5},
        {"kind": "gone", "share": 0},
        {"kind": "gone", "share": 1.5},
        {"kind": "gone", "share": "half"},
        {"kind": "gone", "delay_seconds": 1},
        {"kind": "delay"},
        {"kind": "delay", "delay_seconds": -1},
        {"kind": "delay", "delay_seconds": 1e9},
        {"kind": "gone", "vms": "web"},
        {"kind": "gone", "vm": ["web"]},
    ],
)
async def test_a_fault_rule_that_makes_no_sense_is_refused(bench: Bench, body: dict[str, Any]) -> None:
    await bench.refused(400, "POST", "/v1/faults", body)
    assert (await bench.get("/v1/faults"))["faults"] == []


async def test_a_fault_rule_about_an_unknown_vm_is_refused(bench: Bench) -> None:
    assert "'web'" in await bench.refused(404, "POST", "/v1/faults", {"kind": "gone", "vms": ["web"]})
    assert "17" in await bench.refused(404, "DELETE", "/v1/faults/17")
