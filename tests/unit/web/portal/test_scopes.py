"""Availability sets, cloud services and single scopes in the portal."""

from __future__ import annotations

import pytest

from tests.unit.web.portal.conftest import OpenPortal
from tests.unit.web.portal.regions import small

pytestmark = pytest.mark.anyio


async def test_a_scope_tells_who_reads_until_when_and_what_needs_no_approval(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = (await browser.page("/portal/scopes/availability-set/front")).text
        scope = await browser.api("/v1/scopes/availability-set/front")
    assert "Read since 12:00:00 UTC" in page
    assert "2026-01-02 12:00:00 UTC in 1 d 0 h" in page
    assert f"Incarnation {scope['incarnation']}" in page
    assert "web-0 running" in page
    assert "Reboot web-0" in page


async def test_its_vms_leads_to_the_vms_of_the_set_and_to_no_others(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page("/portal/scopes/availability-set/front")
        (link,) = [each.attributes["href"] for each in page.all("a") if each.text == "Its VMs"]
        listed = await browser.page(link)
        every = [each["name"] for each in (await browser.api("/v1/vms"))["vms"]]
    shown = [each.text for each in listed.all("td") if each.attributes.get("data-label") == "Name"]
    assert shown == ["web-0", "web-1", "web-2"]
    assert set(shown) < set(every)


async def test_a_policy_is_changed_after_its_confirmation_and_then_holds(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        before = browser.plane.seq
        path = "/portal/do/set-policy?kind=availability-set&name=front&auto_approve_reboot=On&all_instances_down=Off"
        page = await browser.page(path)
        assert "availability-set/front will approve restarts by users at once." in page.text
        assert browser.plane.seq == before

        assert (await browser.confirm(path)).status_code == 303

        policy = (await browser.api("/v1/scopes/availability-set/front"))["policy"]
    assert policy == {"auto_approve_reboot": True, "auto_approve_redeploy": False, "all_instances_down": False}


async def test_lists_show_their_kind_alone_and_teach_where_there_is_none(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        for path, command in (
            ("/portal/availability-sets", "forewarn vm create web --count 3 --availability-set front"),
            ("/portal/cloud-services", "forewarn vm create fe --count 2 --cloud-service shop --role FrontEnd"),
        ):
            assert command in (await browser.page(path)).text
        await small(browser)
        sets, services = await browser.page("/portal/availability-sets"), await browser.page("/portal/cloud-services")
    assert [each.attributes["id"] for each in sets.all("tr") if "id" in each.attributes] == ["scope-front"]
    assert [each.attributes["id"] for each in services.all("tr") if "id" in each.attributes] == ["scope-shop"]


async def test_a_scope_that_is_not_there_is_a_page_that_says_so(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        page = await browser.page("/portal/scopes/availability-set/nobody", 404)
    assert "nobody" in page.text
