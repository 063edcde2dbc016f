"""The portal in Debian's Chromium: how soon a page answers a key, what it loads, what it holds after a while, and how
it looks.
"""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from bench.figures import Figure, figure_of
from bench.million import await_answer
from bench.processes import CannotMeasure, wait_for
from bench.region import Served, served
from bench.stock import NAME, SIZE, stocked
from tests.portal.browser import AXE, LAPTOP, PATIENCE_MS, PHONE, ROOT, Theme, Watch, chromium, sideways

PART = "browsing"
_FEW = 12
_FIRST_KEY_MS, _TO_FEW, _COLD, _WARM, _NODES, _MEGABYTES = 300.0, 1.3, 14, 1, 3_000, 10.0
MINUTES = 2.0  # of the ten that the target is about: a run of all stays within five; --minutes 10 takes them all
_PATIENCE_SECONDS = 60.0
_PAGES = {"overview": "/portal/", "VMs": "/portal/vms"}

_SCREENS = ROOT / ".build/bench/screens"
_SCREENS_OF = ("/portal/", "/portal/vms", "/portal/events", "/portal/hosts", "/portal/campaigns/{campaign}")
_WINDOWS: dict[str, tuple[tuple[int, int], Theme]] = {"laptop-light": (LAPTOP, "light"), "phone-dark": (PHONE, "dark")}

# Presses ? from the first moment on, until the list of keys is open: a page that answers a key is ready for a person.
_PRESS = """
if (location.pathname.startsWith("/portal/")) {
  const pressing = setInterval(() => {
    if (document.querySelector("dialog[open]")) {
      clearInterval(pressing);
      window.answeredAt = performance.now();
    } else {
      document.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
    }
  }, 4);
}
"""


def measure(rounds: int, say: Callable[[str], None], minutes: float = MINUTES) -> list[Figure]:
    if not AXE.exists():
        raise CannotMeasure("axe, which looks at the pages, is not there: make .build/portal/ready")
    with chromium() as browser:
        with served("--clock", "virtual") as region:
            region.create(NAME, _FEW, read=True)
            few = _first_keys(browser, region, rounds)
            figures = [
                figure_of(PART, f"{what}, {_FEW} VMs: first key answered", each, "ms") for what, each in few.items()
            ]
        with tempfile.TemporaryDirectory(prefix="forewarn-bench-") as directory:
            region = Served(stocked(Path(directory), say), "--clock", "virtual")
            try:
                await_answer(region)
                wait_for(region.control_port, region.pid)
                while not region.call("GET", "/v1/fleet")["ready"]:
                    time.sleep(0.1)
                many = _first_keys(browser, region, rounds)
                figures += _compared(few, many)
                figures += _loaded(browser, region)
                figures += _kept(browser, region, minutes, say)
                figures += _looked_at(browser, region, say)
            finally:
                region.end(signal.SIGKILL)
    return figures


def _first_keys(browser: Browser, region: Served, rounds: int) -> dict[str, list[float]]:
    """From the start of the navigation, in a browser that has been here before, which is how people come."""
    found: dict[str, list[float]] = {what: [] for what in _PAGES}
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    try:
        context.add_init_script(_PRESS)
        page = context.new_page()
        page.goto(f"{region.url}/portal/")
        for _ in range(max(rounds, 3) * 3):
            for what, path in _PAGES.items():
                page.goto(f"{region.url}{path}")
                answered = page.wait_for_function("() => window.answeredAt", timeout=_PATIENCE_SECONDS * 1e3)
                found[what].append(float(answered.json_value()))
        return found
    finally:
        context.close()


def _compared(few: dict[str, list[float]], many: dict[str, list[float]]) -> list[Figure]:
    figures = []
    for what, taken in many.items():
        figures.append(figure_of(PART, f"{what}, {SIZE:,} VMs: first key answered", taken, "ms", _FIRST_KEY_MS))
        ratios = [many_ms / few_ms for many_ms, few_ms in zip(sorted(taken), sorted(few[what]), strict=True)]
        figures.append(figure_of(PART, f"{what}, {SIZE:,} VMs to {_FEW}: first key answered", ratios, "x", _TO_FEW))
    return figures


def _loaded(browser: Browser, region: Served) -> list[Figure]:
    """Requests that reach the server, when a browser comes for the first time and when it comes again; elements."""
    figures = []
    for what, path in _PAGES.items():
        context = browser.new_context(viewport={"width": 1366, "height": 768})
        try:
            cold, warm = (_requests(context, f"{region.url}{path}") for _ in range(2))
            page = context.new_page()
            page.goto(f"{region.url}{path}")
            elements = page.evaluate("() => document.querySelectorAll('*').length")
        finally:
            context.close()
        figures += [
            Figure(PART, f"{what}, {SIZE:,} VMs: requests, cold", float(cold), "", _COLD),
            Figure(PART, f"{what}, {SIZE:,} VMs: requests, warm", float(warm), "", _WARM),
            Figure(PART, f"{what}, {SIZE:,} VMs: elements", float(elements), "", _NODES),
        ]
    return figures


def _requests(context: BrowserContext, url: str) -> int:
    """The page, and what it loads over the network; the stream of hints is one a browser and does not count."""
    page = context.new_page()
    try:
        page.goto(url, wait_until="load")
        page.wait_for_timeout(500)
        loaded = page.evaluate(
            "() => performance.getEntriesByType('resource').filter((each) => each.transferSize > 0"
            " && !each.name.includes('/v1/')).length"
        )
        return 1 + int(loaded)
    finally:
        page.close()


def _kept(browser: Browser, region: Served, minutes: float, say: Callable[[str], None]) -> list[Figure]:
    """A page that is left open while a campaign goes over everything: what it holds before and after."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    try:
        page = context.new_page()
        page.goto(f"{region.url}/portal/")
        region.call("POST", "/v1/campaigns", {"kind": "freeze"})
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while "Freeze" not in page.inner_text("#part-coming"):
            if time.monotonic() > deadline:
                raise CannotMeasure("the page never showed the campaign")
            page.wait_for_timeout(250)
        _turn(region, page, 10)  # until everything has been shown once
        before = _held(context, page)
        end, turns = time.monotonic() + minutes * 60, 0
        while time.monotonic() < end:
            _turn(region, page, 1)
            turns += 1
        after = _held(context, page)
    finally:
        context.close()
    say(f"{turns} turns of the clock: {before} before, {after} after")
    while_ = f"{minutes:g} minutes of a campaign over {SIZE:,} VMs"
    more = (after["JSHeapUsedSize"] - before["JSHeapUsedSize"]) / 1e6
    return [
        Figure(PART, f"script memory after {while_}, more than before", more, "MB", _MEGABYTES),
        Figure(PART, f"nodes after {while_}, more than before", after["Nodes"] - before["Nodes"], "", _NODES / 10),
    ]


def _turn(region: Served, page: Page, times: int) -> None:
    for _ in range(times):
        region.call("POST", "/v1/clock/advance", {"seconds": 20})
        page.wait_for_timeout(250)


def _held(context: BrowserContext, page: Page) -> dict[str, float]:
    """After what nobody holds any more was thrown away."""
    protocol = context.new_cdp_session(page)
    protocol.send("Performance.enable")
    protocol.send("HeapProfiler.collectGarbage")
    told: dict[str, Any] = protocol.send("Performance.getMetrics")
    protocol.detach()
    return {each["name"]: each["value"] for each in told["metrics"] if each["name"] in ("JSHeapUsedSize", "Nodes")}


def _looked_at(browser: Browser, region: Served, say: Callable[[str], None]) -> list[Figure]:
    """Pages with a million VMs and a campaign behind them: kept to be looked at, and judged as the tests judge them."""
    _SCREENS.mkdir(parents=True, exist_ok=True)
    campaign = region.call("GET", "/v1/campaigns")["campaigns"][0]["id"]
    figures = []
    for window, (size, theme) in _WINDOWS.items():
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
        try:
            page = context.new_page()
            watch = Watch.over(page)
            for address in _SCREENS_OF:
                page.goto(f"{region.url}{address.format(campaign=campaign)}")
                page.wait_for_function("() => document.querySelector('[data-contact=live]')", timeout=PATIENCE_MS)
                name = address.split("/")[2] or "overview"
                page.screenshot(path=_SCREENS / f"{name}-{window}.png", full_page=True)
                amiss = {"found by axe": watch.inaccessible(), "wider than the window": sideways(page)}
                for what, found in amiss.items():
                    for each in found:
                        say(f"{name}, {window}, {what}: {each}")
                    figures.append(Figure(PART, f"{name}, {SIZE:,} VMs, {window}: {what}", float(len(found)), "", 0))
            for complaint in watch.complaints:
                say(f"{window}, on the console: {complaint}")
            figures.append(Figure(PART, f"{window}: errors on the console", float(len(watch.complaints)), "", 0))
        finally:
            context.close()
    say(f"screens of pages are in {_SCREENS.relative_to(ROOT)}")
    return figures
