"""What stands around the pages: the way in, headers, static files, what is not there."""

from __future__ import annotations

import gzip
import re

import pytest

from tests.unit.web.portal.conftest import OpenPortal
from tests.unit.web.portal.regions import small

pytestmark = pytest.mark.anyio


async def test_the_navigation_tells_how_many_there_are_of_what_it_leads_to(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await small(browser)
        await browser.ask("/v1/vms", {"name": "other", "availability_set": "back"}, 201)
        page = await browser.page("/portal/nodes")
        for entry, path, field in (
            ("events", "/v1/events", "events"),
            ("vms", "/v1/vms", "vms"),
            ("hosts", "/v1/hosts", "hosts"),
            ("scale-sets", "/v1/scale-sets", "scale_sets"),
            ("campaigns", "/v1/campaigns", "campaigns"),
            ("availability-sets", "/v1/scopes?kind=availability-set", "scopes"),
            ("cloud-services", "/v1/scopes?kind=cloud-service", "scopes"),
        ):
            (shown,) = [each for each in page.walk() if each.attributes.get("id") == f"nav-{entry}"]
            told = (await browser.client.get(path)).json()[field]
            assert told, entry
            assert [each.text for each in shown.all("span")] == [str(len(told))], entry


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types forewarn"
)


async def test_a_browser_at_the_root_is_led_to_the_portal(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        for path in ("/", "/portal"):
            answer = await browser.client.get(path)
            assert (answer.status_code, answer.headers["Location"]) == (303, "/portal/")


async def test_a_portal_that_is_off_is_not_there(open_portal: OpenPortal) -> None:
    async with open_portal(portal=False) as browser:
        for path in ("/", "/portal", "/portal/", "/portal/vms", "/portal/static/x/portal.css"):
            answer = await browser.client.get(path)
            assert answer.status_code == 404, path
            assert answer.json()["error"]["kind"] == "not_found"


@pytest.mark.parametrize("path", ["/portal/", "/portal/nowhere", "/v1/ping", "/v1/nowhere", "/openapi.json"])
async def test_every_answer_of_the_control_face_protects_whoever_opens_it(open_portal: OpenPortal, path: str) -> None:
    async with open_portal() as browser:
        headers = (await browser.client.get(path)).headers
    assert headers["Content-Security-Policy"] == POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
    assert re.fullmatch("[0-9a-f-]{36}", headers["X-Request-Id"])


async def test_what_is_refused_at_the_gate_is_protected_too(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        answer = await browser.client.get("/portal/", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert answer.headers["Content-Security-Policy"] == POLICY


async def test_static_files_are_kept_for_ever_under_their_digest(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        page = await browser.page("/portal/")
        style = next(each for each in page.all("link") if each.attributes["rel"] == "stylesheet").attributes["href"]
        answer = await browser.client.get(style, headers={"Accept-Encoding": "identity"})
        assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        packed = await browser.client.get(style, headers={"Accept-Encoding": "gzip"})
        assert packed.headers["Content-Encoding"] == "gzip"
        assert packed.content == answer.content
        digest = page.all("body")[0].attributes["data-digest"]
        other = await browser.client.get(style.replace(digest, "0123456789abcdef"))
        assert (other.content, other.headers["Cache-Control"]) == (answer.content, "no-store")
        for name in ("nothing.js", "..%2fapp.py", "../app.py", "%2e%2e/app.py"):
            missing = await browser.client.get(style.replace("portal.css", name))
            assert missing.status_code == 404, name


async def test_a_page_is_compressed_for_whoever_takes_that(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        request = browser.client.build_request("GET", "/portal/", headers={"Accept-Encoding": "gzip"})
        answer = await browser.client.send(request, stream=True)
        raw = b"".join([chunk async for chunk in answer.aiter_raw()])
        plain = await browser.client.get("/portal/", headers={"Accept-Encoding": "identity"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(raw) == plain.content
    assert "Content-Encoding" not in plain.headers
    assert plain.headers["Vary"] == "Accept-Encoding, X-Forewarn-Part"


async def test_a_page_that_is_not_there_says_so_as_a_page(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        page = await browser.page("/portal/%3Cscript%3E", status=404)
    assert "There is no such page" in page.all("main")[0].text


async def test_a_method_that_a_page_does_not_take_says_so_as_a_page(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        answer = await browser.client.put("/portal/vms", headers={"Origin": browser.home})
    assert answer.status_code == 405
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
