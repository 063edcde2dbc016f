"""What a browser has to load: little, none of it from elsewhere, and the same thing that the source says."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from forewarn.web.portal.static_files import FOLDER, StaticFiles
from tests.unit.web.portal.conftest import OpenPortal

_SCRIPTS = sorted(FOLDER.glob("*.js"))
_SCRIPT_LINES = 200


@pytest.mark.parametrize("script", _SCRIPTS, ids=lambda path: path.name)
def test_a_script_holds_one_idea(script: Path) -> None:
    assert len(script.read_text().splitlines()) <= _SCRIPT_LINES


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "most", "most_packed"), [("js", 40_000, 14_000), ("css", 24_000, 6_000)])
async def test_what_a_browser_loads_is_small(open_portal: OpenPortal, kind: str, most: int, most_packed: int) -> None:
    files = StaticFiles()
    plain, packed = 0, 0
    async with open_portal() as browser:
        for path in FOLDER.glob(f"*.{kind}"):
            served = (await browser.client.get(files.url(path.name))).content  # the client unpacks it
            plain, packed = plain + len(served), packed + len(gzip.compress(served, 9))
    assert 0 < plain <= most
    assert 0 < packed <= most_packed


@pytest.mark.anyio
async def test_comments_are_stripped_from_what_browsers_load_and_nothing_else_is(open_portal: OpenPortal) -> None:
    files = StaticFiles()
    async with open_portal() as browser:
        script = (await browser.client.get(files.url("page.js"))).text
        sheet = (await browser.client.get(files.url("portal.css"))).text
    assert "@param" not in script
    assert "export function make(tag, given, ...content) {\nconst made = document.createElement(tag);\n" in script
    assert sheet.startswith("@layer reset,base,frame,")
    assert "--ground:light-dark(#f4f6f8,#101418);" in sheet
