"""A browser a file, a server a test. A file ends its browser, so that other tests of the process may run a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.program import ServerProgram, clean_environment
from tests.portal.browser import PATIENCE_MS, Visitor, chromium, visitor
from tests.portal.guarded import TOKEN, make_hostile

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


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProgram]:
    """One for a file: nobody who has no business there may change anything in it."""
    env = clean_environment(FOREWARN_TOKEN=TOKEN)
    with ServerProgram.start(tmp_path_factory.mktemp("guarded") / "region", "--clock", "virtual", env=env) as started:
        make_hostile(started)
        yield started


@pytest.fixture
def visit(browser: Browser, server: ServerProgram) -> Visit:
    return partial(visitor, browser, server.control)
