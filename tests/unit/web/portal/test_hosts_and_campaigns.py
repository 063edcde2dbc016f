"""Hosts and campaigns as pages: who lives where, who holds work back, and how far a campaign has come."""

from __future__ import annotations

import pytest

from tests.unit.web.portal.conftest import OpenPortal
from tests.unit.web.portal.regions import small

pytestmark = pytest.mark.anyio


async def test_a_host_shows_its_vms_with_their_scopes_and_who_holds_its_work_back(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "a", "read": True}, 201)
        await browser.ask("/v1/vms", {"name": "b", "availability_set": "front", "read": True}, 201)
        assert "No work is open on this host." in (await browser.page("/portal/hosts/host-0")).text
        told = await browser.ask("/v1/hosts/maintain", {"hosts": ["host-0"], "kind": "freeze"})
        waiting = {each["scope"]: each["id"] for each in told["events"]}
        assert set(waiting) == {"vm/a", "availability-set/front"}
        await browser.ask("/v1/events/approve", {"ids": [waiting["vm/a"]]}, 200)
        page = (await browser.page("/portal/hosts/host-0")).text
    assert "Still awaited: availability-set/front." in page
    assert "healthy" in page


async def test_hosts_are_filtered_as_the_api_filters_them(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        told = [each["name"] for each in (await browser.api("/v1/hosts", ud=0))["hosts"]]
        page = await browser.page("/portal/hosts?ud=0")
        links = [each.text for each in page.all("a") if each.attributes["href"].startswith("/portal/hosts/")]
    assert links == told != []


async def test_several_hosts_are_maintained_at_once_and_a_failure_wants_its_number(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "web", "count": 2, "availability_set": "front", "read": True}, 201)
        both = "host=host-0&host=host-1"
        assert (await browser.confirm(f"/portal/do/maintain?{both}&kind=reboot")).status_code == 303
        assert {event.host for event in browser.plane.region.events.values()} == {0, 1}
        before = browser.plane.region
        assert (await browser.confirm("/portal/do/fail?host=host-0")).status_code == 400
        assert browser.plane.region is before
        assert (await browser.confirm("/portal/do/fail?host=host-0", number="1")).status_code == 303
        assert browser.plane.region.hosts[0].health.value == "failed"


async def test_a_campaign_is_started_held_and_gone_on_with(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        assert "There are no campaigns yet" in (await browser.page("/portal/campaigns")).text
        await browser.ask("/v1/vms", {"name": "web", "count": 3, "availability_set": "front", "read": True}, 201)
        page = await browser.page("/portal/do/start-campaign")
        told = "3 waves over 3 hosts with 3 VMs, one update domain after the other. 1 event will be scheduled at once."
        assert told in page.text
        assert "If nobody acts, it ends at 13:15:27 UTC" in page.text
        assert not browser.plane.region.campaigns
        assert (await browser.confirm("/portal/do/start-campaign")).status_code == 303
        (campaign,) = browser.plane.region.campaigns
        shown = (await browser.page(f"/portal/campaigns/{campaign}")).text
        assert "0 done, 1 being worked on, 2 left; 3 VMs on them" in shown
        assert "waits for its approval by a VM of the scope, or until" in shown
        assert (await browser.confirm(f"/portal/do/pause-campaign?campaign={campaign}")).status_code == 303
        assert browser.plane.region.campaigns[campaign].state.value == "paused"
        assert "Resume" in (await browser.page(f"/portal/campaigns/{campaign}")).text
        assert (await browser.confirm(f"/portal/do/resume-campaign?campaign={campaign}")).status_code == 303
        assert browser.plane.region.campaigns[campaign].state.value == "running"
