"""Records of the journal as the operator's face tells them."""

from __future__ import annotations

from datetime import UTC, datetime

from forewarn.core.machines.facts import MachineDefined
from forewarn.plane.ports import Origin, Record
from forewarn.web.operator.records import record_fields


def test_how_to_make_a_machine_again_is_not_told() -> None:
    fact = MachineDefined(datetime(2026, 1, 1, tzinfo=UTC), "web", '{"Env": ["PASSWORD=secret"]}')
    told = record_fields(Record(1, fact, "Sight", Origin("driver")))
    assert "secret" not in str(told)
    assert told.body["vm"] == "web"
