"""Who comes in where a token is wanted: by the token or a code, once, from a page of ours; and out again."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import datetime, timedelta

import httpx
import pytest
from starlette.datastructures import Headers

from forewarn.core.region import Region
from forewarn.core.tokens.values import Role
from forewarn.plane.system import SYSTEM
from forewarn.web.access import Grant, Tokens
from forewarn.web.portal.session import TokenSessions, cookie_name
from tests.unit.web.portal.conftest import NOON, Browser, OpenPortal
from tests.unit.web.portal.regions import HOSTILE, small

pytestmark = pytest.mark.anyio

TOKEN = "open sesame, please"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


ANNA = Grant(Role.ADMIN, "anna")


class _Hands:
    """A wall clock and a growing one that a test turns."""

    def __init__(self) -> None:
        self.wall: datetime = NOON
        self.elapsed = 0.0
        self.system = replace(SYSTEM, wall=lambda: self.wall, elapsed=lambda: self.elapsed)


def _sessions(hands: _Hands, token: str = TOKEN) -> TokenSessions:
    return TokenSessions(Tokens(token, Region), hands.system)


async def _sign_in(browser: Browser, **form: str) -> httpx.Response:
    return await browser.send("/portal/sign-in", {"token": TOKEN, "name": "", "back": "/portal/vms", **form})


async def test_whoever_has_not_signed_in_is_led_to_the_form_and_back(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN) as browser:
        answer = await browser.client.get("/portal/vms?scope=availability-set%2Ffront")
        assert answer.status_code == 303
        location = answer.headers["Location"]
        assert location == "/portal/sign-in?back=%2Fportal%2Fvms%3Fscope%3Davailability-set%252Ffront"
        form = await browser.page(location)
        (back,) = [each.attributes["value"] for each in form.all("input") if each.attributes["name"] == "back"]
        answer = await browser.send("/portal/sign-in", {"token": TOKEN, "name": "anna", "back": back})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/portal/vms?scope=availability-set%2Ffront")
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith("forewarn-16926=")
        assert cookie.endswith("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict")
        assert (await browser.client.get("/portal/vms")).status_code == 200
        assert (await browser.client.get("/v1/ping")).status_code == 200
        links = [each.attributes["href"] for each in (await browser.page("/portal/vms")).all("a")]
        assert "/portal/sign-out?back=%2Fportal%2Fvms" in links


async def test_the_form_tells_nothing_about_the_region(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN) as browser:
        browser.client.headers.update(BEARER)
        await small(browser)
        del browser.client.headers["Authorization"]
        page = await browser.page("/portal/sign-in")
    assert page.all("nav") == []
    assert "data-seq" not in page.all("body")[0].attributes
    assert "12:00" not in page.text


async def test_the_token_is_never_in_the_cookie(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN) as browser:
        cookie = (await _sign_in(browser, name="anna")).headers["Set-Cookie"]
    body = cookie.partition("=")[2].partition(";")[0].partition(".")[0]
    assert json.loads(base64.urlsafe_b64decode(body + "=="))["name"] == "anna"
    assert TOKEN not in cookie
    assert base64.b64encode(TOKEN.encode()).decode().rstrip("=") not in cookie


async def test_over_https_the_cookie_is_bound_to_the_host(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN, base_url="https://portal.example", hosts=("portal.example",)) as browser:
        cookie = (await _sign_in(browser)).headers["Set-Cookie"]
        assert cookie.startswith("__Host-forewarn=")
        assert cookie.endswith("; HttpOnly; SameSite=Strict; Secure")
        assert (await browser.client.get("/portal/")).status_code == 200


async def test_activity_shows_the_name_beside_what_was_done(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN) as browser:
        browser.client.headers.update(BEARER)
        await small(browser)
        del browser.client.headers["Authorization"]
        await _sign_in(browser, name="  anna \N{RIGHT-TO-LEFT OVERRIDE}" + "x" * 100)
        assert (await browser.confirm("/portal/do/stop?vm=web-2")).status_code == 303
        (last,) = (await browser.api("/v1/activity", limit=1))["activity"]
    assert last["door"] == "portal"
    assert last["who"] == ("anna " + "x" * 100)[:40]


async def test_signing_out_makes_the_browser_forget_it(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN) as browser:
        await _sign_in(browser)
        assert (await browser.client.get("/portal/sign-out")).status_code == 200
        assert (await browser.client.get("/portal/")).status_code == 200, "looking signs nobody out"
        answer = await browser.send("/portal/sign-out", {"back": ""})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/portal/sign-in")
        assert (await browser.client.get("/portal/")).status_code == 303


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + " ", TOKEN[:-1], *HOSTILE])
async def test_a_wrong_token_opens_nothing_and_is_not_repeated(open_portal: OpenPortal, token: str) -> None:
    async with open_portal(token=TOKEN, alone=True) as browser:
        answer = await _sign_in(browser, token=token, name=HOSTILE[1])
        assert answer.status_code == 401
        assert "Set-Cookie" not in answer.headers
        assert "This is not the token of this server." in answer.text
        assert "<script>alert" not in answer.text
        assert (await browser.client.get("/portal/")).status_code == 303


async def test_after_five_wrong_tokens_in_a_minute_an_address_waits() -> None:
    hands = _Hands()
    sessions = _sessions(hands)
    for tried in range(5):
        assert sessions.tries.wait_seconds("192.0.2.1") == 0, tried
        sessions.tries.note("192.0.2.1")
        hands.elapsed += 1
    assert sessions.tries.wait_seconds("192.0.2.1") == 56
    assert sessions.tries.wait_seconds("192.0.2.2") == 0
    hands.elapsed += 56
    assert sessions.tries.wait_seconds("192.0.2.1") == 0


async def test_an_address_that_waits_is_not_let_in_by_the_right_token_either(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN, alone=True) as browser:
        for _ in range(5):
            assert (await _sign_in(browser, token="wrong")).status_code == 401
        answer = await _sign_in(browser)
        assert answer.status_code == 429
        assert "Too many wrong tokens came from this address; try again in " in answer.text
        assert "Set-Cookie" not in answer.headers
        bearer = await browser.client.get("/v1/ping", headers=BEARER)
        assert bearer.status_code == 200, "who shows the token with every request is not held up"


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "x",
        ".",
        "e30.",
        "é",
        "eyJmb3IiOiJzZXNzaW9uIiwidW50aWwiOjk5OTk5OTk5OTk5fQ.0000000000000000000000000000000000000000000000000000000000000000",
    ],
)
async def test_a_cookie_that_nobody_signed_opens_nothing(open_portal: OpenPortal, cookie: str) -> None:
    async with open_portal(token=TOKEN) as browser:
        raw = [(b"cookie", f"forewarn-16926={cookie}".encode())]
        assert (await browser.client.get("/portal/", headers=raw)).status_code == 303
        assert (await browser.client.get("/v1/ping", headers=raw)).status_code == 401


async def test_an_old_cookie_one_of_another_token_and_a_code_as_a_cookie_open_nothing() -> None:
    hands = _Hands()
    ours, others = _sessions(hands), _sessions(hands, "another")

    def opens(sessions: TokenSessions, cookie: str) -> str | None:
        found = sessions.visitor(Headers({"host": "127.0.0.1:16926", "cookie": cookie}), "http")
        return None if found is None else found.name

    cookie = ours.cookie(ANNA, "127.0.0.1:16926", "http").partition(";")[0]
    assert opens(ours, cookie) == "anna"
    assert opens(_sessions(hands), cookie) == "anna", "any node with the token takes it"
    assert opens(others, cookie) is None
    assert opens(ours, f"forewarn-16926={ours.new_code(ANNA)}") is None
    assert opens(ours, cookie.replace("16926", "16927")) is None
    hands.wall += timedelta(hours=12)
    assert opens(ours, cookie) is None


async def test_a_code_opens_once_and_within_a_minute() -> None:
    hands = _Hands()
    sessions = _sessions(hands)
    code, second = sessions.new_code(ANNA), sessions.new_code(ANNA)
    assert code != second
    assert sessions.use_code(code) == ANNA
    assert sessions.use_code(code) is None
    hands.wall += timedelta(seconds=61)
    assert sessions.use_code(second) is None
    assert sessions.use_code("x.y") is None


async def test_a_one_time_code_is_made_with_the_token_and_signs_a_browser_in(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN) as browser:
        assert (await browser.client.post("/v1/portal/code", json={})).status_code == 401
        made = (await browser.client.post("/v1/portal/code", json={"name": "anna"}, headers=BEARER)).json()
        assert made["seconds"] == 60
        answer = await _sign_in(browser, token="", code=made["code"])
        assert answer.status_code == 303
        assert (await browser.client.get("/portal/")).status_code == 200
        again = await _sign_in(browser, token="", code=made["code"])
        assert again.status_code == 401
        assert "it opens once" in again.text


_FOREIGN = [
    {},
    {"Origin": "null"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1:3000"},
    {"Origin": "https://127.0.0.1:16926"},
    {"Origin": "http://localhost:16926"},
    {"Origin": "http://127.0.0.1:16926", "Sec-Fetch-Site": "same-site"},
    {"Origin": "http://127.0.0.1:16926", "Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("headers", _FOREIGN)
@pytest.mark.parametrize("token", ["", TOKEN])
async def test_a_page_that_is_not_ours_changes_nothing(
    open_portal: OpenPortal, headers: dict[str, str], token: str
) -> None:
    """Another origin, another port of the same machine, or one that does not say: with and without a session."""
    async with open_portal(token=token) as browser:
        browser.client.headers.update(BEARER if token else {})
        await small(browser)
        browser.client.headers.pop("Authorization", None)
        if token:
            assert (await _sign_in(browser)).status_code == 303
        page = await browser.page("/portal/do/stop?vm=web-2")
        (seen,) = [each.attributes["value"] for each in page.all("input") if each.attributes["name"] == "seen"]
        before = browser.plane.seq, browser.plane.region
        form = {"vm": "web-2", "seen": seen}
        for path in ("/portal/do/stop", "/portal/sign-in", "/portal/sign-out", "/portal/preferences"):
            answer = await browser.client.post(path, data=form, headers=headers)
            assert answer.status_code == 400, path
            assert "Set-Cookie" not in answer.headers
        if token:
            answer = await browser.client.post("/v1/vms/stop", json={"names": ["web-2"]}, headers=headers)
            assert answer.status_code == 400
        assert (browser.plane.seq, browser.plane.region) == before


async def test_a_session_may_write_through_the_api_from_a_page_of_ours(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN) as browser:
        await _sign_in(browser)
        ours = {"Origin": browser.home, "Sec-Fetch-Site": "same-origin"}
        answer = await browser.client.post("/v1/vms", json={"name": "web-0"}, headers=ours)
        assert answer.status_code == 201


async def test_a_request_with_both_is_judged_by_its_token(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN) as browser:
        await _sign_in(browser)
        wrong = await browser.client.get("/v1/ping", headers={"Authorization": "Bearer wrong"})
        assert wrong.status_code == 401
        right = await browser.client.post("/v1/vms", json={"name": "web-0"}, headers=BEARER)
        assert right.status_code == 201, "no Origin is needed by who shows the token"


async def test_a_live_part_says_that_the_session_has_ended(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN) as browser:
        answer = await browser.client.get("/portal/", headers={"X-Forewarn-Part": "part-nav"})
    assert answer.status_code == 401


async def test_without_a_token_nobody_has_to_sign_in(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        assert (await browser.page("/portal/sign-in")).all("input") == []
        answer = await browser.send("/portal/sign-in", {"back": "/portal/vms"})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/portal/vms")
        assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    ("host", "scheme", "name"),
    [
        ("127.0.0.1:16926", "http", "forewarn-16926"),
        ("[::1]:16926", "http", "forewarn-16926"),
        ("[::1]", "http", "forewarn-80"),
        ("portal.example", "http", "forewarn-80"),
        ("portal.example:8443", "https", "__Host-forewarn"),
        ("portal.example:1;x=y", "http", "forewarn-80"),
    ],
)
def test_the_name_of_the_cookie_tells_the_port(host: str, scheme: str, name: str) -> None:
    assert cookie_name(host, scheme) == name


async def test_preferences_are_kept_in_a_cookie_and_nonsense_in_it_is_the_default(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        answer = await browser.send("/portal/preferences", {"theme": "dark", "zone": "mars", "back": "/portal/vms"})
        assert answer.headers["Location"] == "/portal/vms"
        html = (await browser.page("/portal/vms")).all("html")[0].attributes
        assert (html["data-theme"], html["data-zone"], html["data-keys"]) == ("dark", "utc", "on")
        for cookie in ("theme=<script>", "%%%", "x" * 5000):
            raw = {"Cookie": f"forewarn-look={cookie}"}
            page = await browser.client.get("/portal/vms", headers=raw)
            assert 'data-theme="auto"' in page.text


async def test_a_session_makes_no_code_that_would_prolong_it(open_portal: OpenPortal) -> None:
    async with open_portal(token=TOKEN, alone=True) as browser:
        await _sign_in(browser)
        origin = {"Origin": str(browser.client.base_url).rstrip("/")}
        refused = await browser.client.post("/v1/portal/code", json={}, headers=origin)
        assert refused.status_code == 409
        assert "ask with the token" in refused.json()["error"]["message"]
        assert (await browser.client.post("/v1/portal/code", json={}, headers=BEARER)).status_code == 201
