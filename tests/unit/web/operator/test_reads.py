"""A VM reads on purpose: its scope is enabled, the answer is its document, and the journal knows who asked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from forewarn.web.metadata.answering.cache import DocumentCache
from forewarn.wire.versions import API_VERSIONS, NEWEST

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio


async def _facts(bench: Bench) -> list[tuple[str, str, str]]:
    records = (await bench.get("/v1/journal"))["records"]
    return [(each["fact"], each["subject"], each["door"]) for each in records]


async def test_a_read_enables_the_scope_and_the_next_operation_waits(bench: Bench) -> None:
    await bench.create("web", count=2, availability_set="front")

    read = await bench.post("/v1/vms/WEB-0/read")
    restarted = await bench.post("/v1/vms/restart", {"names": ["web-1"]}, 202)

    assert read == {
        "vm": "web-0",
        "scope": "availability-set/front",
        "enabled": True,
        "api_version": "2020-07-01",
        "dry_run": False,
        "document": {"DocumentIncarnation": 1, "Events": []},
    }
    assert [event["phase"] for event in restarted["events"]] == ["scheduled"]


async def test_a_read_is_in_the_journal_with_its_door_also_where_the_scope_was_enabled(bench: Bench) -> None:
    await bench.create("db")
    await bench.post("/v1/vms/db/read", {})
    await bench.post("/v1/clock/advance", {"seconds": 60})

    again = await bench.post("/v1/vms/db/read", {})

    assert again["enabled"] is False
    assert [fact for fact in await _facts(bench) if fact[0].startswith("Scope")] == [
        ("ScopeEnabled", "vm/db", "operator"),
        ("ScopeRead", "vm/db", "operator"),
    ]


async def test_the_document_is_the_one_that_a_guest_of_the_version_sees(bench: Bench) -> None:
    await bench.create("db")
    await bench.post("/v1/vms/db/read")
    (event,) = (await bench.post("/v1/vms/restart", {"names": ["db"]}, 202))["events"]

    newest = await bench.post("/v1/vms/db/read")
    oldest = await bench.post("/v1/vms/db/read?api-version=2017-03-01")

    shown: dict[str, Any] = {
        "EventId": event["id"],
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["db"],
        "NotBefore": "Thu, 01 Jan 2026 12:15:00 GMT",
        "Description": "Virtual machine is going to be restarted as requested by authorized user.",
        "EventSource": "User",
        "DurationInSeconds": -1,
    }
    assert newest["document"] == {"DocumentIncarnation": 2, "Events": [shown]}
    assert oldest["document"]["Events"][0]["Resources"] == ["_db"]


async def test_the_document_is_written_as_the_metadata_face_of_the_server_is_told_to(bench: Bench) -> None:
    bench.app.state.desk = replace(bench.app.state.desk, not_before_format="iso8601")
    await bench.create("db")
    await bench.post("/v1/vms/db/read")
    await bench.post("/v1/vms/restart", {"names": ["db"]}, 202)

    read = await bench.post("/v1/vms/db/read")
    told = DocumentCache("iso8601").served(bench.plane.region, bench.plane.region.scopes["vm/db"], NEWEST)

    assert read["document"]["Events"][0]["NotBefore"] == "2026-01-01T12:15:00Z"
    assert told.whole.after.endswith(json.dumps(read["document"], separators=(",", ":")).encode())


async def test_a_read_for_an_unknown_vm_or_in_an_unknown_version_is_refused(bench: Bench) -> None:
    await bench.create("db")

    assert "no VM named 'nobody'" in await bench.refused(404, "POST", "/v1/vms/nobody/read")
    sentence = await bench.refused(400, "POST", "/v1/vms/db/read?api-version=2021-01-01")

    assert "2021-01-01" in sentence
    assert all(version.date in sentence for version in API_VERSIONS)


async def test_vms_that_read_when_they_are_made_are_never_without_a_reader(bench: Bench) -> None:
    await bench.create("web", count=3, availability_set="front", read=True)
    await bench.create("lone", count=2, read=True)

    scopes = {scope["key"]: scope["enabled_at"] for scope in (await bench.get("/v1/scopes"))["scopes"]}
    requests = (await bench.get("/v1/activity"))["activity"]

    assert set(scopes) == {"availability-set/front", "vm/lone-0", "vm/lone-1"}
    assert all(scopes.values())
    assert [each["text"] for each in requests] == ["create VMs", "create VMs"]


async def test_nothing_is_made_or_read_where_a_name_is_refused(bench: Bench) -> None:
    await bench.create("web-1")

    await bench.refused(409, "POST", "/v1/vms", {"name": "web", "count": 3, "read": True})
