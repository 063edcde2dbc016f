"""Doing something: a page says first what will happen, and that is what happens then."""

from __future__ import annotations

from datetime import datetime

import pytest
from playwright.sync_api import expect

from tests.e2e.program import ServerProgram
from tests.portal.conftest import Visit
from tests.portal.regions import FRONT, look, tell


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_confirmed_action_does_what_its_page_said(visit: Visit, server: ServerProgram, scripts: bool) -> None:
    tell(server, "/v1/vms", FRONT)
    with visit(scripts=scripts) as visitor:
        page = visitor.open("/portal/do/restart?vm=web-0&back=/portal/vms")
        assert look(server, "/v1/events")["events"] == []
        row = page.locator(".outlook tbody tr")
        told = [row.locator(f"[data-label='{name}']").inner_text() for name in ("Event", "VMs", "Seen by")]
        not_before = str(row.locator("time").get_attribute("datetime"))
        page.get_by_role("button", name="Restart").click()
        expect(page.locator(".notice.good")).to_contain_text("Done:")
        [event] = look(server, "/v1/events")["events"]
        assert told == [event["type"], ", ".join(event["vms"]), event["scope"]] == ["Reboot", "web-0", event["scope"]]
        assert datetime.fromisoformat(not_before) == datetime.fromisoformat(event["not_before"]).replace(microsecond=0)
        [latest] = look(server, "/v1/activity?limit=1")["activity"]
        assert latest["door"] == "portal"


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_what_is_refused_is_said_where_the_form_is_and_changes_nothing(
    visit: Visit, server: ServerProgram, scripts: bool
) -> None:
    tell(server, "/v1/vms", FRONT)
    before = look(server, "/v1/activity")["activity"]
    with visit(scripts=scripts) as visitor:
        page = visitor.open("/portal/do/evict?vm=web-0&back=/portal/vms")
        expect(page.locator(".notice.bad")).to_contain_text("Not possible:")
        expect(page.get_by_role("button", name="Evict")).to_have_count(0)
    assert look(server, "/v1/activity")["activity"] == before


def test_the_palette_leads_to_pages_and_finds_things_by_name(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", FRONT)
    with visit() as visitor:
        page = visitor.open()
        page.keyboard.press("Control+k")
        palette = page.get_by_role("dialog", name="Search or command")
        expect(palette.get_by_role("combobox")).to_be_focused()
        page.keyboard.type("vms")
        expect(palette.get_by_role("option").first).to_contain_text("VMs")
        visitor.assert_nothing_amiss()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Virtual machines")


def test_search_finds_by_a_part_of_a_name_without_scripts(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", FRONT)
    with visit(scripts=False) as visitor:
        page = visitor.open()
        page.get_by_role("link", name="Search or command").click()
        page.get_by_role("searchbox").fill("EB-3")
        page.get_by_role("button", name="Search").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody tr")).to_contain_text("web-3")
