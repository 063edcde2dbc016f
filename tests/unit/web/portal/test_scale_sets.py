"""Scale sets in the portal: the published steps word for word, an existing set's configuration, and who is awaited."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.unit.web.portal.conftest import Browser, OpenPortal, filled_by
from tests.unit.web.portal.samples import before_it_is_true
from tests.unit.web.portal.visitor import Element, read

pytestmark = pytest.mark.anyio


def _link(page: Element, text: str) -> str:
    return next(each.attributes["href"] for each in page.all("a") if each.text == text)


def _form(page: Element, path: str) -> Element:
    (found,) = [each for each in page.all("form") if urlsplit(each.attributes["action"]).path == path]
    return found


async def _pressed(browser: Browser, form: Element, button: str, **typed: str) -> Element:
    """A form with method GET, filled in and sent by one of its buttons."""
    (found,) = [each for each in form.all("button") if each.text == button]
    action = found.attributes.get("formaction", form.attributes["action"])
    answer = await browser.client.get(action, params={**filled_by(form), **typed})
    assert answer.status_code == 200, answer.text
    return read(answer.text)


async def _pool(browser: Browser, **spec: object) -> None:
    await browser.ask("/v1/scale-sets", {"name": "pool", "capacity": 5, **spec}, 201)


async def test_the_published_steps_can_be_followed_word_for_word(open_portal: OpenPortal) -> None:
    """Virtual machine scale sets, + Add, Management, Instance termination, On, Termination delay, Review + create."""
    async with open_portal() as browser:
        sets = await browser.page("/portal/scale-sets")
        assert [each.text for each in sets.all("h1")] == ["Virtual machine scale sets"]
        basics = await browser.page(_link(sets, "+ Add"))
        management = await _pressed(
            browser, _form(basics, "/portal/new-scale-set/management"), "Next: Management", name="web"
        )
        assert "Instance termination" in [each.text for each in management.all("h2")]
        assert "Instance termination notification" in [each.text for each in management.all("legend")]
        assert "Termination delay (minutes)" in [each.text for each in management.all("label")]
        review = await _pressed(
            browser, _form(management, "/portal/new-scale-set/review"), "Review + create", notification="On", delay="10"
        )
        assert "Creating it makes 2 instances: web_0, web_1." in review.text
        assert "Validation passed." in [each.text for each in review.all("strong")]
        assert browser.plane.seq == 0

        form = _form(review, "/portal/do/create-scale-set")
        answer = await browser.send(form.attributes["action"], filled_by(form))

        assert answer.status_code == 303, answer.text
        made = await browser.api("/v1/scale-sets/web")
        assert (made["terminate_notice_seconds"], made["instances_total"]) == (600, 2)
        assert "web" in (await browser.page(answer.headers["Location"])).text


async def test_what_is_filled_in_goes_along_from_step_to_step_and_back(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        basics = await browser.page("/portal/new-scale-set")
        management = await _pressed(
            browser, _form(basics, "/portal/new-scale-set/management"), "Next: Management",
            name="web", capacity="7", tags="team=web\nstage=a",
        )  # fmt: skip
        form = _form(management, "/portal/new-scale-set/review")
        again = await _pressed(browser, form, "Previous", notification="On", delay="12")
        kept = filled_by(_form(again, "/portal/new-scale-set/management"))
    assert (kept["name"], kept["capacity"], kept["notification"], kept["delay"]) == (["web"], ["7"], ["On"], ["12"])
    assert kept["tags"][0].split() == ["team=web", "stage=a"]


async def test_a_notification_for_spot_instances_is_refused_beside_it_and_nothing_is_made(
    open_portal: OpenPortal,
) -> None:
    async with open_portal() as browser:
        query = "name=web&spot=On&notification=On&delay=10"
        management = await browser.page(f"/portal/new-scale-set/management?{query}")
        review = await browser.page(f"/portal/new-scale-set/review?{query}")
        (beside,) = [each for each in management.walk() if each.attributes.get("class") == "error"]
        assert beside.attributes["id"] == "error-notification"
        assert beside.text == "Terminate notifications cannot be enabled on Spot VMs."
        assert beside.text in review.text
        assert "Create" not in [each.text for each in review.all("button")]
        assert _link(review, "Change it").startswith("/portal/new-scale-set/management?")
        assert browser.plane.seq == 0


@pytest.mark.parametrize(
    ("query", "sentence", "step"),
    [
        ("name=web&notification=On&delay=3", "between 5 and 15 minutes", "management"),
        ("name=web&notification=On&delay=soon", "write a number", "management"),
        ("name=%3Cb%3E", "<b>", ""),
        ("capacity=x&name=web", "write a whole number", ""),
        ("", "Scale set name is missing.", ""),
    ],
)
async def test_what_cannot_be_made_says_why_and_leads_to_its_step(
    open_portal: OpenPortal, query: str, sentence: str, step: str
) -> None:
    async with open_portal() as browser:
        review = await browser.page(f"/portal/new-scale-set/review?{query}")
        assert sentence in review.text
        assert urlsplit(_link(review, "Change it")).path == f"/portal/new-scale-set{'/' if step else ''}{step}"
        assert browser.plane.seq == 0


async def test_an_existing_set_gets_its_notification_and_says_who_has_the_old_model(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await _pool(browser, terminate_notice_seconds=300)
        page = await browser.page("/portal/scale-sets/pool?tab=configuration")
        form = filled_by(_form(page, "/portal/do/configure-scale-set"))
        assert (form["notification"], form["delay"]) == (["On"], ["5"])
        query = "&".join(f"{name}={value[0]}" for name, value in {**form, "delay": ["10"]}.items())
        saved = await browser.confirm(f"/portal/do/configure-scale-set?{query}")
        assert saved.status_code == 303, saved.text

        page = await browser.page("/portal/scale-sets/pool")
        assert "5 instances still have the old model." in page.text
        assert page.text.count("has 5 min, the model says 10 min") == 5
        upgraded = await browser.confirm(_link(page, "Upgrade all"))
        assert upgraded.status_code == 303, upgraded.text
        after = await browser.page("/portal/scale-sets/pool")
        assert "still have the old model" not in after.text
        assert {vm["terminate_notice_seconds"] for vm in (await browser.api("/v1/scale-sets/pool"))["instances"]} == {
            600
        }


async def test_instances_that_go_show_their_event_and_whom_it_waits_for(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await _pool(browser, terminate_notice_seconds=300)
        await browser.ask("/v1/vms/pool_0/read", None, 200)
        deleted = await browser.confirm("/portal/do/delete-instances?scale_set=pool&vm=pool_1&vm=pool_2", number="2")
        assert deleted.status_code == 303, deleted.text
        rows = {
            each.attributes["id"]: each.text
            for each in (await browser.page("/portal/scale-sets/pool")).all("tr")
            if "id" in each.attributes
        }
        assert "Terminate" in rows["instance-pool_1"]
        assert "waits for pool_1, pool_2" in rows["instance-pool_1"]
        (event,) = (await browser.api("/v1/events", vm="pool_1"))["events"]
        await browser.ask("/v1/events/approve", {"ids": [event["id"]]}, 200)
        approved = (await browser.page("/portal/scale-sets/pool")).text
        assert "waits for pool_2 " in approved


async def test_scaling_in_says_who_goes(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await _pool(browser)
        before = browser.plane.seq
        page = await browser.page("/portal/do/scale?scale_set=pool&capacity=3")
        told = await browser.ask("/v1/scale-sets/pool/scale?dry_run=true", {"capacity": 3})
        assert before_it_is_true(told) in page.text
        assert len(told["at_once"]) == 2
        assert browser.plane.seq == before


async def test_a_set_that_nobody_reads_for_says_that_deletions_happen_at_once(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await _pool(browser, terminate_notice_seconds=300)
        assert (
            "Nobody has read scheduled events for placement-group/pool~0"
            in (await browser.page("/portal/scale-sets/pool")).text
        )
        await browser.ask("/v1/vms/pool_0/read", None, 200)
        assert "Nobody has read" not in (await browser.page("/portal/scale-sets/pool")).text


async def test_a_large_set_comes_in_pages(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/scale-sets", {"name": "many", "capacity": 120}, 201)
        first = await browser.page("/portal/scale-sets/many")
        second = await browser.page(_link(first, "Next"))
        third = await browser.page(_link(second, "Next"))
    counts = [len([each for each in page.all("tr") if "id" in each.attributes]) for page in (first, second, third)]
    assert counts == [50, 50, 20]
    assert "Next" not in [each.text for each in third.all("a")]


async def test_a_set_that_is_not_there_is_a_page_that_says_so(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await _pool(browser)
        page = await browser.page("/portal/scale-sets/poo", 404)
    assert "Did you mean 'pool'?" in page.text
