"""Finding things on pages: the filter box, search, settings; and what nodes and faults tell."""

from __future__ import annotations

import pytest

from forewarn.core.refusal import Refused
from forewarn.web.operator.schema.listing import VmPage
from forewarn.web.portal.filter_box import read_filter
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


async def test_the_filter_box_finds_vms_by_words_that_must_all_hold(open_portal: OpenPortal) -> None:
    assert await rows(open_portal, "/portal/vms?q=power:deallocated", "vm") == ["off"]
    assert await rows(open_portal, "/portal/vms?q=WEB+ud:1", "vm") == ["web-1"]
    assert await rows(open_portal, "/portal/vms?q=spot:yes", "vm") == ["lone"]
    assert await rows(open_portal, "/portal/vms?q=scope:availability-set/front+name:-2", "vm") == ["web-2"]
    assert await rows(open_portal, "/portal/vms?q=nowhere", "vm") == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("colour:red", "There is no filter 'colour:'; there are"),
        ("limit:5", "There is no filter 'limit:'"),
        ("power:asleep", "'power' is not right: input should be 'running'"),
        ("ud:two", "'ud' is not right"),
        ("one two", "The filter 'name' stands there twice"),
    ],
)
def test_words_that_make_no_sense_are_refused_by_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        read_filter(text, VmPage)
    assert sentence in refused.value.message


async def test_a_refused_filter_stays_in_its_box_beside_the_reason(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        for typed in ("colour:red", "host:host-99"):
            page = await browser.page(f"/portal/vms?q={typed}")
            (box,) = [each for each in page.all("input") if each.attributes["name"] == "q"]
            assert (box.attributes["value"], box.attributes["aria-invalid"]) == (typed, "true")
            (error,) = [each for each in page.all("p") if each.attributes.get("class") == "error"]
            assert error.text


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


async def test_nodes_and_faults_tell_what_the_api_tells(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        node = (await browser.api("/v1/nodes"))["nodes"][0]
        nodes, faults = await browser.page("/portal/nodes"), await browser.page("/portal/faults")
    assert node["name"] in nodes.text
    assert node["rules"] in nodes.text
    assert "the answer is 429 Too Many Requests" in faults.text
    assert "0 of 3" in faults.text
