"""Ways to use a page: by mouse, or by keyboard alone. A flow is written once and walked either way."""

from __future__ import annotations

from typing import Protocol

from playwright.sync_api import Locator

_STOPS_MOST = 150  # of the Tab key on one page; more would mean that it never gets there

# name -> whether scripts run, and whether there is no mouse
WAYS = {"mouse": (True, False), "keyboard": (True, True), "no scripts": (False, False)}


class Hands(Protocol):
    """What people do to a page."""

    def press(self, target: Locator) -> None: ...
    def choose(self, target: Locator) -> None: ...
    def fill(self, target: Locator, text: str) -> None: ...


class Mouse:
    def press(self, target: Locator) -> None:
        target.click()

    def choose(self, target: Locator) -> None:
        target.check()

    def fill(self, target: Locator, text: str) -> None:
        target.fill(text)


class Keyboard:
    """Nothing is focused, pressed or chosen but by keys."""

    def press(self, target: Locator) -> None:
        self._reach(target)
        target.page.keyboard.press("Enter")

    def choose(self, target: Locator) -> None:
        keyboard = target.page.keyboard
        if target.get_attribute("type") != "radio":
            self._reach(target)
            keyboard.press("Space")
            return
        self._reach(target.page.locator(f"input[name={target.get_attribute('name')}]"))  # a group is one stop
        for _ in range(_STOPS_MOST):
            if target.is_checked():
                return
            keyboard.press("ArrowDown")
        raise AssertionError(f"the arrows do not reach {target}")

    def fill(self, target: Locator, text: str) -> None:
        self._reach(target)
        target.page.keyboard.press("Control+a")
        target.page.keyboard.type(text)

    def _reach(self, target: Locator) -> None:
        target.first.wait_for()
        for _ in range(_STOPS_MOST):
            if target.evaluate_all("(elements) => elements.includes(document.activeElement)"):
                return
            target.page.keyboard.press("Tab")
        raise AssertionError(f"the Tab key does not reach {target}")


def hands_of(way: str) -> Hands:
    return Keyboard() if WAYS[way][1] else Mouse()
