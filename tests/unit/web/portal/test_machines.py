"""Pages that know real machines: the list, a VM, its host, and an event with what was asked of the engine."""

from __future__ import annotations

import pytest

from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinHosts
from forewarn.plane.hands.settings import MachineHost, Machines
from tests.unit.web.portal.conftest import open_portal
from tests.waiting import until_in_loop

pytestmark = pytest.mark.anyio


async def test_a_region_without_engines_says_where_they_are_declared(anyio_backend: str) -> None:
    async with open_portal() as browser:
        told = (await browser.client.get("/portal/machines")).text

    assert "All VMs are pretended" in told
    assert "forewarn settings --example" in told


async def test_machines_hosts_and_errands_are_shown_where_a_person_looks(anyio_backend: str) -> None:
    platform = TwinHosts(("rack-1", "rack-2"))
    platform.put("web-0", "rack-1")
    platform.put("<b>db</b>", "rack-1")
    engine = TwinEngine(platform, "boxes")
    hosts = tuple(
        MachineHost(name, engine, "" if name == "rack-1" else "far", kind="docker") for name in platform.names
    )
    async with open_portal(machines=Machines(hosts, node="here"), alone=True) as browser:
        await browser.ask("/v1/hosts/add", {"name": "rack-1"}, 201)
        await browser.ask("/v1/machines/adopt", {"host": "rack-1", "ref": "web-0"}, 201)
        await browser.ask("/v1/vms/restart", {"names": ["web-0"]})
        await until_in_loop(lambda: not browser.plane.region.errands)
        mark = platform.copies("web-0")[0].mark

        machines = (await browser.client.get("/portal/machines?unadopted=yes")).text
        vm = (await browser.client.get("/portal/vms/web-0")).text
        host = (await browser.client.get("/portal/hosts/rack-1")).text
        facts = [record.fact for record in browser.plane.journal.read(0, 1000)]
        event = next(fact.errand.event for fact in facts if hasattr(fact, "errand"))
        story = (await browser.client.get(f"/portal/events/{event}")).text

    assert "rack-1/web-0" in machines
    assert "rack-1/&lt;b&gt;db&lt;/b&gt; --dry-run" in machines
    assert "forewarn host add rack-2" in machines
    assert "is reached from node &#39;far&#39; only" in machines
    assert "rack-1/web-0" in vm
    assert mark in vm
    assert "boxes" in host
    assert "What was asked of engines" in story
    assert "restart" in story


async def test_hosts_that_are_drained_silent_or_gone_are_shown_and_found_as_such(anyio_backend: str) -> None:
    """A drained host was once no byte of the map: with it, every list and the overview failed."""
    platform = TwinHosts(("rack-1", "rack-2", "rack-3", "rack-4"))
    platform.put("web-0", "rack-1")
    engine = TwinEngine(platform, "boxes")
    hosts = tuple(MachineHost(name, engine, kind="docker") for name in platform.names)
    async with open_portal(machines=Machines(hosts), alone=True) as browser:
        for host in hosts:
            await browser.ask("/v1/hosts/add", {"name": host.name}, 201)
        await browser.ask("/v1/machines/adopt", {"host": "rack-1", "ref": "web-0"}, 201)
        await browser.client.get("/portal/")  # counts are kept up from here on
        await browser.ask("/v1/hosts/drain", {"name": "rack-1"}, 202)
        await browser.ask("/v1/hosts/drain", {"name": "rack-3"}, 202)
        await browser.ask("/v1/hosts/remove", {"name": "rack-4"}, 202)

        overview = (await browser.client.get("/portal/")).text
        found = {
            health: (await browser.client.get(f"/portal/hosts?q=health:{health}")).text
            for health in ("draining", "left", "silent", "fenced", "healthy")
        }

    assert "2 draining" in overview
    assert "1 left" in overview
    shown = {health: [name for name in platform.names if f">{name}<" in told] for health, told in found.items()}
    assert shown == {
        "draining": ["rack-1", "rack-3"],
        "left": ["rack-4"],
        "silent": [],
        "fenced": [],
        "healthy": ["rack-2"],
    }
