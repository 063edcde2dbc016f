"""What stands in a region before somebody looks at it, made through the operator API."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.program import ServerProgram, ask

FRONT = {"name": "web", "count": 6, "availability_set": "front", "read": True}


def tell(server: ServerProgram, path: str, body: Any, method: str = "POST") -> Any:
    """A write that must succeed; what came of it."""
    answer = ask(server.control, path, {"Content-Type": "application/json"}, method, json.dumps(body).encode())
    assert answer.status in (200, 201, 202), (path, answer.status, answer.body)
    return json.loads(answer.body)


def look(server: ServerProgram, path: str) -> Any:
    answer = ask(server.control, path, {})
    assert answer.status == 200, (path, answer.status, answer.body)
    return json.loads(answer.body)


def something_of_everything(server: ServerProgram) -> None:
    """VMs of every kind in every state, events in several phases, a host in trouble, a campaign on its way."""
    for path, body in (
        ("/v1/vms", FRONT),
        ("/v1/vms", {"name": "db", "count": 2, "availability_set": "data", "read": True}),
        ("/v1/vms", {"name": "batch", "count": 2, "spot": True}),
        ("/v1/vms", {"name": "role", "cloud_service": "shop", "role": "Worker", "count": 2}),
        ("/v1/vms", {"name": "old", "terminate_notice_seconds": 600, "tags": {"owner": "anna", "since": "2019"}}),
        ("/v1/scale-sets", {"name": "pool", "capacity": 3}),
        ("/v1/campaigns", {"kind": "freeze", "hosts": ["host-0", "host-1"]}),
        ("/v1/vms/deallocate", {"names": ["old"]}),
        ("/v1/vms/restart", {"names": ["web-0"]}),
        ("/v1/vms/redeploy", {"names": ["web-1"]}),
        ("/v1/hosts/maintain", {"hosts": ["host-3"], "kind": "freeze"}),
        ("/v1/faults", {"kind": "throttled", "vms": ["web-2"], "times": 3}),
    ):
        tell(server, path, body)
    event = next(each for each in server.document("web-0")["Events"] if each["EventType"] == "Reboot")
    assert server.approve("web-0", event["EventId"]).status == 200


def a_busy_afternoon(server: ServerProgram) -> None:
    """For pictures: a region like those that people have, with something coming, and a campaign in its second wave."""
    for path, body in (
        ("/v1/vms", {"name": "web", "count": 6, "availability_set": "front", "read": True}),
        ("/v1/vms", {"name": "db", "count": 3, "availability_set": "data", "read": True}),
        ("/v1/vms", {"name": "worker", "cloud_service": "shop", "role": "Worker", "count": 4}),
        ("/v1/vms", {"name": "batch", "count": 4, "spot": True, "read": True}),
        ("/v1/scale-sets", {"name": "pool", "capacity": 5}),
        ("/v1/campaigns", {"kind": "live-migration", "scopes": ["availability-set/front"]}),
    ):
        tell(server, path, body)
    first_wave = [event["id"] for event in look(server, "/v1/events")["events"]]
    tell(server, "/v1/events/approve", {"ids": first_wave})
    while {event["id"] for event in look(server, "/v1/events")["events"]} <= set(first_wave):
        tell(server, "/v1/clock/next", None)
    for path, deed in (
        ("/v1/vms/deallocate", {"names": ["batch-3"]}),
        ("/v1/vms/evict", {"names": ["batch-1"]}),
        ("/v1/vms/restart", {"names": ["web-0"]}),
        ("/v1/vms/redeploy", {"names": ["db-2"]}),
        ("/v1/hosts/maintain", {"hosts": ["host-4"], "kind": "freeze"}),
    ):
        tell(server, path, deed)
    restart = next(each for each in server.document("web-0")["Events"] if each["EventType"] == "Reboot")
    tell(server, "/v1/clock/advance", {"seconds": 15})
    assert server.approve("web-1", restart["EventId"]).status == 200
