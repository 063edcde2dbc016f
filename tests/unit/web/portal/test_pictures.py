"""The pictures of the README and of docs/portal.md show the pages as they are: they were made from these templates."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

_ROOT = Path(__file__).parents[4]
_PORTAL = _ROOT / "src/forewarn/web/portal"


def test_the_pictures_were_made_from_the_templates_and_styles_of_today() -> None:
    """Worked out here again, without the browser that takes them: ``make pictures`` makes both true."""
    whole = sha256()
    for path in sorted([*(_PORTAL / "templates").rglob("*.html"), _PORTAL / "static/portal.css"]):
        whole.update(f"{path.relative_to(_PORTAL)}\n{path.read_text()}\n".encode())
    made_from = (_ROOT / "docs/pictures/made-from.txt").read_text().strip()
    assert made_from == whole.hexdigest(), (
        "the pages look different by now: take the pictures anew with 'make pictures'"
    )
