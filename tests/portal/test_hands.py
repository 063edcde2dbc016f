"""Getting about: by keyboard, by thumb, and with scripts switched off."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.program import ServerProgram
from tests.portal.browser import LAPTOP, PHONE
from tests.portal.conftest import Visit
from tests.portal.regions import FRONT, tell


def test_two_keys_open_a_page_and_a_question_mark_lists_all_shortcuts(visit: Visit, server: ServerProgram) -> None:
    with visit() as visitor:
        page = visitor.open()
        page.keyboard.press("?")
        keys = page.get_by_role("dialog", name="Keys")
        expect(keys).to_contain_text("Search or command")
        page.keyboard.press("Escape")
        expect(keys).to_have_count(0)
        page.keyboard.type("gv")
        expect(page.get_by_role("heading", level=1)).to_have_text("Virtual machines")


def test_single_keys_that_are_switched_off_do_nothing(visit: Visit, server: ServerProgram) -> None:
    with visit() as visitor:
        visitor.context.add_cookies([{"name": "forewarn-look", "value": "keys=off", "url": server.control}])
        page = visitor.open()
        page.keyboard.type("?gv")
        page.wait_for_function("() => document.documentElement.classList.contains('scripted')")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_the_palette_turns_the_clock_of_the_overview(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", FRONT)
    with visit() as visitor:
        page = visitor.open()
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").fill("clock +15")
        expect(page.get_by_role("option").first).to_contain_text("+15m")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog").locator(".outlook")).to_be_visible()


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_one_box_chooses_all_instances_and_stands_above_theirs(
    visit: Visit, server: ServerProgram, size: tuple[int, int]
) -> None:
    tell(server, "/v1/scale-sets", {"name": "pool", "capacity": 3})
    with visit(size) as visitor:
        page = visitor.open("/portal/scale-sets/pool")
        every, row = page.get_by_label("Choose all"), page.get_by_label("Choose pool_1")
        every.check()
        expect(page.locator("[data-selected]")).to_have_text("3 selected")
        expect(row).to_be_checked()
        boxes = [each.bounding_box() for each in (every, row)]
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert abs(boxes[0]["x"] - boxes[1]["x"]) <= 1
        row.uncheck()
        expect(page.locator("[data-selected]")).to_have_text("2 selected")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_navigation_folds_on_a_phone(visit: Visit, server: ServerProgram, scripts: bool) -> None:
    tell(server, "/v1/vms", FRONT)
    with visit(PHONE, scripts=scripts) as visitor:
        page = visitor.open()
        entry = page.get_by_role("link", name="VMs", exact=False).first
        expect(page.locator("nav.nav")).to_be_hidden()
        page.get_by_role("button", name="Menu").click()
        expect(page.locator("nav.nav")).to_be_visible()
        entry.click()
        expect(page.locator("#vm-web-0")).to_be_visible()
        expect(page.locator("nav.nav")).to_be_hidden()


def test_the_first_stop_of_the_tab_key_skips_to_the_content(visit: Visit, server: ServerProgram) -> None:
    with visit() as visitor:
        page = visitor.open()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
