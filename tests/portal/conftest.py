"""A browser a file, a server a test. A file ends its browser, so that other tests of the process may run a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.program import ServerProgram
from tests.portal.browser import PATIENCE_MS, Visitor, chromium, visitor

expect.set_options(timeout=PATIENCE_MS)

Visit = Callable[..., AbstractContextManager[Visitor]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProgram]:
    """A region of a process of its own, whose clock stands until somebody turns it."""
    with ServerProgram.start(tmp_path / "region", "--clock", "virtual") as started:
        yield started


@pytest.fixture
def visit(browser: Browser, server: ServerProgram) -> Visit:
    return partial(visitor, browser, server.control)
