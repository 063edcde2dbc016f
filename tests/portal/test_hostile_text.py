"""Text that tries to be markup, in a real browser: on every page that shows it, and in every field that takes it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.program import ServerProgram
from tests.portal.browser import PHONE, visitor
from tests.portal.guarded import everything, sign_in
from tests.unit.web.portal.regions import HOSTILE

_SHOWN = ("vms", "vms/odd-0?tab=sees", "vms/odd-0?tab=instance", "vms/odd-0?tab=activity", "events", "activity")
_FORMS = [
    "/portal/vms/new",
    "/portal/new-scale-set",
    "/portal/do/start-campaign",
    "/portal/do/fault-add",
    "/portal/vms",
    "/portal/search",
]


def _assert_harmless(page: Page) -> None:
    """Nothing of the text has become an element, an attribute that runs or an address."""
    found = page.evaluate(
        """() => [...document.querySelectorAll("*")].filter((each) =>
        ["IMG", "IFRAME", "OBJECT", "EMBED", "BASE"].includes(each.tagName)
        || each.tagName === "SCRIPT" && !each.src.startsWith(location.origin + "/portal/static/")
        || [...each.attributes].some((one) => one.name.startsWith("on") || /^\\s*javascript:/i.test(one.value)
            && ["href", "src", "action", "formaction"].includes(one.name)))
        .map((each) => each.outerHTML.slice(0, 200))"""
    )
    assert found == [], page.url


def test_text_that_tries_to_be_markup_is_only_text_on_every_page_that_shows_it(
    browser: Browser, guarded: ServerProgram
) -> None:
    with visitor(browser, guarded.control, PHONE) as somebody:
        page = sign_in(somebody)
        page.on("dialog", lambda dialog: pytest.fail(f"{dialog.message} at {page.url}"))
        for path in _SHOWN:
            page.goto(f"{guarded.control}/portal/{path}")
            _assert_harmless(page)
            somebody.assert_nothing_amiss()
        page.goto(f"{guarded.control}/portal/vms")
        expect(page.locator("main")).to_contain_text(HOSTILE[0])
        expect(page.locator("main")).to_contain_text("⟨U+202E⟩txt.exe")


@pytest.mark.parametrize("text", ["".join(HOSTILE[:5]), HOSTILE[2], HOSTILE[6]], ids=["markup", "address", "long word"])
def test_every_field_takes_hostile_text_as_text_and_what_is_refused_is_repeated_harmlessly(
    browser: Browser, guarded: ServerProgram, text: str
) -> None:
    before = everything(guarded)
    with visitor(browser, guarded.control) as somebody:
        page = sign_in(somebody)
        page.on("dialog", lambda dialog: pytest.fail(f"{dialog.message} at {page.url}"))
        for path in _FORMS:
            page.goto(f"{guarded.control}{path}")
            fields = page.locator("main :is(input:not([type]), [type=text], [type=search], textarea)")
            for field in fields.all():
                field.fill(text)
            assert fields.count() > 0, path
            with page.expect_navigation():
                fields.last.evaluate("(field) => { field.form.noValidate = true; field.form.requestSubmit(); }")
            _assert_harmless(page)
            assert page.url.startswith(f"{guarded.control}/portal/")
        somebody.expect_complaint("status of 4")  # what is refused is an error on the console, too
    assert everything(guarded) == before
