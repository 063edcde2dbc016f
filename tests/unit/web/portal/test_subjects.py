"""What single pages tell: it is what the API tells, and looking changes nothing."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest

from forewarn.web.portal.drawing.axis import WIDTH, Span, axis_of
from forewarn.web.portal.pages.vms import filters_of
from forewarn.web.portal.written import told
from forewarn.web.watched import NotedRead
from forewarn.wire.versions import API_VERSIONS
from tests.unit.web.portal.conftest import NOON, Browser, OpenPortal
from tests.unit.web.portal.regions import HOSTILE, small
from tests.unit.web.portal.visitor import Element

pytestmark = pytest.mark.anyio


def _cells(page: Element, label: str) -> list[str]:
    return [each.text for each in page.all("td") if each.attributes.get("data-label") == label]


async def _event(browser: Browser, vm: str) -> str:
    (event,) = (await browser.api("/v1/events", vm=vm, type="Reboot"))["events"]
    found: str = event["id"]
    return found


async def test_the_list_of_vms_is_that_of_the_api(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page("/portal/vms")
        told = (await browser.api("/v1/vms"))["vms"]
    assert _cells(page, "Name") == [each["name"] for each in told]
    assert _cells(page, "State") == [each["power"] for each in told]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("web", ["web-0", "web-1", "web-2"]),
        ("power:deallocated", ["off"]),
        ("spot:yes", ["lone"]),
        ("web ud:1", ["web-1"]),
        ("scope:availability-set/front", ["web-0", "web-1", "web-2"]),
        ("nothing-like-it", []),
    ],
)
async def test_a_filter_stands_in_the_address(open_portal: OpenPortal, asked: str, names: list[str]) -> None:
    async with open_portal() as browser:
        await small(browser)
        answer = await browser.client.get("/portal/vms", params={"q": asked, "unknown": "ignored"})
        page = await browser.page(str(answer.request.url.raw_path, "ascii"))
    assert _cells(page, "Name") == names
    (box,) = [each for each in page.all("input") if each.attributes.get("name") == "q"]
    assert box.attributes["value"] == asked


@pytest.mark.parametrize("asked", ["power:sideways", "ud:x", "scope:nothing", *HOSTILE])
@pytest.mark.parametrize("path", ["/portal/vms", "/portal/events"])
async def test_a_filter_that_cannot_be_is_told_beside_its_box(open_portal: OpenPortal, path: str, asked: str) -> None:
    async with open_portal() as browser:
        await small(browser)
        answer = await browser.client.get(path, params={"q": asked})
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text


def test_words_with_a_colon_are_filters_and_the_others_a_name() -> None:
    assert filters_of("web power:stopped ud:2") == {"power": "stopped", "ud": "2", "name": "web"}
    assert filters_of("a:b c") == {"name": "a:b c"}
    assert filters_of("  ") == {}


async def test_many_vms_come_in_pages(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "many", "count": 120}, 201)
        names, path = [], "/portal/vms?q=many"
        for _ in range(3):
            page = await browser.page(path)
            names += _cells(page, "Name")
            path = next((each.attributes["href"] for each in page.all("a") if each.text == "Next"), "")
    assert path == ""
    assert names == sorted(f"many-{number}" for number in range(120))


@pytest.mark.parametrize("version", [each.date for each in API_VERSIONS])
async def test_what_a_vm_sees_is_what_it_would_be_sent_and_enables_nothing(
    open_portal: OpenPortal, version: str
) -> None:
    async with open_portal() as browser:
        await small(browser)
        for name in ("web-0", "off"):
            before = browser.plane.seq, browser.plane.region
            page = await browser.page(f"/portal/vms/{name}?tab=sees&api-version={version}")
            sent = await browser.client.get(f"/v1/vms/{name}/document", params={"api-version": version})
            raw = next("".join(each.texts) for each in page.all("pre") if each.attributes.get("id") == "seen-raw")
            laid_out = next("".join(each.texts) for each in page.all("pre") if "id" not in each.attributes)
            assert raw.encode() == sent.content
            assert json.loads(laid_out) == sent.json()
            assert (browser.plane.seq, browser.plane.region) == before


async def test_the_instance_page_shows_the_same_bytes(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page("/portal/vms/web-0?tab=instance&api-version=2021-12-13")
        sent = await browser.client.get("/v1/vms/web-0/instance", params={"api-version": "2021-12-13"})
    raw = next("".join(each.texts) for each in page.all("pre") if each.attributes.get("id") == "seen-raw")
    assert raw.encode() == sent.content


async def test_a_vm_page_offers_what_can_be_done_to_this_vm(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)

        async def offered(name: str) -> set[str]:
            links = [each.attributes["href"] for each in (await browser.page(f"/portal/vms/{name}")).all("a")]
            return {each.split("/do/")[1].partition("?")[0] for each in links if "/portal/do/" in each}

        instance = next(vm.name for vm in browser.plane.region.vms.values() if vm.scale_set)
        assert "evict" in await offered("lone")
        assert "evict" not in await offered("web-0")
        assert "delete" in await offered("web-0")
        assert "delete" not in await offered(instance)
        assert "read" in await offered("off")


async def test_a_vm_that_is_not_there_is_told_with_the_nearest_name(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page("/portal/vms/web-00", status=404)
    assert "There is no VM named 'web-00'" in page.text


async def test_an_event_is_told_until_after_its_end(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        event_id = await _event(browser, "web-0")
        open_page = await browser.page(f"/portal/events/{event_id}")
        ahead = await browser.api("/v1/forecast", event=event_id)
        foreseen = [each for each in open_page.all("tr") if each.attributes.get("class") == "foreseen"]
        assert len(foreseen) == len(ahead["facts"])
        assert [each.text for each in open_page.all("a") if each.text in ("Approve", "Cancel")] == ["Approve", "Cancel"]

        await browser.ask("/v1/clock/advance", {"seconds": 7200}, 200)

        ended = await browser.page(f"/portal/events/{event_id}")
        assert "completed" in ended.all("main")[0].text
        assert [each.text for each in ended.all("a") if each.text in ("Approve", "Cancel")] == []
        story = await browser.api(f"/v1/events/{event_id}")
        now = browser.plane.now()
        assert _cells(ended, "What") == [told(each["text"], now) for each in story["timeline"]]
        listed = await browser.page("/portal/events?tab=ended")
        assert any(event_id in each.attributes["href"] for each in listed.all("a"))


async def test_activity_is_that_of_the_api_newest_first(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page("/portal/activity")
        told = (await browser.api("/v1/activity"))["activity"]
        only = await browser.page("/portal/activity?door=operator&about=web-0")
    assert _cells(page, "What") == [each["text"] for each in reversed(told)]
    assert set(_cells(only, "Door")) == {"operator"}


def test_an_axis_shows_all_its_spans_and_now_in_order() -> None:
    minute = timedelta(minutes=1)
    spans = (
        Span("notice", NOON, NOON + 15 * minute, "Notice", foreseen=True),
        Span("impact", NOON + 15 * minute, NOON + 15 * minute, "Impact", foreseen=True),
        Span("recovery", NOON + 15 * minute, NOON + 25 * minute, "Recovery", foreseen=True),
    )
    axis = axis_of(spans, NOON + 5 * minute)
    assert axis.now is not None
    notice, impact, recovery = axis.bars
    assert 0 < notice.x < axis.now < notice.x + notice.width == recovery.x < recovery.x + recovery.width < WIDTH
    assert impact.width == 0.3
    assert [tick.at for tick in axis.ticks] == [NOON, NOON + 15 * minute, NOON + 25 * minute]


def test_an_axis_of_nothing_is_empty_and_one_of_an_instant_can_be_drawn() -> None:
    assert axis_of((), NOON).bars == ()
    assert axis_of((Span("notice", NOON, NOON, "Notice"),), NOON + timedelta(days=30)).now is None


def _reads(page: Element) -> Element:
    (found,) = [each for each in page.all("section") if each.attributes.get("id") == "part-vm-reads"]
    return found


async def test_the_tab_of_what_a_vm_sees_tells_who_reads_while_it_is_open(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        watched = browser.app.state.desk.watched
        await browser.page("/portal/vms/web-0")
        assert not watched.names
        before = _reads(await browser.page("/portal/vms/WEB-0?tab=sees"))
        elapsed = browser.plane.system.elapsed()
        watched.note("web-0", NotedRead(elapsed - 4, NOON, "2020-07-01", 200, 3, "curl/8 <b>"))
        watched.note("web-0", NotedRead(elapsed - 2, NOON, "2019-01-01", 429, None, ""))
        after = _reads(await browser.page("/portal/vms/web-0?tab=sees"))
    assert "web-0 has not read" in before.text
    assert "data-again" in before.attributes
    assert [re.sub(r"\d+ s ago", "… ago", line.text) for line in after.all("p")] == [
        "web-0 was answered 429 with 2019-01-01, … ago.",
        "web-0 read incarnation 3 with 2020-07-01, … ago, by curl/8 <b>.",
    ]
