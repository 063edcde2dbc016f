"""The page of tokens: a new one is told once, in the answer to the form; one that is taken back holds no more."""

from __future__ import annotations

import re

import pytest

from tests.unit.web.portal.conftest import OpenPortal

pytestmark = pytest.mark.anyio
OWN = "open-sesame-please"
BEARER = {"Authorization": f"Bearer {OWN}"}


async def test_a_new_token_stands_in_the_answer_alone_and_works(open_portal: OpenPortal) -> None:
    async with open_portal(token=OWN) as browser:
        answer = await browser.send("/portal/tokens", {"name": "anna", "role": "operate", "token": OWN}, **BEARER)
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "no-store"
        [token] = re.findall(r'id="made-token">([^<]+)<', answer.text)
        hers = {"Authorization": f"Bearer {token}"}
        assert (await browser.client.get("/v1/vms", headers=hers)).status_code == 200

        page = (await browser.client.get("/portal/tokens", headers=BEARER)).text
        assert ">anna<" in page
        assert "operate" in page
        secret = token.rpartition("-")[2]
        records = str(list(browser.plane.journal.read(0, 1_000)))
        assert not [text for text in (page, records, str(browser.plane.region.tokens)) if secret in text]


async def test_a_token_that_is_taken_back_holds_no_more(open_portal: OpenPortal) -> None:
    async with open_portal(token=OWN) as browser:
        made = await browser.send("/portal/tokens", {"name": "anna", "role": "read", "token": OWN}, **BEARER)
        [token] = re.findall(r'id="made-token">([^<]+)<', made.text)
        [known] = browser.plane.region.tokens.values()
        answer = await browser.send("/portal/tokens", {"revoke": known.id}, **BEARER)
        assert answer.status_code == 303
        told = (await browser.client.get(answer.headers["Location"], headers=BEARER)).text
        assert "revoke a token" in told
        assert ">anna<" not in told
        refused = await browser.client.get("/v1/vms", headers={"Authorization": f"Bearer {token}"})
        assert refused.status_code == 401


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"name": "", "role": "read"}, "name"),
        ({"name": "w" * 41, "role": "read"}, "40"),
        ({"name": "bert", "role": "emperor"}, "read"),
        ({"name": "Anna", "role": "read"}, "already"),
        ({"name": "rita", "role": "relay"}, "VMs"),
        ({"revoke": "nobody"}, "nobody"),
        ({"name": "bert", "role": "read", "token": ""}, "not a token"),
        ({"name": "bert", "role": "read", "token": f"{OWN}!"}, "not a token"),
    ],
)
async def test_what_cannot_be_is_told_at_the_form_and_nothing_has_changed(
    open_portal: OpenPortal, form: dict[str, str], sentence: str
) -> None:
    async with open_portal(token=OWN) as browser:
        await browser.send("/portal/tokens", {"name": "anna", "role": "read", "token": OWN}, **BEARER)
        before = browser.plane.seq
        answer = await browser.send("/portal/tokens", {"token": OWN, **form}, **BEARER)
        [error] = re.findall(r'id="error-\w+" role="alert">([^<]+)<', answer.text)
        assert answer.status_code in (400, 403, 404, 409)
        assert sentence in error
        assert "made-token" not in answer.text
        assert browser.plane.seq == before


async def test_the_token_of_somebody_who_may_only_look_makes_no_other(open_portal: OpenPortal) -> None:
    async with open_portal(token=OWN) as browser:
        made = await browser.send("/portal/tokens", {"name": "anna", "role": "read", "token": OWN}, **BEARER)
        [hers] = re.findall(r'id="made-token">([^<]+)<', made.text)
        answer = await browser.send("/portal/tokens", {"name": "bert", "role": "admin", "token": hers}, **BEARER)
        assert answer.status_code == 403
        assert [each.name for each in browser.plane.region.tokens.values()] == ["anna"]


async def test_where_nobody_is_asked_for_a_token_there_is_no_form_and_no_token_is_made(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        page = await browser.page("/portal/tokens")
        assert [form for form in page.all("form") if form.attributes["action"] == "/portal/tokens"] == []
        assert "FOREWARN_TOKEN" in page.text
        answer = await browser.send("/portal/tokens", {"name": "anna", "role": "read"})
        assert answer.status_code == 409
        assert not browser.plane.region.tokens
