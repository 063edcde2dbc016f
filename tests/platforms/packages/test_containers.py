"""``forewarn.testing.containers``: Testcontainers starts the image at podman's socket, and a test turns its clock."""

from __future__ import annotations

import json
import sys

import pytest

from tests.platforms.docker.daemons import Daemon
from tests.platforms.packages.built import NAME, run

pytestmark = pytest.mark.timeout(1800)

# Of one who tests: the published ports are in the engine's namespaces, so the test is there, too.
_BEGIN = f"""
import json, os, sys, urllib.request
from docker.types import Ulimit
from forewarn.guest import Client
from forewarn.testing.containers import ForewarnContainer, RegionRefused

region = ForewarnContainer({NAME!r}, vms=("web-0", "web-1"))
limits = (Ulimit(name="nofile", soft=1024, hard=1024), Ulimit(name="nproc", soft=4096, hard=4096))
region.container.with_kwargs(ulimits=[*limits])
"""
_APPROVE = """
with region:
    event = region.restart("web-0")
    with Client(region.vm_url("web-0")) as client:
        document = client.document()
        client.approve(document.events[0].event_id)
    approved = region.event(event)
    region.advance("1h")
    story = region.event(event)
    try:
        region.ask("POST", "/v1/vms/restart", {"names": ["nobody"]})
    except RegionRefused as refusal:
        refused = str(refusal)
    ports = region.container.get_wrapped_container().ports
    told = region.environment("web-1")
print(json.dumps({"event": event, "approved": approved, "story": story, "refused": refused, "ports": ports,
    "told": told, "token": region.token}))
"""
_FAIL = """
region.container.with_env("FOREWARN_CLOCK", "sundial").with_command(["serve", "--ready", "json"])
with region:
    pass
"""


def _script(engine: Daemon, text: str, status: int | None = 0) -> str:
    line = [*engine.inside, sys.executable, "-c", _BEGIN + text]
    at, without = f"unix://{engine.path}", "true"  # its cleaner, whose image is elsewhere
    done = run(line, status=status, DOCKER_HOST=at, TESTCONTAINERS_RYUK_DISABLED=without)
    return done.stdout if status == 0 else done.stderr


def test_a_test_has_a_region_in_a_container_and_turns_its_clock(engine: Daemon) -> None:
    told = json.loads(_script(engine, _APPROVE).splitlines()[-1])

    assert told["approved"]["approved_by"] == "web-0"
    assert told["approved"]["in_time"] is True
    assert told["story"]["phase"] == "completed"
    assert "nobody" in told["refused"]
    assert told["told"]["FOREWARN_ENDPOINT"].endswith("/vm/web-1")
    assert told["told"]["FOREWARN_TOKEN"] == told["token"] != ""
    published = {at["HostIp"] for ways in told["ports"].values() if ways for at in ways}
    assert published == {"127.0.0.1"}, "whoever reaches the metadata port can be any VM"
    assert engine.names() == []


def test_a_region_that_cannot_start_says_why_and_leaves_nothing(engine: Daemon) -> None:
    said = _script(engine, _FAIL, status=1)

    assert "'sundial' is not a clock" in said
    assert engine.names() == []
