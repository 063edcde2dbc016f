"""The timeline page of simulator and test kit in Chromium: ticks that follow the zoom, bars that can be seen."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from forewarn.testing import open_region
from tests.portal.browser import LAPTOP, PATIENCE_MS, PHONE, Theme, Watch, keep_shot, sideways
from tests.waiting import PATIENCE_SECONDS

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days in which a freeze lasts nine seconds and a restart is approved."""
    with open_region(start=NOON, disable_after="30d") as region:
        region.vm("web-0", availability_set="front")
        region.freeze("web-0")
        region.advance("1d")
        event = region.restart("web-0")
        region.note("drained </script><b>")
        region.vm("web-0").approve(event)
        region.advance("2d")
        return region.picture(tmp_path_factory.mktemp("page") / "three-days.html")


def seen(page: Path, mark: str = "", width: int = 1400) -> str:
    """What the page has become after its script ran; nothing is asked of anybody else."""
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    done = subprocess.run(
        [*command, f"--window-size={width},900", "--dump-dom", f"{page.as_uri()}{mark}"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    return done.stdout


def ticks(text: str) -> list[str]:
    found = re.search(r'data-ticks="([^"]*)"', text)
    assert found is not None
    return found[1].split("|")


def test_ticks_follow_the_zoom_and_no_bar_is_narrower_than_three_pixels(page: Path) -> None:
    after = int(timedelta(minutes=15).total_seconds()) + 60
    whole, hour, minute = seen(page), seen(page, "#look=0-3600"), seen(page, f"#look={after - 30}-{after + 30}")

    assert "Fri, 02 Jan" in ticks(whole)
    assert ticks(hour)[:3] == ["12:00", "12:05", "12:10"]
    assert "12:15:00" in ticks(minute)
    for text in (whole, hour, minute):
        found = re.search(r'data-narrowest="([\d.]+)"', text)
        assert found is not None
        assert float(found[1]) >= 3
    assert float(re.search(r'data-narrowest="([\d.]+)"', minute)[1]) > 100  # type: ignore[index]  # nine seconds of sixty


@pytest.mark.parametrize("width", [500, 1400])
@pytest.mark.parametrize("mark", ["", "#look=0-3600", "#look=700-1000"])
def test_the_last_label_ends_before_the_edge(page: Path, mark: str, width: int) -> None:
    text = seen(page, mark, width)
    room = re.search(r'data-room="(-?[\d.]+)"', text)

    assert ticks(text)[-1]
    assert room is not None
    assert float(room[1]) >= 0


def test_the_worst_moments_are_listed_and_lead_there(page: Path) -> None:
    text = seen(page, "#worst=0")

    assert "web-0: Freeze (freeze), 15 min of warning, nobody approved" in text
    assert "12:15" in ticks(text)
    assert "Reboot (user-restart), " not in re.sub(r"<pre>.*?</pre>|<script>.*</script>", "", text, flags=re.DOTALL)


def test_no_name_or_note_becomes_a_part_of_the_page(page: Path) -> None:
    source = page.read_text()

    assert source.count("</script>") == 1
    assert "<b>" not in source


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_can_be_read_and_used_and_says_nothing_on_the_console(
    browser: Browser, page: Path, size: tuple[int, int], theme: Theme
) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
    try:
        tab = context.new_page()
        watch = Watch.over(tab)
        for name, mark in (("whole", ""), ("worst", "#worst=0")):
            tab.goto(f"{page.as_uri()}{mark}")
            tab.reload()  # a mark alone is no new page
            tab.wait_for_function("() => document.querySelector('[data-ticks]')", timeout=PATIENCE_MS)
            keep_shot(tab, f"timeline-{name}-{size[0]}-{theme}")
            assert watch.inaccessible() == [], name
            assert sideways(tab) == [], name
    finally:
        context.close()
    assert watch.complaints == []
    assert {request for request in watch.requests if not request.startswith(page.as_uri())} == set()


def test_who_has_no_pointer_goes_along_by_buttons(browser: Browser, page: Path) -> None:
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    try:
        tab.goto(f"{page.as_uri()}#look=3600-7200")
        shown, later = tab.locator("#shown"), tab.get_by_role("button", name="later")
        expect(shown).to_have_text("2026-01-01T12:59:00 to 2026-01-01T13:59:00 UTC")
        later.focus()
        tab.keyboard.press("Enter")
        expect(shown).to_have_text("2026-01-01T13:29:00 to 2026-01-01T14:29:00 UTC")
        tab.get_by_role("button", name="earlier").press("Enter")
        expect(shown).to_have_text("2026-01-01T12:59:00 to 2026-01-01T13:59:00 UTC")
    finally:
        tab.close()
