"""Tokens in a browser: one is made and shown once, somebody signs in with it, and is signed out when it is revoked."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.program import ServerProgram, ask
from tests.portal.browser import visitor
from tests.portal.guarded import BEARER, TOKEN, sign_in
from tests.portal.ways import WAYS, hands_of


@pytest.mark.parametrize("way", WAYS)
def test_a_token_is_shown_once_lets_its_owner_look_and_ends_her_session_when_it_is_revoked(
    browser: Browser, guarded: ServerProgram, way: str
) -> None:
    hands, name = hands_of(way), f"anna-{way.partition(' ')[0]}"
    with (
        visitor(browser, guarded.control, scripts=WAYS[way][0]) as admin,
        visitor(browser, guarded.control, theme="dark") as anna,
    ):
        page = sign_in(admin)
        hands.press(page.get_by_role("link", name="Settings"))
        hands.press(page.get_by_role("link", name="of people and programs"))
        hands.fill(page.get_by_label("Name", exact=True), name)
        hands.choose(page.get_by_role("radio", name="read: look at everything"))
        hands.fill(page.get_by_label("Your own token"), TOKEN)
        hands.press(page.get_by_role("button", name="Make it"))
        token = page.locator("#made-token").inner_text()
        admin.assert_nothing_amiss()
        page.goto(f"{guarded.control}/portal/tokens")
        expect(page.get_by_role("cell", name=name, exact=True)).to_be_visible()
        expect(page.locator("#made-token")).to_have_count(0)
        admin.assert_as_good_on_a_phone("tokens-with-a-row")

        hers = anna.open("/portal/sign-in?back=/portal/vms")
        hers.get_by_label("Token").fill(token)
        hers.get_by_role("button", name="Sign in").click()
        expect(hers.locator("#vm-odd-0")).to_be_visible()
        expect(hers.locator(".bulk button, a[href*='/portal/do/'], input[name=vm]")).to_have_count(0)
        expect(hers.locator(".sign-out")).to_have_text(name)

        row = page.get_by_role("row").filter(has_text=name)
        hands.press(row.locator("summary"))
        hands.press(row.get_by_role("button", name=f"Revoke the token of {name}"))
        expect(page.locator(".notice.good")).to_contain_text("revoke a token")
        expect(page.get_by_role("cell", name=name, exact=True)).to_have_count(0)
        hers.get_by_role("link", name="Events").first.click()
        expect(hers.get_by_label("Token")).to_be_visible()
        anna.expect_complaint("status of 401")  # her open page learns of it when it asks for its parts
    listed = json.loads(ask(guarded.control, "/v1/tokens", BEARER).body)["tokens"]
    assert name not in [each["name"] for each in listed]
