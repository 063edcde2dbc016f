"""The docs site: it builds from the pages as they are, and a link that leads nowhere stops it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from release import site
from tests.e2e.program import ROOT
from tests.platforms.packages.built import run

_PAGES = [path for name in site.PAGES for path in ([ROOT / name] if name.endswith(".md") else (ROOT / name).rglob("*"))]
_MARKDOWN = sorted(str(path.relative_to(ROOT)) for path in _PAGES if path.suffix == ".md")

pytestmark = pytest.mark.timeout(900)


class _Read(HTMLParser):
    """What a built page links to and loads, and what can be linked to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.names.add(values.get("id") or "")
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        self.loads += [str(values[key]) for key in ("src", "href") if tag != "a" and values.get(key)]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone looks like to the builder; its pages may be changed."""
    made = tmp_path / "clone"
    made.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in ("docs", "release"):
            (made / entry.name).symlink_to(entry)
    for name in ("docs", "release"):
        run(["cp", "-r", ROOT / name, made / name])
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("site")
    _build(ROOT, into)
    return into / "html"


def _build(source: Path, into: Path, status: int = 0) -> str:
    program = "import sys; from pathlib import Path; from release import site; "
    call = "sys.exit(site.main(Path(sys.argv[1]), Path(sys.argv[2])))"
    done = run([sys.executable, "-c", program + call, source, into], status=status, NO_COLOR="1")
    return f"{done.stdout}{done.stderr}"


def _place(page: str) -> str:
    """Where a page of the clone is on the site."""
    path = Path(page).with_suffix("")
    return str((path.parent if path.name == "README" else path) / "index.html")


def _targets(built: Path, page: Path, links: list[str]) -> Iterator[tuple[str, Path, str]]:
    for link in links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            yield link, target / "index.html" if target.is_dir() else target, unquote(parts.fragment)


def test_every_page_is_in_the_navigation_and_on_the_site(built: Path) -> None:
    start = _Read(built / "index.html").links
    linked = {str(target.relative_to(built)) for _, target, _ in _targets(built, built / "index.html", start)}

    assert len(_MARKDOWN) > 30
    assert {page for page in _MARKDOWN if not (built / _place(page)).is_file()} == set()
    assert {page for page in _MARKDOWN if _place(page) not in linked} == set()
    navigation = (ROOT / "release" / "site.toml").read_text()
    assert {page for page in _MARKDOWN if navigation.count(f'"{page}"') != 1} == set(), "name it in release/site.toml"


def test_every_link_of_the_site_finds_its_page_and_heading(built: Path) -> None:
    read = {page: _Read(page) for page in built.rglob("*.html") if page.name != "404.html"}
    lost = [
        f"{page.relative_to(built)}: {link}"
        for page, found in read.items()
        for link, target, heading in _targets(built, page, found.links + found.loads)
        if not target.is_file() or (heading and target in read and heading not in read[target].names)
    ]

    assert sum(len(found.links) for found in read.values()) > 1000
    assert lost == []


def test_no_page_loads_anything_from_another_server(built: Path) -> None:
    loaded = {load for page in built.rglob("*.html") for load in _Read(page).loads}

    assert {load for load in loaded if urlsplit(load).netloc} == set()


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("nobody.md", "page does not exist"),
        ("testing.md#no-such-heading", "anchor does not exist"),
        ("../src/forewarn/nobody.py", "docs/loss.md: ../src/forewarn/nobody.py leads nowhere"),
        ("pictures/nobody.png", "docs/loss.md: pictures/nobody.png leads nowhere"),
    ],
)
def test_a_link_that_leads_nowhere_stops_it(clone: Path, tmp_path: Path, link: str, told: str) -> None:
    page = clone / "docs" / "loss.md"
    page.write_text(f"{page.read_text()}\nAs [told]({link}).\n")

    assert told in _build(clone, tmp_path / "site", status=1)


def test_with_a_home_page_links_to_the_source_lead_there(clone: Path, tmp_path: Path) -> None:
    settings = clone / "release" / "release.toml"
    settings.write_text(settings.read_text().replace('home_page = ""', 'home_page = "https://example.org/forewarn/"'))

    _build(clone, tmp_path / "site")

    links = _Read(tmp_path / "site" / "html" / "docs" / "testing" / "index.html").links
    assert any(link.startswith("https://example.org/forewarn/blob/v") and link.endswith("/ci.yml") for link in links)
