"""The switch for Event Grid and Resource Graph: kept, told back, and warned of; never refused, for az sends it back."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.core.facts import ResourceKept
from forewarn.web.operator.history.activity_words import outcome_of_facts
from forewarn.web.unpublished import WARNING
from tests.unit.web.resource_manager.bench import RG, Bench

pytestmark = pytest.mark.anyio

SET = f"{RG}/providers/Microsoft.Compute/availabilitySets/front"


def publishing(enable: bool) -> dict[str, Any]:
    targets = {"eventGridAndResourceGraph": {"scheduledEventsApiVersion": "2020-07-01", "enable": enable}}
    policy = {"scheduledEventsAdditionalPublishingTargets": targets}
    return {"location": "westus", "sku": {"name": "Aligned"}, "properties": {"scheduledEventsPolicy": policy}}


async def test_who_turns_it_on_is_warned_in_the_answer_and_in_activity(bench: Bench) -> None:
    await bench.group()
    before = bench.plane.seq
    quiet = await bench.client.put(f"{SET}?api-version=2025-04-01", json=publishing(False))
    between = bench.plane.seq
    warned = await bench.client.put(f"{SET}?api-version=2025-04-01", json=publishing(True))

    assert (quiet.status_code, warned.status_code) == (200, 200), warned.text
    assert "Warning" not in quiet.headers
    assert warned.headers["Warning"] == f'299 forewarn "{WARNING}"'
    assert (
        warned.json()["properties"]["scheduledEventsPolicy"] == publishing(True)["properties"]["scheduledEventsPolicy"]
    )
    kept = {
        seq: [each.fact for each in bench.plane.journal.read(seq, 100) if isinstance(each.fact, ResourceKept)]
        for seq in (before, between)
    }
    assert outcome_of_facts(kept[between], lambda _: None) == WARNING
    assert WARNING not in outcome_of_facts(kept[before][:1], lambda _: None)


async def test_what_is_refused_is_not_warned_of(bench: Bench) -> None:
    await bench.group()
    answer = await bench.client.put(f"{SET}?api-version=2025-04-01", json={**publishing(True), "location": 7})
    assert answer.status_code == 400
    assert "Warning" not in answer.headers
