"""May this clone be released under that tag? ``python -m release.ready v1.2.3`` ends with 1 and says why not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from forewarn import __version__
from release.describe import Release

_ROOT = Path(__file__).parents[1]


def reasons(tag: str, release: Release, changes: str) -> list[str]:
    """Why not, each as a sentence."""
    found = []
    if tag != f"v{__version__}":
        found.append(f"The tag is {tag!r}, and the version in the source is {__version__}: it must be v{__version__}.")
    found += [
        f"release/release.toml: {name} is empty. It goes into what is published, so choose it first."
        for name in ("home_page", "author")
        if not getattr(release, name)
    ]
    title = re.search(rf"^## {re.escape(__version__)} — (.+)$", changes, re.MULTILINE)
    if title is None or not re.fullmatch(r"\d{4}-\d\d-\d\d", title[1]):
        found.append(f"CHANGELOG.md: {__version__} has no date yet.")
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("python -m release.ready TAG")
    sys.exit("\n".join(reasons(sys.argv[1], Release.read(), (_ROOT / "CHANGELOG.md").read_text())) or 0)
