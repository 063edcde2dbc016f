"""What is done from the portal: first it says exactly what will happen, then that happens, and nothing else."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from forewarn.cli.main import build_parser
from forewarn.plane.clock import RealClock
from forewarn.web.portal.ahead import ahead
from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.deeds.deed import Outlook
from forewarn.web.portal.forms import fill
from tests.unit.web.portal.conftest import Browser, OpenPortal
from tests.unit.web.portal.regions import HOSTILE, small
from tests.unit.web.portal.samples import SAMPLES, before_it_is_true, filled_in
from tests.unit.web.portal.visitor import Element

pytestmark = pytest.mark.anyio


_DONE = re.compile(r"(?<!will be )(?:created|scheduled|approved|canceled|changed)\b[.,]|was |were |had to")
_NO_DRY_RUN = ("/v1/clock", "/v1/faults")  # turned by the forecast's word; and what is no command


async def _state(browser: Browser) -> tuple[object, ...]:
    return browser.plane.seq, browser.plane.region, browser.plane.now()


def _outcome(page: Element) -> str:
    (found,) = [each for each in page.walk() if each.attributes.get("class") == "outcome"]
    return found.text


async def test_a_restart_says_what_will_happen_and_then_that_happens(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        before = await _state(browser)
        page = await browser.page("/portal/do/restart?vm=web-2&back=/portal/vms")
        assert _outcome(page) == "1 Reboot event will be scheduled, not before 12:15:00 UTC."
        assert await _state(browser) == before

        answer = await browser.confirm("/portal/do/restart?vm=web-2&back=/portal/vms")

        assert answer.status_code == 303
        assert answer.headers["Location"].startswith("/portal/vms?did=")
        (event,) = (await browser.api("/v1/events", vm="web-2"))["events"]
        assert (event["type"], event["phase"], event["not_before"]) == ("Reboot", "scheduled", "2026-01-01T12:15:00Z")
        news = (await browser.page(answer.headers["Location"])).text
        assert "1 Reboot event scheduled, not before 12:15:00 UTC" in news


async def test_activity_tells_the_door_and_the_request(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        answer = await browser.confirm("/portal/do/stop?vm=web-2")
        (last,) = (await browser.api("/v1/activity", limit=1))["activity"]
    assert (last["door"], last["who"], last["text"]) == ("portal", "", "stop VMs")
    assert f"did={last['request_id']}&" in answer.headers["Location"]


async def test_the_outlook_is_what_the_dry_run_of_the_api_tells(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        for key in ("restart", "redeploy", "reimage", "stop", "deallocate", "delete"):
            told = await browser.ask(f"/v1/vms/{key}?dry_run=true", {"names": ["web-2", "lone"]})
            assert _outcome(await browser.page(f"/portal/do/{key}?vm=web-2&vm=lone")) == before_it_is_true(told)


async def test_what_has_changed_since_it_was_shown_is_shown_again_and_not_done(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page("/portal/do/restart?vm=lone")
        (seen,) = [each.attributes["value"] for each in page.all("input") if each.attributes["name"] == "seen"]
        assert "at once" in _outcome(page)
        await browser.ask("/v1/vms/lone/read", None, 200)
        before = await _state(browser)

        answer = await browser.send("/portal/do/restart", {"vm": "lone", "seen": seen})

        assert answer.status_code == 409
        assert "What would happen has changed since you looked" in answer.text
        assert "1 Reboot event will be scheduled" in answer.text
        assert await _state(browser) == before


@pytest.mark.parametrize("form", [{"vm": "web-2"}, {"vm": "web-2", "seen": "0"}, {"vm": "web-1", "seen": "{seen}"}])
async def test_nothing_is_done_that_nobody_was_shown(open_portal: OpenPortal, form: dict[str, str]) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page("/portal/do/restart?vm=web-2")
        (seen,) = [each.attributes["value"] for each in page.all("input") if each.attributes["name"] == "seen"]
        before = await _state(browser)

        answer = await browser.send("/portal/do/restart", {key: value.format(seen=seen) for key, value in form.items()})

        assert answer.status_code == 409
        assert await _state(browser) == before


async def test_what_cannot_be_taken_back_wants_its_number(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        before = await _state(browser)
        for wrong in ("", "2", "one", HOSTILE[0]):
            answer = await browser.confirm("/portal/do/delete?vm=off", number=wrong)
            assert answer.status_code == 400
            assert "Type 1, the number of VMs that this hits, to confirm." in answer.text
            assert await _state(browser) == before
        assert (await browser.confirm("/portal/do/delete?vm=off", number=" 1 ")).status_code == 303
        assert "off" not in browser.plane.region.vms


async def test_more_than_twenty_vms_want_their_number(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "many", "count": 21}, 201)
        twenty = "&".join(f"vm=many-{number}" for number in range(20))
        before = await _state(browser)
        assert (await browser.confirm(f"/portal/do/stop?{twenty}&vm=many-20")).status_code == 400
        assert await _state(browser) == before
        assert (await browser.confirm(f"/portal/do/stop?{twenty}&vm=many-20", number="21")).status_code == 303
        assert (await browser.confirm(f"/portal/do/start?{twenty}")).status_code == 303


async def test_a_refusal_is_the_same_page_with_the_sentence_and_what_was_typed(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        before = await _state(browser)
        told = await browser.client.post("/v1/vms/restart", json={"names": ["web-9"]})
        page = await browser.page("/portal/do/restart?vm=web-9")
        assert told.json()["error"]["message"] in page.text
        assert [each.attributes["value"] for each in page.all("input") if each.attributes["name"] == "vm"] == ["web-9"]
        assert not [each for each in page.all("input") if each.attributes["name"] == "seen"]

        answer = await browser.send("/portal/do/restart", {"vm": "web-9"})

        assert answer.status_code == 404
        assert await _state(browser) == before


@pytest.mark.parametrize("text", HOSTILE)
async def test_a_hostile_name_is_refused_and_the_refusal_is_harmless(open_portal: OpenPortal, text: str) -> None:
    async with open_portal() as browser:
        before = await _state(browser)
        answer = await browser.send("/portal/do/restart", {"vm": text, "back": text})
        assert 400 <= answer.status_code < 500
        assert "<img" not in answer.text
        assert "<script>alert" not in answer.text
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in answer.text
        assert 'href="javascript' not in answer.text
        assert await _state(browser) == before


@pytest.mark.parametrize(
    "back",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "/v1/ping", "/portal//x"],
)
async def test_the_way_back_leads_into_the_portal_and_nowhere_else(open_portal: OpenPortal, back: str) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.client.get("/portal/do/stop", params={"vm": "web-2", "back": back})
        assert back not in page.text
        answer = await browser.confirm("/portal/do/stop?vm=web-2", back=back)
    assert answer.headers["Location"].startswith("/portal/?did=")


async def test_a_deed_that_is_not_there_is_a_page_that_says_so(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        page = await browser.page("/portal/do/nothing", status=404)
    assert "There is no such deed" in page.text


async def test_a_form_that_is_no_form_or_too_large_is_refused(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        before = await _state(browser)
        ours = {"Origin": browser.home}
        for content, kind, status in (
            (b'{"vm": "web-0"}', "application/json", 415),
            (b"vm=web-0", "multipart/form-data", 415),
            (b"vm=" + b"w" * 65_536, "application/x-www-form-urlencoded", 413),
            (b"&".join([b"vm=web-0"] * 201), "application/x-www-form-urlencoded", 400),
            (b"vm=%ff", "application/x-www-form-urlencoded", 400),
        ):
            answer = await browser.client.post(
                "/portal/do/restart", content=content, headers={**ours, "Content-Type": kind}
            )
            assert answer.status_code == status, content[:20]
        assert await _state(browser) == before


def test_every_deed_is_tried_by_these_tests() -> None:
    assert set(SAMPLES) == set(DEEDS)


@pytest.mark.parametrize("key", DEEDS)
async def test_every_deed_can_be_looked_at_and_confirmed(open_portal: OpenPortal, key: str) -> None:
    async with open_portal() as browser:
        await small(browser)
        path = await filled_in(browser, key)
        before = await _state(browser)
        page = await browser.page(path)
        assert await _state(browser) == before
        numbers = [each for each in page.all("input") if each.attributes["name"] == "number"]
        label = next((each.text for each in page.all("label") if each.attributes.get("for") == "field-number"), "")
        typed = {"number": label.split()[1].rstrip(",")} if numbers else {}
        answer = await browser.confirm(path, **typed)
        assert answer.status_code == 303, answer.text


@pytest.mark.parametrize("key", DEEDS)
async def test_every_command_line_of_forewarn_is_one_that_it_takes(open_portal: OpenPortal, key: str) -> None:
    async with open_portal() as browser:
        await small(browser)
        page = await browser.page(await filled_in(browser, key))
    lines = [
        line for each in page.all("pre") for line in "".join(each.texts).splitlines() if line.startswith("forewarn ")
    ]
    assert lines, f"{key} has no command line, and does not say why"
    for line in lines:
        assert build_parser().parse_args(shlex.split(line)[1:])


@pytest.mark.parametrize("key", DEEDS)
async def test_the_request_behind_a_deed_does_the_same(open_portal: OpenPortal, key: str) -> None:
    """The curl twin's own words, sent as a dry run: what it answers is what the page shows."""
    async with open_portal() as browser:
        await small(browser)
        path = await filled_in(browser, key)
        deed = DEEDS[key]
        page = await browser.page(path)
        call = deed.call(fill(deed.fields, SAMPLES[key](browser)))
        method, separator = call.method, "&" if "?" in call.path else "?"
        rehearsed = "" if call.path.startswith(_NO_DRY_RUN) else f"{separator}dry_run=true"
        answer = await browser.client.request(method, f"{call.path}{rehearsed}", json=call.body)
        assert answer.is_success, answer.text
        told = answer.json()
    if "message" in told:
        assert before_it_is_true(told) == _outcome(page)
    assert not _DONE.search(_outcome(page))  # nothing of it has happened yet


def test_an_outlook_agrees_with_one_that_differs_only_in_its_instants() -> None:
    assert Outlook("not before 12:15").shape() == Outlook("not before 12:16").shape()
    assert Outlook("", at_once=("a",)).shape() != Outlook("", at_once=("b",)).shape()


async def test_turning_the_clock_says_what_will_happen_on_the_way(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        before = await _state(browser)
        told = _outcome(await browser.page("/portal/do/clock-advance?minutes=15"))
        assert told.startswith("The clock will go to 12:15:00 UTC. On the way ")
        assert "12:15:00 UTC: web-0: Started." in told or "more." in told
        assert await _state(browser) == before

        answer = await browser.confirm("/portal/do/clock-advance?minutes=15")

        assert answer.status_code == 303
        assert f"{browser.plane.now():%H:%M:%S}" == "12:15:00"


async def test_a_real_clock_cannot_be_turned_and_says_so(open_portal: OpenPortal) -> None:
    async with open_portal(clock=RealClock()) as browser:
        answer = await browser.client.get("/portal/do/clock-advance?minutes=15")
        assert "A real clock cannot be turned" in answer.text
        assert "clock-next" not in str([link.attributes for link in (await browser.page("/portal/")).all("a")])


async def test_a_fault_rule_is_added_and_cleared_from_its_page(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        told = _outcome(await browser.page("/portal/do/fault-add?kind=gone&vm=web-0&times=3"))
        assert told.startswith("For web-0, 3 times: the answer is 410 Gone.")
        assert len((await browser.api("/v1/faults"))["faults"]) == 1
        await browser.confirm("/portal/do/fault-add?kind=gone&vm=web-0&times=3&back=/portal/faults")
        rules = (await browser.api("/v1/faults"))["faults"]
        assert [rule["kind"] for rule in rules] == ["throttled", "gone"]
        await browser.confirm(f"/portal/do/fault-clear?fault={rules[0]['id']}")
        assert [rule["kind"] for rule in (await browser.api("/v1/faults"))["faults"]] == ["gone"]
        missing = await browser.client.get("/portal/do/fault-clear?fault=99")
        assert "There is no fault rule 99." in missing.text


# As the operator's outcomes tell it, and as a confirmation must: nothing of it has happened yet.
_TENSES = {
    "3 events scheduled, not before 12:15.": "3 events will be scheduled, not before 12:15.",
    "1 event started at once.": "1 event will start at once.",
    "web-0 was restarted at once, without an event.": "web-0 will be restarted at once, without an event.",
    "2 VMs were rebuilt elsewhere at once, without an event: why.": (
        "2 VMs will be rebuilt elsewhere at once, without an event: why."
    ),
    "2 events approved, 1 started. 1 event still waiting for others of the same work: see awaited.": (
        "2 events will be approved, 1 will start. 1 event will still wait for others of the same work: see awaited."
    ),
    "1 event waiting until another event is done with the VM.": (
        "1 event will wait until another event is done with the VM."
    ),
    "2 events canceled.": "2 events will be taken back.",
    "Joined an event that will do the same: X.": "This joins an event that will do the same: X.",
    "1 VM to be restarted when another event is done, without being told.": (
        "1 VM will be restarted when another event is done, without being told."
    ),
    "Careful: work is open in update domains 0, 1 of s at once.": (
        "Careful: work will be open in update domains 0, 1 of s at once."
    ),
    "Nothing had to be done.": "Nothing has to be done.",
    "No VM lived there, so nobody was hit.": "No VM lives there, so nobody will be hit.",
    "Scale set 'pool' created. 2 instances created: pool_0, pool_1.": (
        "Scale set 'pool' will be created. 2 instances will be created: pool_0, pool_1."
    ),
    "The capacity is 3 now.": "The capacity will be 3.",
    "Scale set 'pool' is gone.": "Scale set 'pool' will be gone.",
}


@pytest.mark.parametrize(("done", "to_come"), _TENSES.items())
def test_a_dry_run_is_told_of_in_the_future(done: str, to_come: str) -> None:
    assert ahead(done) == to_come


@pytest.mark.parametrize(
    ("chosen", "word"),
    [
        ({"cloud_service": ("shop",), "role": ("FrontEnd",)}, "cloud service"),
        ({"count": ("800",)}, "800 resources"),
    ],
)
async def test_new_vms_that_no_template_can_make_have_none_and_the_drawer_says_why(
    open_portal: OpenPortal, chosen: dict[str, tuple[str, ...]], word: str
) -> None:
    deed = DEEDS["create-vms"]
    async with open_portal() as browser:
        await small(browser)
        twins = deed.twins(fill(deed.fields, {"name": ("new",), **chosen}), browser.plane.region)
    (found,) = [twin for twin in twins if twin.door == "ARM template"]
    assert found.lines == ()
    assert word in found.note


async def test_a_template_of_new_vms_makes_their_set_only_where_there_is_none(open_portal: OpenPortal) -> None:
    """To put a set again would put its policy back to the default."""
    deed = DEEDS["create-vms"]
    async with open_portal() as browser:
        await small(browser)
        made = {}
        for name in ("Front", "fresh"):
            twins = deed.twins(fill(deed.fields, {"name": ("new",), "availability_set": (name,)}), browser.plane.region)
            (found,) = [twin for twin in twins if twin.door == "ARM template"]
            made[name] = [each["type"].partition("/")[2] for each in json.loads(found.text)["resources"]]
    assert made == {"Front": ["virtualMachines"], "fresh": ["availabilitySets", "virtualMachines"]}
