"""Text that tries to be markup, in a real browser: on every page that shows it, and in every field that takes it."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from forewarn.web.portal.deeds import DEEDS
from forewarn.web.portal.pages import PAGES
from tests.e2e.program import ServerProgram, ask
from tests.portal.browser import PHONE, visitor
from tests.portal.guarded import BEARER, everything, sign_in
from tests.unit.web.portal.regions import HOSTILE

_SHOWN = ("vms", "vms/odd-0?tab=sees", "vms/odd-0?tab=instance", "vms/odd-0?tab=activity", "events", "activity")
# One text with all of it. It begins with an address, because only at the beginning that could become one.
_TEXT = f"{HOSTILE[2]} {''.join(HOSTILE[:5])} {HOSTILE[7]} {HOSTILE[6][:80]}"
_ENTRIES = ":is(input:not([type]), [type=text], [type=search], textarea)"
_NOT_A_PAGE = {"export", "sign-out", "sign-in", "do"}  # files; a button; before the others; each deed by itself

# Where a page that stands for one thing of many has text to type. A new page of that kind needs a row here.
_PLACES = {
    "event": "events/{event}",
    "vm": "vms/odd-0?tab=faults",
    "scale-set": "scale-sets/pool?tab=scaling",
    "scope": "scopes/vm/odd-0",
    "host": "hosts/host-0",
    "campaign": "campaigns/{campaign}",
}


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


def _paths(server: ServerProgram) -> list[str]:
    """Every page of the table of pages."""
    about = {kind: _first(server, f"{kind}s")["id"] for kind in ("event", "campaign")}
    return [
        "/portal/" + _PLACES[page.name].format_map(about) if "{" in page.path else f"/portal{page.path}"
        for page in PAGES
        if page.name not in _NOT_A_PAGE
    ]


def _first(server: ServerProgram, what: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(ask(server.control, f"/v1/{what}?limit=1", BEARER).body)[what][0]
    return found


def _send(page: Page, number: int) -> None:
    """Fill in every entry of a form, and send it as no browser would let one: unchecked."""
    form = page.locator("form").nth(number)
    for field in form.locator(_ENTRIES).all():
        field.evaluate("(field, text) => { field.removeAttribute('maxlength'); field.value = text; }", _TEXT)
    with page.expect_navigation():
        form.evaluate("(form) => { form.noValidate = true; HTMLFormElement.prototype.submit.call(form); }")


def test_every_form_of_every_page_takes_hostile_text_as_text_and_repeats_it_harmlessly(
    browser: Browser, guarded: ServerProgram
) -> None:
    before, sent = everything(guarded), 0
    with visitor(browser, guarded.control) as somebody:
        page = sign_in(somebody)
        page.on("dialog", lambda dialog: pytest.fail(f"{dialog.message} at {page.url}"))
        known = set[str]()
        for path in _paths(guarded):
            page.goto(f"{guarded.control}{path}")
            forms = page.locator("form").evaluate_all(
                "(forms, entries) => forms.map((form) => form.querySelector(entries) ? form.action + ' ' +"
                " [...form.elements].map((each) => each.name).join() : '')",
                _ENTRIES,
            )
            for number in [number for number, form in enumerate(forms) if form and form not in known]:
                known.add(forms[number])
                page.goto(f"{guarded.control}{path}")
                _send(page, number)
                sent += 1
                _assert_harmless(page)
                assert page.url.startswith(f"{guarded.control}/portal/")
        somebody.expect_complaint("status of 4")  # what is refused is an error on the console, too
    assert sent > 10
    assert everything(guarded) == before


def test_every_field_of_every_deed_takes_hostile_text_as_text_and_repeats_it_harmlessly(
    browser: Browser, guarded: ServerProgram
) -> None:
    """By the address of its confirmation: there also those that no form lets anybody type."""
    before, repeated = everything(guarded), 0
    with visitor(browser, guarded.control) as somebody:
        page = sign_in(somebody)
        page.on("dialog", lambda dialog: pytest.fail(f"{dialog.message} at {page.url}"))
        for deed in DEEDS.values():
            given = urlencode([(field.name, _TEXT) for field in deed.fields] + [("back", HOSTILE[2])])
            page.goto(f"{guarded.control}/portal/do/{deed.key}?{given}")
            _assert_harmless(page)
            repeated += "alert(1)" in page.locator("main").inner_text()
        somebody.expect_complaint("status of 4")
    assert repeated > 10
    assert everything(guarded) == before
