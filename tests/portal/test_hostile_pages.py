"""Pages of others in a browser that has signed in: another port, another origin, a name that was rebound; cookies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from forewarn.core.region import Region
from forewarn.core.tokens.values import Role
from forewarn.plane.system import SYSTEM
from forewarn.web.access import Grant, Tokens
from forewarn.web.portal.session import TokenSessions
from tests.e2e.program import ServerProgram, ask
from tests.portal.browser import visitor
from tests.portal.guarded import BEARER, TOKEN, everything, sign_in


class _Evil(BaseHTTPRequestHandler):
    """A page of somebody else, on another port of this machine or under another name."""

    def do_GET(self) -> None:
        body = b"<!doctype html><title>kittens</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nothing."""


@contextmanager
def _another_port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Evil) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def _writes(server: ServerProgram) -> list[list[str]]:
    """Every request of the API that may change something, from its own description."""
    described = json.loads(ask(server.control, "/openapi.json", BEARER).body)["paths"]
    names = {"{name}": "odd-0", "{kind}": "vm", "{campaign_id}": "x", "{event_id}": "x", "{fault_id}": "1"}
    found = []
    for path, verbs in described.items():
        for part, name in names.items():
            path = path.replace(part, name)
        found += [[verb.upper(), path] for verb in verbs if verb not in ("get", "head")]
    assert len(found) > 25
    return found


_FETCHES = """async ([target, requests]) => {
  const seen = [];
  for (const [method, path] of requests)
    for (const [mode, type] of [["no-cors", "text/plain"], ["cors", "text/plain"], ["cors", "application/json"]]) {
      const wish = {names: ["odd-1"], name: "evil", kind: "gone", seconds: 60};
      const body = method === "GET" ? undefined : JSON.stringify(wish);
      try {
        const answer = await fetch(target + path, {method, mode, body, credentials: "include",
          headers: body ? {"Content-Type": type} : {}});
        const text = await answer.text();
        if (text || answer.status) seen.push([method, path, answer.status, text.slice(0, 100)]);
      } catch (refused) {}
    }
  return seen;
}"""

_FORM_POSTS = """async ([target, forms]) => {
  const seen = [];
  for (const [path, fields] of forms) {
    const name = "f" + Math.random();
    const frame = document.body.appendChild(Object.assign(document.createElement("iframe"), {name}));
    const form = document.body.appendChild(Object.assign(document.createElement("form"),
      {method: "post", action: target + path, target: frame.name}));
    for (const [name, value] of Object.entries(fields))
      form.append(Object.assign(document.createElement("input"), {name, value}));
    const loaded = new Promise((done) => { frame.onload = done; });
    form.submit();
    await loaded;
    try { if (frame.contentDocument.body.textContent) seen.push(path); } catch (refused) {}
  }
  return seen;
}"""

_LOADS = """async (addresses) => (await Promise.all(addresses.map(([tag, address]) => new Promise((done) => {
  const each = document.createElement(tag);
  each.onload = () => done(address);
  each.onerror = () => done("");
  each.src = address;
  document.body.append(each);
})))).filter(Boolean)"""


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "evil.example"])
def test_a_page_on_another_port_or_of_another_origin_reads_nothing_and_changes_nothing(
    browser: Browser, guarded: ServerProgram, name: str
) -> None:
    """Its browser has signed in, and other ports of a machine are the same site: the cookie goes along."""
    before = everything(guarded)
    with _another_port() as port, visitor(browser, guarded.control) as somebody:
        ours = sign_in(somebody)
        script = str(ours.locator("script[src]").first.get_attribute("src"))
        seen = str(_seen(guarded))
        theirs = somebody.context.new_page()
        theirs.goto(f"http://{name}:{port}/")
        reads = [["GET", path] for path in ("/portal/vms", "/v1/vms", "/v1/changes/stream", "/openapi.json", script)]
        assert theirs.evaluate(_FETCHES, [guarded.control, _writes(guarded) + reads]) == []
        forms = [
            ["/portal/do/stop", {"vm": "odd-1", "seen": seen}],
            ["/portal/preferences", {"theme": "dark"}],
            ["/portal/sign-in", {"token": TOKEN, "name": "evil"}],
            ["/portal/sign-out", {}],
            ["/v1/vms/stop", {'{"names": ["odd-1"], "x': '"}'}],
        ]
        assert theirs.evaluate(_FORM_POSTS, [guarded.control, forms]) == []
        loads = [["script", f"{guarded.control}{script}"], ["img", f"{guarded.control}/portal/vms"]]
        assert theirs.evaluate(_LOADS, loads) == []
        theirs.close()
        ours.reload()
        expect(ours.locator("#vm-odd-1 .state")).to_have_text("running")
        assert [each["name"] for each in somebody.context.cookies() if "look" in str(each["name"])] == []
    assert everything(guarded) == before


def _seen(server: ServerProgram) -> str:
    """The code with which a page of ours would confirm what it has shown."""
    sessions = TokenSessions(Tokens(TOKEN, Region), SYSTEM)
    host = urlsplit(server.control).netloc
    cookie = sessions.cookie(Grant(Role.ADMIN, "anna"), host, "http").partition(";")[0]
    page = ask(server.control, "/portal/do/stop?vm=odd-1", {"Cookie": cookie}).body.decode()
    return page.partition('name="seen" value="')[2].partition('"')[0]


def test_a_name_that_was_rebound_to_this_machine_gets_nothing(browser: Browser, guarded: ServerProgram) -> None:
    before = everything(guarded)
    port = urlsplit(guarded.control).port
    context = browser.new_context()
    try:
        page = context.new_page()
        for path in ("/portal/", "/portal/vms", "/portal/sign-in", "/v1/vms", "/", "/openapi.json"):
            answer = page.goto(f"http://rebound.example:{port}{path}")
            assert answer is not None
            assert answer.status == 400
            assert "odd-" not in page.content()
        assert page.evaluate(_FETCHES, ["", [["GET", "/v1/ping"]]]) == [["GET", "/v1/ping", 400, _refusal(page)]] * 3
        assert context.cookies() == []
    finally:
        context.close()
    assert everything(guarded) == before


def _refusal(page: Page) -> str:
    """What everything under that name says."""
    return str(page.locator("body").text_content())[:100]


@pytest.mark.parametrize("whose", ["another server's", "an old one", "a changed one"])
def test_a_session_that_does_not_hold_leads_to_the_sign_in(
    browser: Browser, guarded: ServerProgram, whose: str
) -> None:
    long_ago = replace(SYSTEM, wall=lambda: SYSTEM.wall() - timedelta(hours=13))
    ours = Tokens(TOKEN, Region)
    sessions = {
        "another server's": TokenSessions(Tokens("another", Region), SYSTEM),
        "an old one": TokenSessions(ours, long_ago),
    }
    maker = sessions.get(whose, TokenSessions(ours, SYSTEM))
    cookie = maker.cookie(Grant(Role.ADMIN, "anna"), urlsplit(guarded.control).netloc, "http")
    name, _, value = cookie.partition(";")[0].partition("=")
    value = value if whose in sessions else f"A{value[1:]}"
    with visitor(browser, guarded.control) as somebody:
        somebody.context.add_cookies([{"name": name, "value": value, "url": guarded.control}])
        page = somebody.open("/portal/vms")
        expect(page.get_by_label("Token")).to_be_visible()
        assert "odd-" not in page.content()
        assert page.evaluate("() => fetch('/v1/vms').then((answer) => answer.status)") == 401
        somebody.expect_complaint("status of 401")


def test_no_script_can_read_the_session(browser: Browser, guarded: ServerProgram) -> None:
    with visitor(browser, guarded.control) as somebody:
        page = sign_in(somebody)
        [session] = [each for each in somebody.context.cookies() if str(each["name"]).startswith("forewarn-")]
        assert (session["httpOnly"], session["sameSite"]) == (True, "Strict")
        assert page.evaluate("() => document.cookie") == ""
        kept = "() => JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])"
        assert TOKEN not in page.evaluate(kept)
