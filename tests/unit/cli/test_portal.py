"""``forewarn portal``: where the pages are, and a browser at them without the token in any address."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Region, Run

TOKEN = "open sesame"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a browser was started with; none is started here."""
    found: list[str] = []

    def note(url: str) -> bool:
        found.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", note)
    return found


def test_the_portal_command_prints_where_the_pages_are(
    open_region: Callable[..., Region], run: Run, opened: list[str]
) -> None:
    open_region(portal=True)
    url = run("portal").out.strip()
    assert url.endswith("/portal/")
    assert httpx.get(url, trust_env=False).status_code == 200
    assert run("portal", "--json").json == {"url": url, "opened": False}
    assert opened == []


def test_the_portal_command_opens_the_pages_in_a_browser(
    open_region: Callable[..., Region], run: Run, opened: list[str]
) -> None:
    open_region(portal=True)
    assert run("portal", "--open").out.strip() == opened[0]


def test_a_link_with_a_code_signs_in_once_and_holds_no_token(
    open_region: Callable[..., Region], run: Run, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_region(token=TOKEN, portal=True)
    monkeypatch.setenv("FOREWARN_TOKEN", TOKEN)
    done = run("portal", "--open", "--name", "anna")
    assert done.status == 0
    address, _, code = opened[0].partition("#code=")
    assert address.endswith("/portal/sign-in")
    assert "sesame" not in opened[0] + done.out
    assert code not in done.out
    home = address.removesuffix("/portal/sign-in")
    with httpx.Client(base_url=home, trust_env=False, headers={"Origin": home}) as browser:
        assert browser.get("/portal/").status_code == 303
        assert browser.post("/portal/sign-in", data={"code": code}).status_code == 303
        assert "anna" in browser.get("/portal/").text
    assert httpx.post(address, data={"code": code}, headers={"Origin": home}, trust_env=False).status_code == 401


def test_a_server_without_a_portal_says_how_to_get_one(region: Region, run: Run, opened: list[str]) -> None:
    done = run("portal", "--open")
    assert done.status == 1
    assert "runs without its portal; start it with --portal on." in done.err
    assert opened == []


def test_where_no_browser_starts_the_address_is_told(
    open_region: Callable[..., Region], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_region(portal=True)
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    done = run("portal", "--open")
    assert done.status == 1
    assert "no browser could be started here; open http://" in done.err
