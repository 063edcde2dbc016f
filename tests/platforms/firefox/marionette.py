"""Debian's Firefox, driven by Marionette, the protocol that it speaks itself.

A message is its length in bytes, a colon, and JSON: ``[0, number, command, parameters]``, answered by ``[1, number,
error, result]`` (firefox-source-docs.mozilla.org, Testing, Marionette, Protocol). The commands are those of WebDriver.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.waiting import PATIENCE_SECONDS, until

FIREFOX = "/usr/bin/firefox-esr"
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # how WebDriver names a reference to an element

# It talks to nobody but the server that is looked at.
_SETTINGS: dict[str, bool | int | str] = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "captivedetect.canonicalURL": "",
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.disable_open_during_load": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.disablePrefetch": True,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "toolkit.telemetry.enabled": False,
}


class MarionetteError(Exception):
    """What Marionette answers to a command that did not work."""


@dataclass
class Firefox:
    """One tab of a browser of its own."""

    wire: socket.socket

    def __post_init__(self) -> None:
        self._numbers, self._left = count(1), b""
        self._hear()  # it says who it is

    def do(self, command: str, **given: Any) -> Any:
        number = next(self._numbers)
        told = json.dumps([0, number, command, given]).encode()
        self.wire.sendall(b"%d:%s" % (len(told), told))
        _, answered, problem, result = self._hear()
        assert answered == number
        if problem:
            raise MarionetteError(f"{command}: {problem['error']}: {problem['message']}")
        return result

    def _hear(self) -> Any:
        while b":" not in self._left:
            self._more()
        length, _, self._left = self._left.partition(b":")
        while len(self._left) < int(length):
            self._more()
        told, self._left = self._left[: int(length)], self._left[int(length) :]
        return json.loads(told)

    def _more(self) -> None:
        found = self.wire.recv(65_536)
        assert found, "Firefox has ended"
        self._left += found

    def open(self, url: str) -> None:
        self.do("WebDriver:Navigate", url=url)

    def script(self, script: str, *given: Any) -> Any:
        """Beside the page's own scripts, so that its policy stays as it is."""
        return self.do("WebDriver:ExecuteScript", script=script, args=list(given))["value"]

    def text(self, selector: str) -> str:
        """What a person reads there; nothing where there is no such element."""
        found: str = self.script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
        return found

    def until_reads(self, selector: str, part: str) -> None:
        until(lambda: part in self.text(selector), f"'{part}' in {selector}", lambda: self.text("body"))

    def click(self, selector: str, text: str = "") -> None:
        """Scrolled to and clicked as by a mouse: what something else covers cannot be clicked."""
        self.do("WebDriver:ElementClick", id=self._find(selector, text))

    def press(self, keys: str) -> None:
        """At what has the focus."""
        element = self.do("WebDriver:GetActiveElement")["value"][_ELEMENT]
        self.do("WebDriver:ElementSendKeys", id=element, text=keys)

    def _find(self, selector: str, text: str) -> str:
        look = (
            "return [...document.querySelectorAll(arguments[0])]"
            ".find((each) => each.checkVisibility() && (!arguments[1] || each.innerText.trim() === arguments[1]))"
        )
        found = until(lambda: self.script(look, selector, text), f"{selector} '{text}'", lambda: self.text("body"))
        element: str = found[_ELEMENT]
        return element

    def complaints(self) -> list[str]:
        """Errors and warnings of pages on the browser's console, breaches of their policy among them."""
        self.do("Marionette:SetContext", value="chrome")
        try:
            told: list[str] = self.script(
                "return Services.console.getMessageArray().map((each) => String(each.message))"
                ".filter((each) => each.includes('http://127.0.0.1'))"
            )
            return told
        finally:
            self.do("Marionette:SetContext", value="content")

    def set_dark(self, dark: bool) -> None:
        self.do("Marionette:SetContext", value="chrome")
        try:
            self.script(
                "Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', arguments[0])",
                int(not dark),
            )
        finally:
            self.do("Marionette:SetContext", value="content")


@contextmanager
def firefox(directory: Path) -> Iterator[Firefox]:
    """A browser with a profile of its own, and its one tab."""
    port, profile = free_port(), directory / "profile"
    profile.mkdir()
    settings = {**_SETTINGS, "marionette.port": port}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items()]
    (profile / "user.js").write_text("".join(lines))
    command = [FIREFOX, "--headless", "--no-remote", "--marionette", "--remote-allow-system-access"]
    log = (directory / "firefox.log").open("wb")
    environment = {
        "HOME": str(directory),
        "PATH": "/usr/bin:/bin",
        "MOZ_HEADLESS_WIDTH": "1366",
        "MOZ_HEADLESS_HEIGHT": "768",
    }
    process = subprocess.Popen([*command, "--profile", str(profile)], env=environment, stdout=log, stderr=log)
    try:
        with _connected(port) as wire:
            browser = Firefox(wire)
            browser.do("WebDriver:NewSession")
            yield browser
            browser.do("Marionette:Quit", flags=["eForceQuit"])
        process.wait(PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()
        log.close()


def _connected(port: int) -> socket.socket:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "Firefox does not answer"
            time.sleep(0.1)
