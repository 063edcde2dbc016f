"""Search and settings; and what nodes and faults tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.web.portal.conftest import OpenPortal
from tests.unit.web.portal.regions import small
from tests.unit.web.portal.visitor import read

pytestmark = pytest.mark.anyio


async def rows(open_portal: OpenPortal, path: str, kind: str) -> list[str]:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page(path)
    found = [row for row in page.all("tr") if row.attributes.get("id", "").startswith(f"{kind}-")]
    return [row.all("td")[0].text for row in found]


async def test_a_search_finds_what_the_api_finds_and_the_palette_gets_that_alone(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        told = await browser.api("/v1/search", q="web")
        page = await browser.page("/portal/search?q=web")
        alone = read((await browser.client.get("/portal/search?q=web", headers={"X-Forewarn-Part": "part-found"})).text)
    for each in told["found"]:
        assert each["name"] in page.text
        assert each["name"] in alone.text
    assert alone.all("nav") == []


async def test_settings_are_found_by_what_they_do_and_say_where_they_came_from(open_portal: OpenPortal) -> None:
    assert await rows(open_portal, "/portal/settings?q=FIT", "setting") == ["vms_per_host"]
    assert await rows(open_portal, "/portal/settings?q=zebra", "setting") == []


async def test_the_nodes_page_says_who_answers_vms_beside_this_node(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        browser.app.state.desk = replace(browser.app.state.desk, readers=lambda: (2, 3))
        told = (await browser.api("/v1/nodes"))["beside"]["told"]
        page = await browser.page("/portal/nodes")
    (part,) = (each for each in page.walk() if each.attributes.get("id") == "part-nodes")
    assert len(told) == 2
    assert all(sentence in part.text for sentence in told)


async def test_nodes_and_faults_tell_what_the_api_tells(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        node = (await browser.api("/v1/nodes"))["nodes"][0]
        nodes, faults = await browser.page("/portal/nodes"), await browser.page("/portal/faults")
    assert node["name"] in nodes.text
    assert node["rules"] in nodes.text
    assert "reader" not in nodes.text
    assert "relay" not in nodes.text
    assert "the answer is 429 Too Many Requests" in faults.text
    assert "0 of 3" in faults.text
