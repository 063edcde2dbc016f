"""The portal in Debian's Firefox: pages that can be used, are live, and breach no policy, as in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import ServerProgram
from tests.platforms.firefox.marionette import Firefox, MarionetteError, firefox
from tests.portal.regions import FRONT, look, something_of_everything, tell
from tests.portal.test_looks import addresses_of_all_pages
from tests.waiting import until


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProgram]:
    with ServerProgram.start(tmp_path / "region", "--clock", "virtual") as started:
        yield started


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Firefox]:
    with firefox(tmp_path) as started:
        yield started


def test_a_restart_from_the_portal_becomes_an_event_that_the_vm_approves_and_the_page_sees_gone(
    server: ServerProgram, browser: Firefox
) -> None:
    tell(server, "/v1/vms", FRONT)
    browser.open(f"{server.control}/portal/vms/web-0")
    browser.until_reads("[data-contact=live]", "live")
    browser.click(".page-head .actions a", "Restart")
    browser.until_reads("dialog[open]", "1 Reboot event will be scheduled")
    assert look(server, "/v1/events")["events"] == [], "a dialog does nothing yet"
    browser.click("dialog[open] button[type=submit]", "Restart")
    browser.until_reads(".notice.good", "Done:")
    [event] = look(server, "/v1/events")["events"]
    assert (event["type"], event["vms"]) == ("Reboot", ["web-0"])
    browser.until_reads("main table", "scheduled")
    assert server.approve("web-0", event["id"]).status == 200
    browser.until_reads("main table", "started")  # nobody has loaded the page again
    tell(server, "/v1/clock/advance", {"seconds": 120})
    browser.until_reads("main", "Nothing is coming to web-0.")
    [latest] = [line for line in look(server, "/v1/activity")["activity"] if line["door"] == "portal"]
    assert latest["text"] == "restart VMs"
    assert browser.complaints() == []


def test_keys_lead_about_and_the_palette_finds_a_vm(server: ServerProgram, browser: Firefox) -> None:
    tell(server, "/v1/vms", FRONT)
    browser.open(f"{server.control}/portal/")
    browser.until_reads("[data-contact=live]", "live")
    browser.press("?")
    browser.until_reads("dialog[open]", "Search or command")
    browser.click("dialog[open] [data-close]")
    browser.press("gv")
    browser.until_reads("h1", "Virtual machines")
    browser.click("a.search-open")
    browser.until_reads("dialog[open]", "Overview")
    browser.press("web-3")
    browser.until_reads("dialog[open] [role=option]", "web-3")
    browser.press("\ue007")  # Enter, as WebDriver writes it
    browser.until_reads("h1", "web-3")
    assert browser.complaints() == []


def test_no_page_complains_or_is_wider_than_the_window_in_either_theme(server: ServerProgram, browser: Firefox) -> None:
    something_of_everything(server)
    for dark in (False, True):
        browser.set_dark(dark)
        for name, address in addresses_of_all_pages(server.control).items():
            browser.open(f"{server.control}{address}")
            assert browser.script("return matchMedia('(prefers-color-scheme: dark)').matches") is dark
            assert browser.script("return document.documentElement.scrollWidth <= innerWidth"), name
            assert browser.text("h1"), name
    assert browser.complaints() == []


def test_what_the_policy_forbids_is_blocked_and_heard_of(server: ServerProgram, browser: Firefox) -> None:
    """The other tests would hear of a breach: this one makes some."""
    browser.open(f"{server.control}/portal/")
    assert browser.complaints() == []
    with pytest.raises(MarionetteError, match="blocked by CSP"):
        browser.script("document.createElement('script').textContent = '1'")
    browser.script("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/kittens.png'}))")
    until(lambda: any("kittens.png" in each for each in browser.complaints()), "the console tells of the image")
