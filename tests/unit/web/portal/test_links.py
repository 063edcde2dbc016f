"""Names on pages lead where people who know Azure's portal expect: to the thing that they name."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.specs import VmSpec
from forewarn.plane.ports import Origin
from tests.unit.web.portal.conftest import OpenPortal
from tests.unit.web.portal.regions import small
from tests.unit.web.portal.visitor import Element

pytestmark = pytest.mark.anyio


def _links(page: Element, part: str) -> dict[str, str]:
    """Of that part of the page: its words, and where they lead."""
    (found,) = [each for each in page.walk() if each.attributes.get("id") == part]
    return {each.text: each.attributes["href"] for each in found.all("a")}


async def test_a_vm_leads_to_its_scope_its_host_and_its_scale_set(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        of_a_set, alone = await browser.page("/portal/vms/pool_0"), await browser.page("/portal/vms/web-0")
        instance, told = await browser.api("/v1/vms/pool_0"), await browser.api("/v1/vms/web-0")
    assert _links(of_a_set, "part-vm-tab")["pool"] == "/portal/scale-sets/pool"
    assert _links(of_a_set, "part-vm-state")[instance["host"]] == f"/portal/hosts/{instance['host']}"
    head = _links(alone, "part-vm-state")
    assert head == {
        "availability-set/front": "/portal/scopes/availability-set/front",
        told["host"]: f"/portal/hosts/{told['host']}",
    }


async def test_the_deletion_of_an_instance_leads_to_its_set_and_of_another_vm_to_the_deed(
    open_portal: OpenPortal,
) -> None:
    async with open_portal() as browser:
        await small(browser)
        for vm, address in (("pool_0", "/portal/scale-sets/pool"), ("web-0", "/portal/do/delete?vm=web-0")):
            page = await browser.page(f"/portal/vms/{vm}")
            (link,) = [each for each in page.all("a") if each.text.startswith("Delete")]
            assert link.attributes["href"].startswith(address)


async def test_an_event_leads_to_its_scope_its_host_and_its_campaign(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "web", "count": 3, "availability_set": "front", "read": True}, 201)
        campaign = (await browser.ask("/v1/campaigns", {"kind": "freeze"}, 201))["id"]
        (event,) = (await browser.api("/v1/events"))["events"]
        page = await browser.page(f"/portal/events/{event['id']}")
        found = _links(page, "part-event")
        for address in found.values():
            assert (await browser.client.get(address)).status_code == 200, address
    assert found[event["host"]] == f"/portal/hosts/{event['host']}"
    assert found[campaign] == f"/portal/campaigns/{campaign}"
    assert found["availability-set/front"] == "/portal/scopes/availability-set/front"


async def test_an_event_whose_vm_is_gone_leads_to_no_scope_that_is_not_there(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "lone", "read": True}, 201)
        event = (await browser.ask("/v1/vms/restart", {"names": ["lone"]}))["events"][0]["id"]
        before = _links(await browser.page(f"/portal/events/{event}"), "part-event")
        await browser.ask("/v1/vms/delete", {"names": ["lone"]})
        after = await browser.page(f"/portal/events/{event}")
    assert before["vm/lone"] == "/portal/scopes/vm/lone"
    assert "vm/lone" in after.text
    assert "vm/lone" not in _links(after, "part-event")


async def test_a_host_leads_to_the_scopes_that_are_awaited(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "a", "read": True}, 201)
        await browser.ask("/v1/vms", {"name": "b", "availability_set": "front", "read": True}, 201)
        await browser.ask("/v1/hosts/maintain", {"hosts": ["host-0"], "kind": "freeze"})
        page = await browser.page("/portal/hosts/host-0")
        (told,) = [each for each in page.all("p") if "Still awaited" in each.text]
        found = {each.text: each.attributes["href"] for each in told.all("a")}
        for address in found.values():
            assert (await browser.client.get(address)).status_code == 200
    assert found == {
        "vm/a": "/portal/scopes/vm/a",
        "availability-set/front": "/portal/scopes/availability-set/front",
    }


async def test_a_line_of_several_events_leads_to_the_list_of_them(open_portal: OpenPortal) -> None:
    names, operator = tuple(f"many-{number}" for number in range(1_200)), Origin("operator")
    async with open_portal() as browser:
        plane = browser.plane
        await plane.submit(c.CreateVms(names, VmSpec(), "seed"), operator)
        await plane.submit(c.Pulse(tuple((name, plane.now()) for name in names)), operator)
        campaign = (await browser.ask("/v1/campaigns", {"kind": "freeze"}, 201))["id"]
        hosts = [host.name for host in plane.region.hosts.values() if host.update_domain]
        await plane.submit(c.MaintainHosts(tuple(hosts), Cause.REDEPLOY, "hosts"), operator)
        await plane.read_models.at_hand()
        cohorts = _links(await browser.page("/portal/"), "part-coming")
        filters = {
            "Redeploy, ": {"type": "Redeploy"},
            "Freeze, ": {"type": "Freeze", "campaign": campaign},
        }
        assert len(plane.region.events) > 1_000
        for words, wanted in filters.items():
            (address,) = [each for text, each in cohorts.items() if text.startswith(words)]
            listed = [each.attributes["id"] for each in (await browser.page(address)).all("tr")[1:]]
            told = (await browser.api("/v1/events", limit=50, order="not_before", **wanted))["events"]
            assert listed == [f"event-{each['id'].lower()}" for each in told] != []


async def test_a_line_of_alike_events_leads_to_the_list_of_them(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "web", "count": 60, "read": True}, 201)
        await browser.ask("/v1/vms", {"name": "db", "read": True}, 201)
        await browser.ask("/v1/vms/redeploy", {"names": ["db"]})
        hosts = {vm["host"] for vm in (await browser.api("/v1/vms", name="web"))["vms"]}
        events = (await browser.ask("/v1/hosts/maintain", {"hosts": sorted(hosts)[:11], "kind": "freeze"}))["events"]
        found = _links(await browser.page("/portal/"), "part-coming")
        listed = await browser.page(found[f"Freeze, {len(events)} events"])
    rows = {row.attributes["id"]: row.all("a")[0].text for row in listed.all("tr")[1:]}
    assert rows == {f"event-{each['id'].lower()}": "Freeze" for each in events}
    assert len(rows) > 40
