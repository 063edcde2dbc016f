"""Getting about: by keyboard, by thumb, and with scripts switched off."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.program import ServerProgram
from tests.portal.browser import PHONE
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
