"""Every page there is, as a laptop and a phone show it, light and dark. The pictures are kept to be looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page

from forewarn.web.portal.pages import PAGES
from tests.e2e.program import ServerProgram
from tests.portal.browser import LAPTOP, PHONE, Visitor, keep_shot, visitor
from tests.portal.guarded import sign_in
from tests.portal.regions import something_of_everything

_LINK = re.compile(r'href="(/portal/[^"#]*)"')
_TABS = re.compile(r'<nav class="tabs".*?</nav>', re.DOTALL)
_MOST_LOOKED_AT = 150
_NOT_HERE = {
    "export": "a file to be kept, not a page",
    "sign-in": "where a token is wanted: it is looked at below",
    "sign-out": "where a token is wanted: it is looked at below",
}
# Of these pages the one that links lead to first may show less than there is to see.
_MORE = {
    "vm-sees-beside": "/portal/vms/web-1?tab=sees&beside=2019-01-01",
    "vm-faults-rule": "/portal/vms/web-2?tab=faults",
    "vm-of-a-set": "/portal/vms/pool_0",
    "scope-read": "/portal/scopes/availability-set/front",
    "do-many": "/portal/do/delete?vm=web-0&vm=web-1&vm=web-2",
    "vms-refused": "/portal/vms?q=ud:x",
}

sizes = pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])


def _name_of(address: str) -> str:
    """As routes find it: the first page whose path fits."""
    path = address.partition("?")[0]
    patterns = {page.name: re.sub(r"\{\w+\}", "[^/]+", f"/portal{page.path}") for page in PAGES}
    return next((name for name, pattern in patterns.items() if re.fullmatch(pattern, path)), "")


def addresses_of_all_pages(origin: str) -> dict[str, str]:
    """Page name -> the first address of it that links lead to; and each of its tabs beside it."""
    found: dict[str, str] = {}
    tabs: dict[str, str] = {}
    seen, ahead = set[str](), ["/portal/"]
    while ahead and len(seen) < _MOST_LOOKED_AT:
        address = ahead.pop(0)
        name = _name_of(address)
        if address in seen or name in found or address.startswith("/portal/static/"):
            continue
        seen.add(address)
        with urlopen(f"{origin}{address}", timeout=60) as answer:
            if answer.headers.get_content_type() != "text/html":
                continue  # a file to be kept
            found[name], html = address, answer.read().decode()
        ahead += [link.replace("&amp;", "&") for link in _LINK.findall(html)]
        for bar in _TABS.findall(html):
            for link in (link.replace("&amp;", "&") for link in _LINK.findall(bar)):
                if _name_of(link) == name and "tab=" in link:
                    tabs[f"{name}-{link.rpartition('tab=')[2]}"] = link
    return found | {key: link for key, link in tabs.items() if link not in found.values()}


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProgram]:
    """One for all tests that only look: its clock stands, and looking changes nothing."""
    with ServerProgram.start(tmp_path_factory.mktemp("furnished") / "region", "--clock", "virtual") as started:
        something_of_everything(started)
        yield started


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProgram]:
    with ServerProgram.start(tmp_path_factory.mktemp("empty") / "region", "--clock", "virtual") as started:
        yield started


def _keep_both(somebody: Visitor, page: Page, name: str) -> None:
    """The page is light; a dark look at it is judged by its colours."""
    keep_shot(page, f"{name}-light")
    with somebody.by_other_light("dark"):
        keep_shot(page, f"{name}-dark")


@sizes
def test_every_page_can_be_read_and_used(browser: Browser, furnished: ServerProgram, size: tuple[int, int]) -> None:
    """No error, no breach of the policy, nothing that axe finds, nothing wider than the window."""
    addresses = addresses_of_all_pages(furnished.control)
    assert {page.name for page in PAGES} - addresses.keys() == _NOT_HERE.keys()
    assert {"vm-sees", "vm-instance", "vm-faults", "vm-activity", "scale-set-configuration"} <= addresses.keys()
    with visitor(browser, furnished.control, size) as somebody:
        for name, page in somebody.through({**addresses, **_MORE}):
            assert page.locator("h1").count() == 1, name
            _keep_both(somebody, page, f"{name}-{size[0]}")


@sizes
def test_the_pages_of_an_empty_region_can_be_read_and_used_too(
    browser: Browser, empty: ServerProgram, size: tuple[int, int]
) -> None:
    addresses = addresses_of_all_pages(empty.control)
    of_something = {page.name for page in PAGES if "{" in page.path}
    assert {page.name for page in PAGES} - addresses.keys() <= of_something | _NOT_HERE.keys()
    with visitor(browser, empty.control, size) as somebody:
        for name, page in somebody.through(addresses):
            _keep_both(somebody, page, f"{name}-{size[0]}-empty")


@sizes
def test_whoever_has_to_sign_in_can_read_and_use_the_pages_for_that(
    browser: Browser, guarded: ServerProgram, size: tuple[int, int]
) -> None:
    """And a page that is not there, whose answer is an error on the console too."""
    with visitor(browser, guarded.control, size) as somebody:
        for name, page in somebody.through({"sign-in": "/portal/sign-in?back=/portal/vms"}):
            _keep_both(somebody, page, f"{name}-{size[0]}")
        sign_in(somebody)
        somebody.expect_complaint("status of 404")
        for name, page in somebody.through({"sign-out": "/portal/sign-out", "problem": "/portal/vms/nobody"}):
            somebody.expect_complaint("status of 404")
            assert page.locator("h1").count() == 1, name
            _keep_both(somebody, page, f"{name}-{size[0]}")
