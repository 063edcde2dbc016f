"""Debian's Chromium, driven over the DevTools protocol. What a page may never do is watched from its start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, CDPSession, ConsoleMessage, Page, sync_playwright

ROOT = Path(__file__).parents[2]
AXE = ROOT / ".build/portal/node_modules/axe-core/axe.min.js"
SHOTS = ROOT / ".build/portal/shots"
CHROMIUM = "/usr/bin/chromium"
PATIENCE_MS = 30_000  # for something to end at all; how long it took is not judged
LAPTOP = (1366, 768)
PHONE = (360, 740)
Theme = Literal["light", "dark"]

# As root there is no sandbox to be had. The rest keeps the browser from talking to its maker.
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
    "--host-resolver-rules=MAP *.example 127.0.0.1",  # names of others lead to this machine, as when rebound
]
_THEME_NOW = "() => matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'"
_OF_COLOURS = ["color-contrast", "link-in-text-block"]  # what another theme can break
_LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own. It must end before a test that runs a loop: its driver leaves one running in the thread."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watch:
    """What one page did: errors on its console, breaches of its policy, requests and whom they went to."""

    page: Page
    protocol: CDPSession
    expected: list[str] = field(default_factory=list)  # parts of complaints that the test provokes
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)  # addresses to which the page sent something of its own

    @classmethod
    def over(cls, page: Page) -> Watch:
        watch = cls(page, page.context.new_cdp_session(page))
        page.on("console", watch._said)
        page.on("pageerror", lambda error: watch.complaints.append(f"script: {error}"))
        watch.protocol.on("Audits.issueAdded", watch._issue)
        watch.protocol.on("Network.requestWillBeSent", lambda told: watch._asked(told["request"]))
        for domain in ("Audits", "Network", "DOM", "Runtime", "Page"):
            watch.protocol.send(f"{domain}.enable")
        return watch

    def _asked(self, request: dict[str, Any]) -> None:
        self.requests.append(request["url"])
        if request["method"] != "GET" or request.get("hasPostData"):
            self.bodies.append(request["url"])

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console: {message.text} {message.location}")

    def _issue(self, told: dict[str, Any]) -> None:
        issue = told["issue"]
        if issue["code"] in ("ContentSecurityPolicyIssue", "MixedContentIssue", "CookieIssue"):
            self.complaints.append(f"{issue['code']}: {issue['details']}")

    def elsewhere(self, origin: str) -> list[str]:
        """Requests to anybody but our server."""
        own = {"data", "blob", "about"}
        parts = [urlsplit(url) for url in self.requests]
        return [
            part.geturl() for part in parts if part.scheme not in own and f"{part.scheme}://{part.netloc}" != origin
        ]

    def inaccessible(self, rules: Sequence[str] = ()) -> list[str]:
        """What axe finds, in a world of its own beside the page's scripts: the page's policy stays as it is.

        By all rules of the levels, or by these alone.
        """
        frame = self.protocol.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = self.protocol.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "axe"})[
            "executionContextId"
        ]
        if self._evaluate("typeof axe", world) == "undefined":  # a second look at a page finds it there
            self._evaluate(AXE.read_text() + ";0", world)
        asked = f"{{type: 'rule', values: {list(rules)}}}" if rules else f"{_LEVELS}"
        options = f"{{runOnly: {asked}, resultTypes: ['violations'], rules: {{}}}}"
        found = self._evaluate(f"axe.run(document, {options}).then((result) => result.violations)", world)
        return [
            f"{each['id']}: {each['help']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
            for each in found
            for node in each["nodes"]
        ]

    def _evaluate(self, script: str, world: int) -> Any:
        asked = {"expression": script, "contextId": world, "awaitPromise": True, "returnByValue": True}
        answer = self.protocol.send("Runtime.evaluate", asked)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")


@dataclass
class Visitor:
    """Somebody with a browser of their own: nothing is remembered from others. Every page they open is watched."""

    context: BrowserContext
    origin: str
    scripts: bool = True
    watches: list[Watch] = field(default_factory=list)

    def open(self, path: str = "/portal/") -> Page:
        """A new tab."""
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        self.watches.append(Watch.over(page))
        page.goto(f"{self.origin}{path}")
        return page

    def through(self, addresses: Mapping[str, str]) -> Iterator[tuple[str, Page]]:
        """One page after the other in one tab, by name; each is looked over before the next is opened."""
        page = self.open(next(iter(addresses.values())))
        for name, address in addresses.items():
            page.goto(f"{self.origin}{address}")
            yield name, page
            self.assert_nothing_amiss()

    def expect_complaint(self, part: str) -> None:
        """The test provokes it: a refused form is an error on the console, too."""
        for watch in self.watches:
            watch.expected.append(part)

    def assert_nothing_amiss(self) -> None:
        """How every flow ends."""
        for watch in self.watches:
            unexpected = [each for each in watch.complaints if not any(part in each for part in watch.expected)]
            _nothing(watch.page, "said on the console", unexpected)
            _nothing(watch.page, "asked of somewhere else", watch.elsewhere(self.origin))
            if not watch.page.is_closed():
                _nothing(watch.page, "found by axe", self._inaccessible(watch))
                _nothing(watch.page, "wider than the window", sideways(watch.page))

    @contextmanager
    def by_other_light(self, theme: Theme) -> Iterator[None]:
        """The page that is open, as somebody with this theme sees it: its colours are judged, all else is the same."""
        page, before = self.watches[-1].page, self.watches[-1].page.evaluate(_THEME_NOW)
        page.emulate_media(color_scheme=theme)
        _nothing(page, f"found by axe in {theme}", self.watches[-1].inaccessible(_OF_COLOURS))
        yield
        page.emulate_media(color_scheme=before)

    def assert_as_good_on_a_phone(self, name: str) -> None:
        """The page that is open, in a narrow window; kept to be looked at under that name."""
        page, before = self.watches[-1].page, self.watches[-1].page.viewport_size
        assert before is not None
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        keep_shot(page, f"{name}-{PHONE[0]}-light")
        self.assert_nothing_amiss()
        page.set_viewport_size(before)

    def assert_as_good_in(self, theme: Theme) -> None:
        """The page at which a flow has ended, by other light."""
        watch = self.watches[-1] if self.watches else None
        if watch is not None and not watch.page.is_closed():
            watch.page.emulate_media(color_scheme=theme)
            _nothing(watch.page, f"found by axe in {theme}", self._inaccessible(watch, theme))

    def _inaccessible(self, watch: Watch, theme: Theme | None = None) -> list[str]:
        """Axe is a script. Where scripts are off, it looks at the same HTML in a browser that has them."""
        if self.scripts:
            return watch.inaccessible()
        browser, html = self.context.browser, watch.page.content()
        assert browser is not None
        twin = browser.new_context(viewport=watch.page.viewport_size, color_scheme=theme)
        try:
            page = twin.new_page()
            page.route("**/*.js", lambda route: route.abort())
            page.route(watch.page.url, lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
            page.goto(watch.page.url)
            return Watch.over(page).inaccessible()
        finally:
            twin.close()


def sideways(page: Page) -> list[str]:
    """What is wider than the window, so that the page would have to be pushed about."""
    found: list[str] = page.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] :
        [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
        .map((each) => `${each.tagName}.${each.className} ${each.getBoundingClientRect().right}`).slice(0, 8)"""
    )
    return found


@contextmanager
def visitor(
    browser: Browser,
    origin: str,
    size: tuple[int, int] = LAPTOP,
    theme: Theme = "light",
    scripts: bool = True,
    zone: str = "Europe/Berlin",
) -> Iterator[Visitor]:
    """A visitor whose every page is looked over when the block ends well, and the last one in both themes."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,
        java_script_enabled=scripts,
        timezone_id=zone,
        locale="en-GB",
    )
    try:
        somebody = Visitor(context, origin, scripts)
        yield somebody
        somebody.assert_nothing_amiss()
        somebody.assert_as_good_in("dark" if theme == "light" else "light")
    finally:
        context.close()


def keep_shot(page: Page, name: str) -> None:
    """For a person to look at: ``.build/portal/shots``."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def _nothing(page: Page, what: str, found: Sequence[object]) -> None:
    assert not found, f"{what} at {page.url}: {found}"
