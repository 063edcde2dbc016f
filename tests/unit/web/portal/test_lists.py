"""Lists of the portal from either end, hosts by what is asked of them, and a line of activity that unfolds."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from forewarn.plane.read_models.keeping import ReadModels
from forewarn.plane.read_models.making import Models
from tests.unit.web.portal.conftest import Browser, OpenPortal
from tests.unit.web.portal.regions import HOSTILE, small
from tests.unit.web.portal.visitor import Element

pytestmark = pytest.mark.anyio

# page -> the route behind it, where its rows are in the answer, what a row is called, and the column with that
LISTS: dict[str, tuple[str, dict[str, Any], str, str, str]] = {
    "/portal/vms": ("/v1/vms", {}, "vms", "name", "Name"),
    "/portal/hosts": ("/v1/hosts", {}, "hosts", "name", "Name"),
    "/portal/availability-sets": ("/v1/scopes", {"kind": "availability-set"}, "scopes", "name", "Name"),
    "/portal/cloud-services": ("/v1/scopes", {"kind": "cloud-service"}, "scopes", "name", "Name"),
    "/portal/events": ("/v1/events", {"order": "not_before"}, "events", "type", "Type"),
}


def _column(page: Element, label: str) -> list[str]:
    return [each.text for each in page.all("td") if each.attributes.get("data-label") == label]


def _head(page: Element) -> Element:
    (found,) = [each for each in page.all("th") if "aria-sort" in each.attributes]
    return found


async def _told(browser: Browser, path: str) -> list[str]:
    route, query, field, name, _ = LISTS[path]
    return [each[name] for each in (await browser.api(route, **query))[field]]


@pytest.mark.parametrize("path", LISTS)
async def test_the_head_of_a_list_turns_its_order_around_and_back(open_portal: OpenPortal, path: str) -> None:
    label = LISTS[path][-1]
    async with open_portal() as browser:
        await small(browser)
        await browser.ask("/v1/vms", {"name": "back", "availability_set": "back"}, 201)
        await browser.ask("/v1/vms", {"name": "job", "cloud_service": "jobs", "role": "Worker"}, 201)
        told = await _told(browser, path)
        first = await browser.page(path)
        (link,) = _head(first).all("a")
        turned = await browser.page(link.attributes["href"])
        (again,) = _head(turned).all("a")
        assert again.attributes["href"].partition("?")[0] == path
        last = await browser.page(again.attributes["href"])
    assert len(told) > 1
    assert _column(first, label) == _column(last, label) == told
    assert _column(turned, label) == told[::-1]
    assert [_head(page).attributes["aria-sort"] for page in (first, turned)] == ["ascending", "descending"]


async def test_ended_events_begin_with_the_latest_over_all_pages(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "web", "count": 60, "read": True}, 201)
        for number in range(0, 60, 10):
            names = [f"web-{each}" for each in range(number, number + 10)]
            events = (await browser.ask("/v1/vms/restart", {"names": names}))["events"]
            await browser.ask("/v1/events/cancel", {"ids": [event["id"] for event in events]}, 200)
            await browser.ask("/v1/clock/advance", {"seconds": 60}, 200)
        page = await browser.page("/portal/events?tab=ended")
        (onwards,) = [each.attributes["href"] for each in page.all("a") if each.text == "Next"]
        rest = await browser.page(onwards)
    times = [each.attributes["datetime"] for shown in (page, rest) for each in shown.all("tbody")[0].all("time")]
    assert len(times) == 60
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("path", [path for path in LISTS if path != "/portal/events"])
async def test_a_file_of_a_list_is_in_the_order_of_its_page(open_portal: OpenPortal, path: str) -> None:
    async with open_portal() as browser:
        await small(browser)
        await browser.ask("/v1/vms", {"name": "back", "availability_set": "back"}, 201)
        await browser.ask("/v1/vms", {"name": "job", "cloud_service": "jobs", "role": "Worker"}, 201)
        names = await _told(browser, path)
        page = await browser.page(f"{path}?reverse=yes")
        (file,) = [each.attributes["href"] for each in page.all("a") if each.text == "JSON"]
        rows = (await browser.client.get(file)).json()[LISTS[path][2]]
    assert len(names) > 1
    assert [each["name"] for each in rows] == names[::-1]


@pytest.mark.parametrize(("path", "asked"), [("/portal/events", "web-0"), ("/portal/hosts", "health:failing name:x")])
async def test_a_word_that_filters_nothing_is_told_and_nothing_is_listed(
    open_portal: OpenPortal, path: str, asked: str
) -> None:
    """Else somebody would take all rows for those that fit."""
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page(f"{path}?{urlencode({'q': asked})}")
    (told,) = [each.text for each in page.walk() if each.attributes.get("role") == "alert"]
    assert "Nothing is coming" not in page.text
    assert told.startswith(f"'{asked.split()[-1]}' filters nothing. Write what is to fit behind one of ")
    assert _column(page, LISTS[path][-1]) == []


async def test_a_filter_that_no_event_fits_is_no_quiet_region(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        none, ended = await browser.page("/portal/events?q=vm:off"), await browser.page("/portal/events?tab=ended")
    assert "No event fits this filter." in none.text
    assert "Nothing is coming" not in none.text
    assert "Nothing has ended" in ended.text


async def test_activity_calls_a_host_as_all_pages_do(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        await browser.ask("/v1/hosts/fail", {"hosts": ["host-1"]})
        page = await browser.page("/portal/activity?about=host-1")
        of_vm = await browser.page("/portal/vms/web-1?tab=activity")
    for shown in (page, of_vm):
        links = {each.text: each.attributes["href"] for cell in shown.all("td") for each in cell.all("a")}
        assert links["host-1"] == "/portal/activity?about=host%2F1"
        assert "host/1" not in links


async def test_hosts_are_filtered_by_words_and_show_whose_work_is_open(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        await browser.ask("/v1/hosts/maintain", {"hosts": ["host-0"], "kind": "freeze"})
        told = [each["name"] for each in (await browser.api("/v1/hosts", work="yes"))["hosts"]]
        every = await browser.page("/portal/hosts")
        some = await browser.page("/portal/hosts?q=work:yes")
        wrong = await browser.client.get("/portal/hosts", params={"q": f"ud:{HOSTILE[0].replace(' ', '')}"})
    assert _column(some, "Name") == told != []
    marked = dict(zip(_column(every, "Name"), _column(every, "Work"), strict=True))
    assert [name for name, work in marked.items() if work == "open"] == told
    assert wrong.status_code == 200
    assert 'role="alert"' in wrong.text
    assert "<img" not in wrong.text


async def test_a_line_of_activity_unfolds_into_its_facts(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        line = (await browser.api("/v1/activity", about="vm/lone"))["activity"][0]
        closed = await browser.page("/portal/activity")
        row = next(each for each in closed.all("tr") if each.attributes.get("id") == f"line-{line['first_seq']}")
        (unfold,) = [each for each in row.all("a") if each.text.endswith((" fact", " facts"))]
        opened = await browser.page(unfold.attributes["href"].partition("#")[0])
        records = (await browser.api("/v1/journal", after=line["first_seq"] - 1, limit=100))["records"]
    of_line = [each for each in records if each["seq"] <= line["seq"]]
    facts = [each.text for each in opened.all("li") if each.parent is not None and each.parent.tag == "ol"]
    assert not [each for each in closed.all("ol") if "told" in each.attributes.get("class", "")]
    assert unfold.text == f"{len(of_line)} fact{'s' if len(of_line) > 1 else ''}"
    assert len(facts) == len(of_line)
    for told, record in zip(facts, of_line, strict=True):
        assert f"{record['seq']} {record['fact']}" in told


@pytest.mark.parametrize("opened", ["0", "nothing", "9999999999999999999999", HOSTILE[0]])
async def test_a_line_that_is_not_there_unfolds_nothing(open_portal: OpenPortal, opened: str) -> None:
    async with open_portal() as browser:
        await small(browser)
        answer = await browser.client.get("/portal/activity", params={"open": opened})
    assert answer.status_code == 200
    assert 'class="unfolded"' not in answer.text


async def test_activity_is_found_by_who_did_it(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        browser.client.headers["X-Forewarn-Client"] = "anna"
        await browser.ask("/v1/vms/start", {"names": ["off"]})
        told = (await browser.api("/v1/activity", who="ANNA"))["activity"]
        page = await browser.page("/portal/activity?who=anna")
        nobody = await browser.page("/portal/activity?who=ann")
    assert [each["text"] for each in told] == ["start VMs"]
    assert _column(page, "What") == ["start VMs"]
    assert _column(nobody, "What") == []


class _Slow(ReadModels):
    """Read models that are not made, or not brought up to date, within anybody's patience."""

    async def at_hand(self, patience_seconds: float | None = None) -> Models | None:
        return None if patience_seconds is not None else await super().at_hand()


@pytest.fixture
def slow_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planes that are opened from now on have read models that are slow."""
    monkeypatch.setattr("forewarn.plane.plane.ReadModels", _Slow)


@pytest.mark.usefixtures("slow_models")
async def test_lists_that_are_behind_are_shown_as_they_are_and_parts_wait_for_them(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        before = await browser.client.get("/portal/vms")
        await browser.ask("/v1/vms", {"name": "old"}, 201)
        await browser.plane.read_models.at_hand()
        known = browser.plane.seq
        await browser.ask("/v1/vms", {"name": "new"}, 201)
        page = await browser.page("/portal/vms")
        part = await browser.client.get("/portal/vms", headers={"X-Forewarn-Part": "part-vms"})
    assert before.status_code == part.status_code == 503
    assert "All names are put in order for the first time: 0% done. Look again soon." in before.text
    assert 'href="/portal/vms">Look again' in before.text
    assert _column(page, "Name") == ["old"]
    assert [each.attributes["data-seq"] for each in page.all("body")] == [str(known)]
