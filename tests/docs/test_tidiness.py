"""The house stays tidy. Each limit has a list of what is beyond it today: a list may become shorter, never longer."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.tidy import ROOT, SOURCE, importers, modules

FOLDER_MOST = 16
SIBLINGS_MOST = 24
# Folders whose modules are of one kind (a command, a route, a page): a newcomer looks for a name, not for an idea.
SIBLINGS = {
    "cli/commands",
    "web/operator/routes",
    "web/portal/pages",
    "web/resource_manager/compute",
}
FILE_MOST = 400
FUNCTION_MOST = 55
SLIVER_LINES = 45
DOC_COLUMNS = 120

CROWDED: dict[str, int] = {}
LONG_FILES: dict[str, int] = {}
FACADE_MOST = {"plane/plane.py": 200}  # what faces and servers use of the plane; the work is done in its parts
LONG_FUNCTIONS: dict[str, int] = {}
SLIVERS_MOST = 12

_EXEMPTION = re.compile(r"# (?:noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])(?P<why>\s*[-#;]\s*\S+)?")
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
_ANCHOR = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)")
_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _beyond(found: dict[str, int], most: int, excused: dict[str, int], advice: str) -> None:
    """Nothing new beyond the limit, nothing excused that has grown, and no excuse that is no longer needed."""
    grown = {name: size for name, size in found.items() if size > excused.get(name, most)}
    assert not grown, f"{advice}: {grown}"
    needless = {name: found.get(name, 0) for name, size in excused.items() if found.get(name, 0) < size}
    assert not needless, f"better than its excuse says; lower or remove it: {needless}"


def test_a_folder_holds_few_enough_modules_to_find_one() -> None:
    folders = Counter(str(Path(module.name).parent) for module in modules() if module.path.name != "__init__.py")
    over = {
        folder: count
        for folder, count in folders.items()
        if count > (SIBLINGS_MOST if folder in SIBLINGS else FOLDER_MOST)
    }
    _beyond(over, 0, CROWDED, "a folder has too many modules; make a package of those that belong together")


def test_a_file_holds_one_idea() -> None:
    over = {module.name: module.lines for module in modules() if module.lines > FILE_MOST}
    _beyond(over, FILE_MOST, LONG_FILES, f"a file is longer than {FILE_MOST} lines; look for the second idea in it")


def test_a_file_of_tests_holds_one_idea_too() -> None:
    paths = (ROOT / "tests").rglob("*.py")
    over = {str(path.relative_to(ROOT)): lines for path in paths if (lines := path.read_text().count("\n")) > FILE_MOST}
    assert not over, f"split it by idea; what both parts need goes into a module beside them: {over}"


def test_a_facade_stays_one() -> None:
    lines = {module.name: module.lines for module in modules()}
    grown = {name: lines[name] for name, most in FACADE_MOST.items() if lines[name] > most}
    assert not grown, f"move the work into one of its parts: {grown}"


def test_a_function_fits_a_screen() -> None:
    over = {
        f"{module.name}:{name}": lines
        for module in modules()
        for name, lines in module.functions()
        if lines > FUNCTION_MOST
    }
    _beyond(over, FUNCTION_MOST, LONG_FUNCTIONS, f"a function is longer than {FUNCTION_MOST} lines; take a part out")


def test_slivers_that_one_neighbour_imports_live_with_it() -> None:
    slivers = [
        module.name
        for module in modules()
        if module.lines < SLIVER_LINES
        and module.path.name not in ("__init__.py", "__main__.py")
        and len(importers()[module.dotted]) == 1
    ]
    assert len(slivers) <= SLIVERS_MOST, (
        f"{len(slivers)} modules of less than {SLIVER_LINES} lines have one importer (at most {SLIVERS_MOST} may): "
        f"put the newest into the module that uses it: {slivers}"
    )


def test_every_number_of_a_module_says_where_it_comes_from() -> None:
    bare = {f"{module.name}:{line}": text for module in modules() for line, text in module.bare_numbers()}
    assert not bare, (
        "say beside each number, or right above it, where it comes from: what others do (`nginx keeps 75 s`), "
        f"a standard, a measurement, or `ours:` and the reason for its size: {bare}"
    )


def test_every_exemption_has_its_reason() -> None:
    """From ruff or mypy: behind it (`# noqa: S310 - an address of ours`), or in a comment right above."""
    bare = []
    for tree in ("src", "tests", "bench", "examples", "release", "requirements"):
        for path in (ROOT / tree).rglob("*.py"):
            lines = ["", *path.read_text().splitlines()]
            for above, line in pairwise(lines):
                found = _EXEMPTION.search(line)
                if found and not found["why"] and not above.lstrip().startswith("#"):
                    bare.append(f"{path.relative_to(ROOT)}: {line.strip()}")
    table = (ROOT / "pyproject.toml").read_text().partition("[tool.ruff.lint.per-file-ignores]")[2].partition("\n[")[0]
    bare += [line for line in table.splitlines() if line.startswith('"') and "#" not in line]
    assert not bare, f"say why behind the exemption: {bare}"


def test_the_simulator_sets_no_attribute_of_the_product() -> None:
    setters = [
        module.name
        for module in modules()
        if module.name.startswith("sim/") and re.search(r"\bsetattr\(|monkeypatch", module.text)
    ]
    assert setters == [], "hand what is different to a constructor instead (guest/system, server.assembly)"


_BY_HAND = re.compile(r"/subscriptions/|/providers/|\bproviders/Microsoft")
# Where such a text is not an id that is made: the reason for each
_NO_ID_MAKERS = {
    "web/arm_ids.py": "makes them",
    "web/resource_manager/compute/finding.py": "a sentence of Azure's about ids that clients send",
    "web/resource_manager/generic.py": "looks for a kind in ids that were made before",
    "web/resource_manager/templates/planning.py": "takes the name that dependsOn may use from an id",
}


def test_an_arm_id_is_made_in_one_place() -> None:
    """A VM compares its own id with what ``az`` shows: two makers would differ one day."""
    makers = {module.name for module in modules() if any(map(_BY_HAND.search, module.texts()))}
    pages = (SOURCE / "web").rglob("*.html")
    makers |= {str(path.relative_to(SOURCE)) for path in pages if _BY_HAND.search(path.read_text())}
    assert makers - _NO_ID_MAKERS.keys() == set(), "make the id by web/arm_ids"
    assert _NO_ID_MAKERS.keys() - makers == set(), "this excuse is no longer needed"


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    broken = [link for link in _LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert broken == []


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_heading_finds_it(page: Path) -> None:
    broken = [
        f"{link}#{anchor}"
        for link, anchor in _ANCHOR.findall(page.read_text())
        if anchor not in _anchors(page.parent / link if link else page)
    ]
    assert broken == []


def _anchors(page: Path) -> set[str]:
    """What a page's headings are called in links, as GitHub makes it: no punctuation, hyphens for blanks."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_wrapped(page: Path) -> None:
    """Tables, code and generated blocks are as wide as they must be."""
    text = re.sub(r"^```.*?^```|<!-- generated.*?<!-- end -->", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    long = [line for line in text.splitlines() if len(line) > DOC_COLUMNS and not line.startswith(("|", "[", "<"))]
    assert long == [], f"wrap at {DOC_COLUMNS} columns: make docs"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached and page.suffix == ".md" and page.exists():
            reached.add(page)
            ahead += [(page.parent / link).resolve() for link in _LINK.findall(page.read_text())]
    lost = [
        str(page.relative_to(ROOT)) for page in _PAGES if page.resolve() not in {each.resolve() for each in reached}
    ]
    assert lost == [], "link it from the README or a page that is linked, or remove it"


def test_the_source_is_where_the_tests_look() -> None:
    assert len(modules()) > 300, SOURCE
