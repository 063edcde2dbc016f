"""What people watch: time that passes, a host whose work waits for somebody, a campaign on its way."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from playwright.sync_api import Locator, Page, expect

from tests.e2e.program import ServerProgram
from tests.portal.conftest import Visit
from tests.portal.regions import FRONT, look, tell

BERLIN = ZoneInfo("Europe/Berlin")  # where the visitors' browsers say they are


def _press(page: Page, name: str, **typed: str) -> None:
    """An action of the page, confirmed in its dialog."""
    page.locator(".actions, #part-clock").get_by_role("link", name=name, exact=True).click()
    dialog = page.get_by_role("dialog")
    for label, text in typed.items():
        dialog.get_by_label(label, exact=False).fill(text)
    dialog.get_by_role("button", name=name, exact=True).click()
    expect(page.locator(".notice.good")).to_contain_text("Done:")
    expect(dialog).to_have_count(0)


def _row(page: Page, at: str) -> Locator:
    """What has happened at an instant; what is only foreseen is another row."""
    return page.locator(f"#part-event tbody tr:not(.foreseen):has(time[datetime^='{at[:19]}'])")


def _by_the_clock(text: str) -> str:
    """A sentence with its instants as clocks show them: the API writes ISO 8601, a page hours and the zone."""
    return re.sub(r"(?:\d{4}-\d\d-\d\d[T ])?(\d\d:\d\d:\d\d)(?:Z| UTC)", r"\1", text)


def _in_berlin(at: str) -> str:
    return datetime.fromisoformat(at).astimezone(BERLIN).strftime("%H:%M:%S")


def test_turning_the_clock_shows_each_change_at_its_instant_in_region_and_in_local_time(
    visit: Visit, server: ServerProgram
) -> None:
    tell(server, "/v1/vms", FRONT)
    [event] = tell(server, "/v1/vms/restart", {"names": ["web-0"]})["events"]
    ahead = look(server, f"/v1/forecast?event={event['id']}")["facts"]
    assert len(ahead) >= 3  # it starts, its impact ends, it is over
    with visit() as somebody, visit() as abroad:
        abroad.context.add_cookies([{"name": "forewarn-look", "value": "zone=local", "url": server.control}])
        desk = somebody.open()
        region, local = (each.open(f"/portal/events/{event['id']}") for each in (somebody, abroad))
        expect(local.locator(".lead [data-when]")).to_have_text(_in_berlin(event["not_before"]), use_inner_text=True)
        for at in dict.fromkeys(fact["at"] for fact in ahead):
            expect(_row(region, at)).to_have_count(0)
            desk.bring_to_front()
            _press(desk, "Next")
            assert look(server, "/v1/clock")["now"][:19] == at[:19]
            expect(desk.locator("[data-clock]")).to_have_text(f"{at[11:19]} UTC")
            expect(desk.locator("[data-here]")).to_have_text(f"{_in_berlin(at)[:5]} here")
            for page, told in ((region, f"{at[11:19]} UTC"), (local, _in_berlin(at))):
                page.bring_to_front()
                expect(_row(page, at).locator("time").first).to_have_text(told)
            texts = [_by_the_clock(fact["text"]) for fact in ahead if fact["at"] == at]
            assert [
                _by_the_clock(_row(region, at).nth(place).locator("td").nth(1).inner_text())
                for place in range(len(texts))
            ] == texts


def _shared_host(server: ServerProgram) -> tuple[str, list[dict[str, Any]]]:
    """A host on which VMs of exactly two scopes live, and one VM of each."""
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for vm in look(server, "/v1/vms")["vms"]:
        found[vm["host"]].setdefault(vm["scope"], vm)
    host, scopes = next((host, scopes) for host, scopes in sorted(found.items()) if len(scopes) == 2)
    return host, [scopes[key] for key in sorted(scopes)]


def test_the_work_of_a_host_waits_for_one_scope_and_the_page_says_for_which(
    visit: Visit, server: ServerProgram
) -> None:
    tell(server, "/v1/vms", FRONT)
    tell(server, "/v1/vms", {**FRONT, "name": "db", "availability_set": "data"})
    host, (first, second) = _shared_host(server)
    with visit() as visitor:
        page = visitor.open(f"/portal/hosts/{host}")
        expect(page.locator("#part-host")).to_contain_text("No work is open on this host.")
        _press(page, "Maintain")
        waits = page.locator("#part-host p", has_text="Still awaited")
        expect(waits).to_contain_text(f"Still awaited: {first['scope']}, {second['scope']}.")
        [last] = server.document(first["name"])["Events"]
        other = visitor.open(f"/portal/events/{last['EventId']}").locator("#part-event p", has_text="Awaited:")
        expect(other).to_contain_text(f"2 of the 2 events of {host}'s work: {first['scope']} ({first['name']}), ")
        [event] = server.document(second["name"])["Events"]
        assert server.approve(second["name"], event["EventId"]).status == 200
        expect(other).to_contain_text(
            f"1 of the 2 events of {host}'s work: {first['scope']} ({first['name']}). Approved"
        )
        page.bring_to_front()
        expect(waits).to_contain_text(f"Still awaited: {first['scope']}.")
        about = visitor.open(f"/portal/events/{event['EventId']}")
        expect(about.locator("#part-event")).to_contain_text("approved")
        expect(about.locator("#part-event p", has_text="Awaited:").get_by_role("link")).to_have_text(
            f"{first['scope']} ({first['name']})"
        )
        assert server.approve(first["name"], last["EventId"]).status == 200
        expect(about.locator(".lead")).to_contain_text("started")
        page.bring_to_front()
        expect(waits).to_have_count(0)
        expect(page.locator("#part-host .state-started")).to_have_count(2)


def test_a_campaign_is_paused_resumed_and_canceled_while_its_waves_are_watched(
    visit: Visit, server: ServerProgram
) -> None:
    tell(server, "/v1/vms", FRONT)
    campaign = tell(server, "/v1/campaigns", {"kind": "freeze"})
    assert campaign["waves_total"] >= 3
    with visit() as visitor:
        page = visitor.open(f"/portal/campaigns/{campaign['id']}")
        first, second, third = (page.locator(f"#wave-{number}") for number in (1, 2, 3))
        expect(first).to_contain_text("now")
        tell(server, "/v1/clock/advance", {"seconds": 1800})  # notice, impact and recovery of a wave take 25 minutes
        expect(first).to_contain_text("done")
        expect(second).to_contain_text("now")

        _press(page, "Pause")
        tell(server, "/v1/clock/advance", {"seconds": 3600})
        expect(page.locator("#part-campaign")).to_contain_text("None of its events is open.")
        expect(third).to_contain_text("to come")
        assert look(server, "/v1/events")["events"] == []

        _press(page, "Resume")
        expect(second).to_contain_text("done")
        expect(third).to_contain_text("now")
        [event] = look(server, "/v1/events")["events"]

        _press(page, "Cancel", Type="1")
        expect(page.locator("#part-campaign .state-canceled").first).to_be_visible()
        expect(page.locator("#part-campaign")).to_contain_text("None of its events is open.")
        assert look(server, f"/v1/events/{event['id']}")["phase"] == "canceled"
        expect(page.get_by_role("link", name="Resume")).to_have_count(0)
