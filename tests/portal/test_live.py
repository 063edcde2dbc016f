"""Pages that stay true while others change the region, and never take anything out of somebody's hands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from tests.e2e.program import PATIENCE_SECONDS, ServerProgram
from tests.portal.conftest import Visit
from tests.portal.regions import FRONT, tell


@contextmanager
def hints_of(server: ServerProgram) -> Iterator[Iterator[dict[str, Any]]]:
    """The hints that a browser gets, as they come."""
    parts = urlsplit(server.control)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)
    connection.request("GET", "/v1/changes/stream")
    answer = connection.getresponse()
    try:
        yield (json.loads(line[5:]) for line in iter(answer.readline, b"") if line.startswith(b"data:"))
    finally:
        connection.close()


def expect_live(page: Page) -> None:
    expect(page.locator("[data-contact]")).to_have_text("live")


def test_a_change_by_somebody_else_is_seen_in_place(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", FRONT)
    with visit() as visitor:
        page = visitor.open("/portal/vms")
        expect_live(page)
        row = page.locator("#vm-web-1")
        expect(row.locator(".state")).to_have_text("running")
        page.evaluate("() => { document.querySelector('#vm-web-1').mine = 'the same element'; }")
        tell(server, "/v1/vms/deallocate", {"names": ["web-1"]})
        expect(row.locator(".state")).to_have_text("deallocated")
        assert row.evaluate("(element) => element.mine") == "the same element"


def test_new_rows_wait_until_somebody_wants_to_see_them(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", FRONT)
    with visit() as visitor:
        page = visitor.open("/portal/vms")
        expect_live(page)
        tell(server, "/v1/vms", {"name": "another", "count": 3})
        expect(page.locator(".news")).to_have_text("3 new: show")
        expect(page.locator("tbody tr")).to_have_count(6)
        expect(page.locator("#nav-vms .count")).to_have_text("9")  # what is no row is true at once
        page.locator(".news").click()
        expect(page.locator("tbody tr")).to_have_count(9)
        expect(page.locator(".news")).to_have_count(0)


def test_a_selection_the_focus_and_the_scroll_survive_two_hundred_hints(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", {**FRONT, "count": 40})
    with visit() as visitor, hints_of(server) as hints:
        page = visitor.open("/portal/vms")
        expect_live(page)
        page.locator("#vm-web-5 input").check()
        page.locator("#nav-overview a").focus()
        page.locator("#vm-web-3 td[data-label=Name]").select_text()
        page.mouse.wheel(0, 300)
        page.wait_for_function("() => scrollY > 200")
        scrolled = page.evaluate("() => scrollY")
        next(hints)
        for turn in range(200):
            deed = "start" if turn // 7 % 2 else "deallocate"
            tell(server, f"/v1/vms/{deed}", {"names": [f"web-{turn % 7}"]})
            next(hints)
        tell(server, "/v1/vms/deallocate", {"names": ["web-9"]})
        expect(page.locator("#vm-web-9 .state")).to_have_text("deallocated")
        assert page.evaluate("() => getSelection().toString()") == "web-3"
        expect(page.locator("#vm-web-5 input")).to_be_checked()
        assert page.evaluate("() => document.activeElement.textContent").startswith("Overview")
        assert page.evaluate("() => scrollY") == scrolled


def test_lost_contact_is_told_and_what_happened_meanwhile_is_seen(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", FRONT)
    port = str(urlsplit(server.control).port)
    with visit() as visitor:
        page = visitor.open("/portal/vms")
        expect_live(page)
        server.kill()
        expect(page.locator("[data-contact]")).to_contain_text("no contact since")
        with ServerProgram.start(server.data, "--clock", "virtual") as elsewhere:
            tell(elsewhere, "/v1/vms/deallocate", {"names": ["web-2"]})
            elsewhere.stop()
        with ServerProgram.start(server.data, "--clock", "virtual", "--control", f"127.0.0.1:{port}"):
            expect_live(page)
            expect(page.locator("#vm-web-2 .state")).to_have_text("deallocated")
            visitor.expect_complaint("ERR_")  # the server was away, as the browser says on its console
            visitor.assert_nothing_amiss()


def test_ten_tabs_hold_one_stream_and_all_of_them_see_a_change(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", FRONT)
    with visit() as visitor:
        pages = [visitor.open("/portal/vms") for _ in range(10)]
        protocol = visitor.context.browser.new_browser_cdp_session() if visitor.context.browser else None
        assert protocol is not None
        kinds = [each["type"] for each in protocol.send("Target.getTargets")["targetInfos"]]
        assert kinds.count("shared_worker") == 1
        tell(server, "/v1/vms/deallocate", {"names": ["web-1"]})
        for page in pages:
            page.bring_to_front()
            expect(page.locator("#vm-web-1 .state")).to_have_text("deallocated")
        asked = [url for watch in visitor.watches for url in watch.requests]
        assert [url for url in asked if "/v1/changes/stream" in url] == []
        for page in pages[1:]:
            page.close()
