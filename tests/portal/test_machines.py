"""Real machines in a browser: adopted after a look at what that means, restarted once, and silent with their engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.program import ServerProgram
from tests.portal.browser import ROOT, visitor
from tests.waiting import until

_ENGINE = ROOT / "examples/engines/twin_engine.py"


@contextmanager
def _engine(socket: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The example of an engine, as its owner would start it, with one machine."""
    socket.unlink(missing_ok=True)
    with subprocess.Popen([sys.executable, _ENGINE, "--machine", "alpha/web-0", "--unix", socket]) as process:
        try:
            until(socket.exists, "the engine's socket")
            yield process
        finally:
            process.kill()


@pytest.fixture
def socket(tmp_path: Path) -> Path:
    return tmp_path / "engine.sock"


@pytest.fixture
def engine(socket: Path) -> Iterator[subprocess.Popen[bytes]]:
    with _engine(socket) as process:
        yield process


@pytest.fixture
def server(tmp_path: Path, socket: Path, engine: subprocess.Popen[bytes]) -> Iterator[ServerProgram]:
    """Of a region file that declares two hosts of that engine, one of which takes part."""
    config = tmp_path / "region.toml"
    config.write_text(
        f"[machines]\nlocks = '{tmp_path}/locks'\nlisting_every = '1s'\nsilent_after = '2s'\ncall_timeout = '5s'\n"
        f"[[engine]]\nname = 'others'\nkind = 'remote'\nnode = 'here'\nsocket = '{socket}'\n"
        "[[host]]\nname = 'alpha'\nengine = 'others'\nadded = true\n[[host]]\nname = 'beta'\nengine = 'others'\n"
    )
    soon = ("--notice-user-restart", "1s", "--recovery-user-restart", "1s")
    with ServerProgram.start(tmp_path / "region", "--config", config, *soon) as started:
        yield started


def _boot_mark(page: Page) -> str:
    return page.locator("#part-vm-state code").inner_text()


def test_a_machine_is_adopted_after_a_look_and_restarted_from_its_page(browser: Browser, server: ServerProgram) -> None:
    with visitor(browser, server.control) as somebody:
        page = somebody.open("/portal/machines")
        expect(page.locator("#declared-beta")).to_contain_text("forewarn host add beta")
        expect(page.locator("#declared-alpha .state")).to_have_text("healthy")
        page.get_by_role("link", name="Ask the engines now").click()
        command = page.get_by_role("row").filter(has_text="alpha/web-0").locator("code").inner_text()
        assert "web-0" in server.forewarn(*command.split()[1:])
        assert command.endswith(" --dry-run")
        somebody.assert_as_good_on_a_phone("machines-to-adopt")
        page.reload()
        expect(page.locator("#machine-web-0")).to_have_count(0)  # nothing has happened yet
        page.goto(f"{server.control}/portal/machines")

        server.forewarn(*command.split()[1:-1])
        expect(page.locator("#machine-web-0")).to_contain_text("alpha/web-0")
        somebody.assert_nothing_amiss()
        somebody.assert_as_good_on_a_phone("machines-with-one")
        page.get_by_role("link", name="web-0", exact=True).click()
        expect(page.locator("#part-vm-state")).to_contain_text("others")
        before = _boot_mark(page)
        page.get_by_role("link", name="Read once as web-0").click()
        page.get_by_role("dialog").get_by_role("button", name="Read").click()
        expect(page.locator(".notice.good")).to_contain_text("Done:")
        page.get_by_role("link", name="Restart").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.locator(".outlook")).to_contain_text("Reboot")
        dialog.get_by_role("button", name="Restart").click()
        expect(page.locator("#part-vm-tab")).to_contain_text("Nothing is coming to web-0.")
        expect(page.locator("#part-vm-state code")).not_to_have_text(before)  # seen without a reload


def test_a_host_whose_engine_is_gone_is_seen_to_be_silent_and_to_come_back(
    browser: Browser, socket: Path, engine: subprocess.Popen[bytes], server: ServerProgram
) -> None:
    server.forewarn("machine", "adopt", "alpha/web-0")
    with visitor(browser, server.control, theme="dark") as somebody:
        page = somebody.open("/portal/machines")
        expect(page.locator("#declared-alpha .state")).to_have_text("healthy")
        engine.kill()
        expect(page.locator("#declared-alpha .state")).to_have_text("silent")
        expect(page.locator("#declared-alpha")).to_contain_text("forewarn host confirm-lost alpha")
        somebody.assert_nothing_amiss()
        page.goto(f"{server.control}/portal/")
        page.locator("#part-map").get_by_role("link", name="1 silent").click()
        expect(page.locator("tbody tr")).to_contain_text("alpha")
        with _engine(socket):
            page.goto(f"{server.control}/portal/hosts/alpha")
            expect(page.locator("#part-host .state").first).to_have_text("healthy")
