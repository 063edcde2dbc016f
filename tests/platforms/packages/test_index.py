"""Wheel and sdist are fit for a package index: its own checks pass, and no link of the description is dead."""

from __future__ import annotations

import re
import tarfile
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import pytest

from forewarn import __version__
from tests.platforms.packages.built import TOOLS, build, run

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HOME = "https://example.org/forewarn"
_UNCHOSEN = {
    "Your package does not have author data",
    "Your package does not have author-email data",
    "Your package should have a 'url' field with a link to the project home page",
}


@pytest.fixture(scope="module")
def named(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same release from its own sdist, with a home page and an author."""
    room = tmp_path_factory.mktemp("named")
    with tarfile.open(sdist) as archive:
        archive.extractall(room, filter="data")
    (source,) = room.iterdir()
    settings = source / "release" / "release.toml"
    text = settings.read_text().replace('home_page = ""', f'home_page = "{_HOME}/"')
    settings.write_text(text.replace('author = ""', 'author = "Ada <ada@example.org>"'))
    build(room / "dist", source)
    return room / "dist"


def _metadata(wheel: Path) -> tuple[dict[str, list[str]], str]:
    with ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        message = HeaderParser().parsestr(archive.read(name).decode())
    return {key: message.get_all(key, []) for key in message}, str(message.get_payload())


def _pyroma(sdist: Path, where: Path) -> tuple[set[str], str]:
    """What it complains about, and its rating."""
    told = run([TOOLS / "pyroma", sdist], status=None, where=where).stdout
    complaints = re.findall(r"^Your package (?:does|should|is)[^.,]*", told, re.MULTILINE)
    return set(complaints), told[told.index("Final rating") :].split("\n")[0]


def test_the_index_takes_both(dist: Path) -> None:
    run([TOOLS / "twine", "check", "--strict", *dist.iterdir()])


def test_the_wheel_holds_what_a_wheel_should(wheel: Path) -> None:
    run([TOOLS / "check-wheel-contents", wheel])


def test_as_long_as_no_home_page_is_chosen_nothing_leads_there(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    headers, description = _metadata(wheel)

    assert [link for link in _LINK.findall(description) if not link.startswith(("http", "#"))] == []
    assert "docs/testing.md" in description
    assert {"Project-URL", "Author", "Author-email", "Home-page"}.isdisjoint(headers)
    assert _pyroma(sdist, tmp_path) == (_UNCHOSEN, "Final rating: 7/10")


def test_with_a_home_page_and_an_author_nothing_is_left_to_complain_about(named: Path, tmp_path: Path) -> None:
    (wheel,), (sdist,) = named.glob("*.whl"), named.glob("*.tar.gz")
    headers, description = _metadata(wheel)
    links = _LINK.findall(description)

    assert f"{_HOME}/blob/v{__version__}/docs/testing.md" in links
    assert f"{_HOME}/raw/v{__version__}/docs/pictures/overview.png" in links
    assert all(link.startswith("http") for link in links)
    assert headers["Author-email"] == ["Ada <ada@example.org>"]
    assert f"Homepage, {_HOME}" in headers["Project-URL"]
    assert _pyroma(sdist, tmp_path) == (set(), "Final rating: 10/10")
    run([TOOLS / "twine", "check", "--strict", *named.iterdir()])


def test_the_sdist_makes_the_same_wheel(wheel: Path, named: Path) -> None:
    (again,) = named.glob("*.whl")
    with ZipFile(wheel) as one, ZipFile(again) as other:
        changed = {info.filename for info in one.infolist()} ^ {info.filename for info in other.infolist()}
        parts = {name.rpartition("/")[2] for name in one.namelist() if one.read(name) != other.read(name)}

    assert changed == set()
    assert parts == {"METADATA", "RECORD"}
