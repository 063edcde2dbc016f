"""Every page there is, as a laptop and a phone show it, light and dark. The pictures are kept to be looked at."""

from __future__ import annotations

import re
from urllib.request import urlopen

import pytest

from forewarn.web.portal.pages import PAGES
from tests.e2e.program import ServerProgram
from tests.portal.browser import LAPTOP, PHONE, Theme, keep_shot
from tests.portal.conftest import Visit
from tests.portal.regions import something_of_everything

_LINK = re.compile(r'href="(/portal/[^"#]*)"')
_MOST_LOOKED_AT = 150


def one_address_for_each_page(origin: str) -> dict[str, str]:
    """Page name -> the first address of it that links lead to."""
    patterns = {page.name: re.compile(re.sub(r"\{\w+\}", "[^/]+", f"/portal{page.path}")) for page in PAGES}
    found: dict[str, str] = {}
    seen, ahead = set[str](), ["/portal/"]
    while ahead and len(seen) < _MOST_LOOKED_AT and len(found) < len(patterns):
        address = ahead.pop(0)
        path = address.partition("?")[0]
        name = next((name for name, pattern in patterns.items() if pattern.fullmatch(path)), "")  # as routes do
        if address in seen or name in found or address.startswith("/portal/static/"):
            continue
        seen.add(address)
        with urlopen(f"{origin}{address}", timeout=60) as answer:
            if answer.headers.get_content_type() != "text/html":
                continue  # a file to be kept
            found[name] = address
            ahead += [link.replace("&amp;", "&") for link in _LINK.findall(answer.read().decode())]
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_every_page_can_be_read_and_used(
    visit: Visit, server: ServerProgram, size: tuple[int, int], theme: Theme
) -> None:
    """No error, no breach of the policy, nothing that axe finds, nothing wider than the window."""
    something_of_everything(server)
    addresses = one_address_for_each_page(server.control)
    assert {"overview", "vms"} <= addresses.keys()
    with visit(size, theme) as visitor:
        for name, page in visitor.through(addresses):
            assert page.locator("h1").count() == 1, name
            keep_shot(page, f"{name}-{size[0]}-{theme}")


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_pages_of_an_empty_region_can_be_read_and_used_too(
    visit: Visit, server: ServerProgram, size: tuple[int, int]
) -> None:
    with visit(size) as visitor:
        for name, page in visitor.through(one_address_for_each_page(server.control)):
            keep_shot(page, f"{name}-{size[0]}-empty")
