"""Hosts and campaigns as pages: who lives where, who holds work back, and how far a campaign has come."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.unit.web.portal.conftest import Browser, OpenPortal
from tests.unit.web.portal.regions import small
from tests.unit.web.portal.visitor import read

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
        page = await browser.page("/portal/hosts/host-0")
        (told,) = [each for each in page.all("p") if "Still awaited:" in each.text]
    assert [each.text for each in told.all("a")] == ["availability-set/front"]
    assert "healthy" in page.text


async def _work_of_three_scopes(browser: Browser) -> dict[str, Any]:
    """Of one host: the id of the event of each scope that lives there."""
    await browser.ask("/v1/vms", {"name": "a", "read": True}, 201)
    await browser.ask("/v1/vms", {"name": "b", "availability_set": "front", "read": True}, 201)
    await browser.ask("/v1/vms", {"name": "c", "availability_set": "data", "read": True}, 201)
    told = await browser.ask("/v1/hosts/maintain", {"hosts": ["host-0"], "kind": "freeze"})
    found = {each["scope"]: each["id"] for each in told["events"]}
    assert set(found) == {"vm/a", "availability-set/front", "availability-set/data"}
    return found


async def _awaited(browser: Browser, event_id: str) -> tuple[str, list[str]]:
    """What the page of an event says about whom it waits for, and the events that it leads to from there."""
    html = (await browser.client.get(f"/portal/events/{event_id}")).text
    found = re.search(r"<p>Awaited:.*?</p>", html, re.DOTALL)
    told = found[0] if found else ""
    links = [each.attributes["href"].rpartition("/")[2] for each in read(told).all("a")]
    return " ".join(re.sub("<[^>]*>", "", told).replace("&#39;", "'").split()), links


async def test_an_event_names_its_own_scope_first_and_who_has_approved_of_how_many(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        work = await _work_of_three_scopes(browser)
        own, other, third = (work[each] for each in ("availability-set/front", "vm/a", "availability-set/data"))
        at_first, leads_at_first = await _awaited(browser, own)
        await browser.ask("/v1/events/approve", {"ids": [other]}, 200)
        later = await _awaited(browser, own)
        await browser.ask("/v1/events/approve", {"ids": [own]}, 200)
        own_given = await _awaited(browser, own)
        await browser.ask("/v1/events/approve", {"ids": [third]}, 200)
        started = await _awaited(browser, own)
    assert at_first.startswith("Awaited: 3 of the 3 events of host-0's work: availability-set/front (b), ")
    assert "availability-set/data (c)" in at_first
    assert "vm/a (a)" in at_first
    assert set(leads_at_first) == {other, third}
    told = (
        "Awaited: 2 of the 3 events of host-0's work: availability-set/front (b), availability-set/data (c). "
        "Approved: vm/a (a). It starts with the last of them, or at 12:15:00 UTC."
    )
    assert later == (told, [third, other])
    told = (
        "Awaited: 1 of the 3 events of host-0's work: availability-set/data (c). "
        "Approved: availability-set/front (b), vm/a (a). It starts with the last of them, or at 12:15:00 UTC."
    )
    assert own_given == (told, [third, other])
    assert started == ("", [])


async def test_an_event_that_stands_alone_waits_for_its_own_approval(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        (event,) = (await browser.api("/v1/events", vm="web-0", type="Reboot"))["events"]
        told = await _awaited(browser, event["id"])
    assert told == ("Awaited: availability-set/front (web-0). It starts with its approval, or at 12:15:00 UTC.", [])


async def test_the_list_of_events_says_of_each_whom_it_waits_for(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        work = await _work_of_three_scopes(browser)
        await browser.ask("/v1/vms/restart", {"names": ["c"]})
        await browser.ask("/v1/events/approve", {"ids": [work["vm/a"]]}, 200)
        page = await browser.page("/portal/events")
    rows = {each.attributes["id"].removeprefix("event-").upper(): each for each in page.all("tr") if each.all("td")}
    told = {
        key: next(cell.text for cell in row.all("td") if cell.attributes.get("data-label") == "Awaited")
        for key, row in rows.items()
    }
    assert told.pop(work["vm/a"].upper()) == "2 other events"
    assert told.pop(work["availability-set/front"].upper()) == "its approval and 1 other event"
    assert told.pop(work["availability-set/data"].upper()) == "its approval and 1 other event"
    assert list(told.values()) == ["its approval"]


async def test_the_page_of_an_event_hears_of_those_that_it_waits_for(open_portal: OpenPortal) -> None:
    """Each of them is something that the part of the page lives by, so that its words are not left behind."""
    async with open_portal() as browser:
        work = await _work_of_three_scopes(browser)
        page = await browser.page(f"/portal/events/{work['vm/a']}")
    (part,) = [each for each in page.walk() if each.attributes.get("id") == "part-event"]
    assert {f"event/{each}" for each in work.values()} <= set(part.attributes["data-live"].split())


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
