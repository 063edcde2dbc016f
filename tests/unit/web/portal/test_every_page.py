"""What holds for every page there is, and for every page that will be: they are found by following links."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from forewarn.cli.main import build_parser
from forewarn.web.portal import app as portal_app
from forewarn.web.portal.forms import Given, gathered
from forewarn.web.portal.pages import PAGES
from tests.unit.web.portal.conftest import Browser, OpenPortal
from tests.unit.web.portal.regions import HOSTILE, REGIONS
from tests.unit.web.portal.visitor import Element, read

pytestmark = pytest.mark.anyio

_MOST_PAGES = 300
_MOST_OF_A_KIND = (
    24  # of one page with other words behind its "?": every line of activity can be unfolded, for each filter
)


@dataclass(frozen=True)
class Crawl:
    """Every page of a region, and what the plane said before and after."""

    pages: dict[str, Element]
    read: dict[str, set[str]]  # page, or deed -> the names of its query that it looked for, whether they were there
    before: tuple[object, ...]
    after: tuple[object, ...]


_CRAWLS: dict[str, Crawl] = {}


class _Listened(dict[str, tuple[str, ...]]):
    """A query that notes the names that are looked for in it."""

    def __init__(self, given: Given, noted: set[str]) -> None:
        super().__init__(given)
        self.noted = noted

    def __getitem__(self, name: str) -> tuple[str, ...]:
        self.noted.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.noted.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.noted.add(name)
        return super().get(name, default)


async def _listened_crawl(browser: Browser) -> tuple[dict[str, Element], dict[str, set[str]]]:
    """Every page, and what each kind of page looked for in its query."""
    noted: set[str] = set()
    read: dict[str, set[str]] = {}

    def listen(pairs: Iterable[tuple[str, str]]) -> Given:
        return _Listened(gathered(pairs), noted)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(portal_app, "gathered", listen)
        pages = dict[str, Element]()
        async for path, page in _walked(browser):
            read.setdefault(_target_of(path), set()).update(noted)
            noted.clear()
            if page is not None:
                pages[path] = page
    return pages, read


def _target_of(address: str) -> str:
    """The page behind an address by its name; each deed is one of its own, for each has its own fields."""
    path = urlsplit(address).path
    if path.startswith("/portal/do/"):
        return path
    patterns = {each.name: re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(f"/portal{each.path}")) for each in PAGES}
    return next((name for name, pattern in patterns.items() if re.fullmatch(pattern, path)), path)


async def _crawl(browser: Browser) -> dict[str, Element]:
    """Every page that links of the portal lead to, by address. None of them is missing and none fails."""
    return {path: page async for path, page in _walked(browser) if page is not None}


async def _walked(browser: Browser) -> AsyncIterator[tuple[str, Element | None]]:
    """One address after the other; where it gives a file, there is no page to look at."""
    waiting, found, kinds = ["/portal/"], dict[str, Element](), Counter[str]()
    while waiting and len(found) < _MOST_PAGES:
        path = waiting.pop(0)
        kinds[path.partition("?")[0]] += path not in found
        if path in found or kinds[path.partition("?")[0]] > _MOST_OF_A_KIND:
            continue
        answer = await browser.client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text}"
        if not answer.headers["content-type"].startswith("text/html"):
            yield path, None
            continue
        found[path] = read(answer.text)
        yield path, found[path]
        waiting.extend(_links(found[path]))


def _links(page: Element) -> Iterator[str]:
    for link in page.all("a"):
        address = link.attributes["href"].partition("#")[0]
        if address.startswith("/"):
            yield address


@pytest.fixture(params=REGIONS)
async def crawl(request: pytest.FixtureRequest, open_portal: OpenPortal, anyio_backend: str) -> Crawl:
    """Of one region, made once for all these tests: they only look."""
    if request.param not in _CRAWLS:
        async with open_portal() as browser:
            await REGIONS[request.param](browser)
            before, (pages, looked_for) = _state(browser), await _listened_crawl(browser)
            _CRAWLS[request.param] = Crawl(pages, looked_for, before, _state(browser))
    return _CRAWLS[request.param]


def _state(browser: Browser) -> tuple[object, ...]:
    return browser.plane.seq, browser.plane.region, browser.plane.now()


@pytest.fixture
def pages(crawl: Crawl) -> dict[str, Element]:
    return crawl.pages


async def test_every_link_leads_to_a_page_and_stays_here(pages: dict[str, Element]) -> None:
    assert pages
    for path, page in pages.items():
        for element in page.walk():
            for name in ("href", "src", "action", "formaction"):
                address = element.attributes.get(name)
                is_ours = address is None or address.startswith(("/portal/", "/v1/", "/openapi.json", "#"))
                assert is_ours, f"{path}: <{element.tag} {name}={address}>"


async def test_what_a_link_asks_for_is_read_by_the_page_that_it_leads_to(crawl: Crawl) -> None:
    """A name that nobody reads would be ignored: a page of all instead of those that the link promised."""
    asked = 0
    for path, page in crawl.pages.items():
        for address in _links(page):
            target = _target_of(address)
            if not address.startswith("/portal/") or target not in crawl.read:
                continue  # the API refuses what it does not know; or one of the many that were left out
            names = {name for name, _ in parse_qsl(urlsplit(address).query)}
            asked += len(names)
            assert names <= crawl.read[target], f"{path} leads to {address}"
    assert asked > 20


async def test_each_word_of_a_filter_in_a_link_is_one_that_its_page_filters_by(crawl: Crawl) -> None:
    """Its command line tells by what it has filtered."""
    for address, page in crawl.pages.items():
        target, query = _target_of(address), dict(parse_qsl(urlsplit(address).query))
        if target in ("vms", "events", "hosts") and "q" in query:
            (command,) = [line for line in _lines(page) if line.startswith(f"forewarn {target[:-1]} list")]
            for name in [word.partition(":")[0] for word in query["q"].split() if ":" in word]:
                assert f"--{name} " in command, address


def _lines(page: Element) -> list[str]:
    return [line for each in page.all("pre") for line in "".join(each.texts).splitlines()]


async def test_ids_are_unique_and_what_points_at_an_id_finds_it(pages: dict[str, Element]) -> None:
    for path, page in pages.items():
        ids = [each.attributes["id"] for each in page.walk() if "id" in each.attributes]
        assert sorted(ids) == sorted(set(ids)), path
        for element in page.walk():
            for name in ("for", "aria-labelledby", "aria-describedby", "aria-controls"):
                assert set(element.attributes.get(name, "").split()) <= set(ids), f"{path}: {element.attributes}"


async def test_headings_begin_with_one_and_leave_no_level_out(pages: dict[str, Element]) -> None:
    for path, page in pages.items():
        levels = [int(each.tag[1]) for each in page.walk() if re.fullmatch("h[1-6]", each.tag)]
        assert levels[0] == 1, path
        assert levels.count(1) == 1, path
        for level, following in pairwise(levels):
            assert following <= level + 1, f"{path}: h{following} follows h{level}"


async def test_everything_that_is_filled_in_has_a_label(pages: dict[str, Element]) -> None:
    for path, page in pages.items():
        labels = {each.attributes.get("for") for each in page.all("label")}
        for tag in ("input", "select", "textarea"):
            for each in page.all(tag):
                hidden = each.attributes.get("type") == "hidden"
                named = each.attributes.get("id") in labels or "aria-label" in each.attributes or each.within("label")
                assert hidden or named, f"{path}: {each.attributes}"


async def test_everything_that_is_pressed_has_words(pages: dict[str, Element]) -> None:
    for path, page in pages.items():
        for tag in ("a", "button", "summary"):
            for each in page.all(tag):
                assert each.text or each.attributes.get("aria-label"), f"{path}: {each.attributes}"


async def test_tables_have_headers_and_cells_that_name_them(pages: dict[str, Element]) -> None:
    for path, page in pages.items():
        for table in page.all("table"):
            heads = {each.text for each in table.all("th")}
            assert all(each.attributes.get("scope") in ("col", "row") for each in table.all("th")), path
            assert {each.attributes.get("data-label") for each in table.all("td")} <= {*heads, None}, path


async def test_every_live_part_can_be_asked_for_alone(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await REGIONS["small"](browser)
        for path, page in (await _crawl(browser)).items():
            for part in [each for each in page.walk() if "data-live" in each.attributes]:
                name = part.attributes["id"]
                asked = {"X-Forewarn-Part": name}
                answer = await browser.client.get(path, headers=asked)
                alone = read(answer.text).children
                assert [each.attributes.get("id") for each in alone] == [name], path
                assert alone[0].text == part.text, path
                again = await browser.client.get(path, headers={**asked, "If-None-Match": answer.headers["ETag"]})
                assert (again.status_code, again.content) == (304, b""), path


async def test_no_words_of_ours_have_a_line_break_that_is_shown_as_a_mark(pages: dict[str, Element]) -> None:
    """What comes from outside may: there it is a sign among others."""
    for path, page in pages.items():
        assert "⟨U+000A⟩" not in page.text, path


@pytest.mark.parametrize("crawl", ["small"], indirect=True)
async def test_every_page_of_the_table_can_be_reached_by_links(crawl: Crawl) -> None:
    paths = {urlsplit(each).path.removeprefix("/portal") for each in crawl.pages}
    for page in PAGES:
        if page.name in ("sign-in", "sign-out", "export"):
            continue  # where a token is wanted; a file, no page: see test_session and test_export
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(page.path))
        assert any(re.fullmatch(pattern, path) for path in paths), f"nothing leads to {page.path}"


async def test_every_page_names_the_requests_that_tell_the_same(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        documented = browser.app.openapi()["paths"]
    for page in PAGES:
        for request in page.api:
            method, path = request.split()
            assert method.lower() in documented.get(path, {}), f"{page.name}: {request}"


async def test_every_page_that_shows_says_how_to_see_the_same_elsewhere(pages: dict[str, Element]) -> None:
    """Command lines that the real command takes, and requests that are answered."""
    parser = build_parser()
    shown = {page.path: page for page in PAGES if page.reading is not None}
    assert {page.name for page in PAGES if page.menu} - {page.name for page in shown.values()} <= {"simulator"}
    for path, page in pages.items():
        drawers = [each for each in page.all("details") if each.attributes.get("class") == "how"]
        own = urlsplit(path).path.removeprefix("/portal")
        if own in shown:
            assert len(drawers) == 1, path
        lines = [line for drawer in drawers for each in drawer.all("pre") for line in "".join(each.texts).splitlines()]
        for line in lines:
            if line.startswith("forewarn "):
                assert parser.parse_args(shlex.split(line)[1:]), path


async def test_the_requests_behind_a_page_are_answered(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await REGIONS["small"](browser)
        for path, page in (await _crawl(browser)).items():
            if path.startswith("/portal/do/") or "/new-scale-set" in path:
                continue  # a deed's own request: see test_deeds
            for each in page.all("pre"):
                for line in "".join(each.texts).splitlines():
                    if line.startswith("curl ") and "metadata" not in line:
                        address = shlex.split(line)[-1].removeprefix(browser.home)
                        assert (await browser.client.get(address)).status_code == 200, f"{path}: {line}"


@pytest.mark.parametrize("crawl", ["hostile"], indirect=True)
async def test_text_from_outside_is_text(crawl: Crawl) -> None:
    for path, page in crawl.pages.items():
        assert not page.all("img"), path
        assert all("/portal/static/" in each.attributes.get("src", "") for each in page.all("script")), path
        assert not any(name.startswith("on") for each in page.walk() for name in each.attributes), path
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page.text, path
        assert not any(letter in page.text for letter in "\x00\x07\x1b"), path
    shown = crawl.pages["/portal/vms"].text
    assert HOSTILE[0] in shown
    assert HOSTILE[3] in shown
    assert "⟨U+202E⟩txt.exe" in shown


async def test_looking_at_every_page_changes_nothing(crawl: Crawl) -> None:
    assert crawl.pages
    assert crawl.after == crawl.before
