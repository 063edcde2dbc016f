"""The overview says what the operator API says: counts, where VMs are, hosts, and what is coming."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import CAUSES, Cause
from forewarn.core.specs import VmSpec
from forewarn.plane.ports import Origin
from forewarn.web.portal.drawing.coming import Window
from forewarn.web.portal.drawing.host_map import host_map, told_of
from forewarn.web.portal.written import count
from tests.unit.web.portal.conftest import OpenPortal
from tests.unit.web.portal.regions import nothing, small
from tests.unit.web.portal.visitor import Element

pytestmark = pytest.mark.anyio
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def part(page: Element, name: str) -> Element:
    (found,) = [each for each in page.walk() if each.attributes.get("id") == name]
    return found


async def test_counts_and_domains_are_those_of_the_fleet_and_lead_to_their_vms(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page, fleet = await browser.page("/portal/"), await browser.api("/v1/fleet")
        counts = part(page, "part-counts").text
        assert next(each.text for each in part(page, "part-counts").all("strong")) == str(fleet["vms_total"])
        for power, number in fleet["power"].items():
            assert f"{number} {power}" in counts
        cells = {link.attributes["href"]: link.text for link in part(page, "part-grid").all("a")}
        assert len(cells) == len(fleet["domains"])
        for cell in fleet["domains"]:
            address = f"/portal/vms?q=ud%3A{cell['update_domain']}+fd%3A{cell['fault_domain']}"
            assert cells[address] == str(cell["vms"])


async def test_the_map_draws_the_hosts_of_the_fleet_and_lists_say_the_same(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        told, fleet = (await browser.client.get("/v1/fleet/hosts")).content, await browser.api("/v1/fleet")
        found = part(await browser.page("/portal/"), "part-map")
        notable = {f"host-{number}": told_of(host) for number, host in enumerate(told) if host}
        drawn = {each.attributes["aria-label"] for each in found.all("a") if "aria-label" in each.attributes}
        assert drawn == {f"{name}: {what}" for name, what in notable.items()}
        assert 0 < len(notable) <= 5
        assert [each.attributes["id"] for each in found.all("li")] == [f"map-{name}" for name in notable]
        assert all(what in found.text for what in notable.values())
        counted = {each.text: each.attributes["href"] for each in found.all("a") if "key" in str(each.attributes)}
        for text, address in counted.items():
            rows = (await browser.page(address)).all("tr")[1:]
            assert text.startswith(f"{len(rows)} ")
        assert {
            f"{number} {health}" for health, number in fleet["health"].items() if number and health != "healthy"
        } <= set(counted)


async def test_very_many_events_are_told_by_type_and_wave(open_portal: OpenPortal) -> None:
    names, operator = tuple(f"many-{number}" for number in range(2_000)), Origin("operator")
    async with open_portal() as browser:
        plane = browser.plane
        await plane.submit(c.CreateVms(names, VmSpec(), "seed"), operator)
        await plane.submit(c.Pulse(tuple((name, plane.now()) for name in names)), operator)
        await plane.submit(c.StartCampaign("CAMPAIGN", Cause.FREEZE, (), (), 0), operator)
        await plane.submit(c.RestartVms(names[:5], "again"), operator)
        hosts = [host.name for host in plane.region.hosts.values() if host.update_domain]
        await plane.submit(c.MaintainHosts(tuple(hosts), Cause.REDEPLOY, "hosts"), operator)
        events = [event for event in plane.region.events.values() if event.announced]
        await plane.read_models.at_hand()  # no page waits long for them, and on a busy machine it shows no number yet
        page = await browser.page("/portal/")
        whole, alone = (
            part(page, "part-coming").text,
            await browser.page("/portal/", 200, **{"X-Forewarn-Part": "part-map"}),
        )
    groups = Counter((CAUSES[event.cause].type.value, event.campaign != "") for event in events)
    assert len(events) > 1_000
    for (kind, of_campaign), total in groups.items():
        wave = ", update domain 0" if of_campaign else ""
        assert f"{kind}, {count(total, 'event')}{wave}".replace("\N{NARROW NO-BREAK SPACE}", " ") in whole
    assert part(page, "nav-events").text.endswith(f"{len(events):,}".replace(",", " "))
    assert [each.attributes["id"] for each in alone.walk() if each.attributes.get("id", "").startswith("part-")] == [
        "part-map"
    ]


async def test_every_event_has_a_bar_and_a_row(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        events = (await browser.api("/v1/events"))["events"]
        coming = part(await browser.page("/portal/?span=24h"), "part-coming")
    assert events
    rows = {row.attributes["id"] for row in coming.all("tr") if "id" in row.attributes}
    assert {row for row in rows if row.startswith("event-")} == {f"event-{event['id']}" for event in events}
    assert "lapse-availability-set/front" in rows
    assert sum(each.attributes["class"] == "notice-bar" for each in coming.all("rect")) == len(events)


async def test_very_many_events_are_told_as_few_lines(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "web", "count": 200, "read": True}, 201)
        await browser.ask("/v1/hosts/maintain", {"hosts": [], "kind": "freeze"})
        coming = part(await browser.page("/portal/"), "part-coming")
    assert "Freeze, 200 events" in coming.text
    assert len(coming.all("tr")) - 1 <= 40


async def test_an_empty_region_teaches_how_to_begin(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await nothing(browser)
        page = await browser.page("/portal/")
        assert "forewarn vm create web --count 3" in page.text
        offered = [each.attributes["href"] for each in page.all("a") if "/do/create-" in each.attributes["href"]]
        assert len(offered) == 2
        for address in offered:
            assert (await browser.confirm(address)).status_code == 303
        assert len(browser.plane.region.vms) == 3 + 12


def test_a_map_of_very_many_hosts_stays_small_and_shows_the_worst_of_each_square() -> None:
    told = bytearray(50_000)
    told[7], told[8], told[100], told[49_999] = 4, 2, 3, 8
    drawn = host_map(bytes(told), str)
    assert drawn.columns * drawn.rows <= 630
    assert [(cell.first, cell.state) for cell in drawn.cells] == [("0", "failed"), ("84", "silent"), ("49980", "down")]
    assert (drawn.total, drawn.counts) == (4, {"work": 1, "down": 1})
    assert drawn.worst == [
        ("8", "failed"),
        ("100", "silent"),
        ("49999", "healthy, 1 VM does not run"),
        ("7", "healthy, work is open"),
    ]


def test_a_map_on_which_every_host_has_news_leads_to_them_by_the_row_and_is_as_small() -> None:
    told = bytes([4]) * 590 + bytes([2]) * 10
    drawn = host_map(told, str)
    assert [(cell.first, cell.last, cell.state) for cell in drawn.cells] == [
        (str(first), str(first + 29), "") for first in range(0, 600, 30)
    ]
    assert drawn.cells[-1].text == "30 with something to tell"
    assert {(each.state, each.shade): each.path.count("z") for each in drawn.drawn} == {
        ("work", 4): 590,
        ("failed", 4): 10,
    }
    assert [state for _, state in drawn.worst] == ["failed"] * 5


def test_a_square_is_the_darker_the_more_of_its_hosts_have_work() -> None:
    each, told = 84, bytearray(50_000)
    for square in range(590):
        told[square * each : square * each + square % 85] = bytes([4]) * (square % 85)
    drawn = host_map(bytes(told), str)
    squares = {look.shade: look.path.count("z") for look in drawn.drawn}
    assert sorted(squares) == [1, 2, 3, 4]
    assert sum(squares.values()) == sum(1 for square in range(590) if square % 85)
    assert drawn.counts["work"] == sum(square % 85 for square in range(590))


def test_an_axis_has_few_round_ticks_and_keeps_what_is_beyond_at_its_ends() -> None:
    window = Window(NOON - timedelta(minutes=9), NOON + timedelta(hours=1))
    assert [tick.text for tick in window.ticks()] == ["12:00", "12:10", "12:20", "12:30", "12:40", "12:50", "13:00"]
    assert window.x(NOON - timedelta(days=1)) == 0
    assert window.x(NOON + timedelta(days=1)) == 100
    week = Window(NOON, NOON + timedelta(days=7))
    assert [tick.text for tick in week.ticks()][:2] == ["01-02", "01-03"]
