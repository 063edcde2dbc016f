"""Wrap the prose of the documentation at 120 columns: ``python -m tests.docs.wrap``, which ``make docs`` runs.

Tables, code, headings, generated blocks and lines that stand for themselves stay as they are.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

COLUMNS = 120
_BULLET = re.compile(r"( *)([-*]|\d+\.) ")
_ALONE = re.compile(r"^(#|\||<|>|!\[|    |\[[^\]]+\]:)|  $")


def wrapped(text: str) -> str:
    """The page with every paragraph and list item filled anew, where one of its lines is too long."""
    lines: list[str] = []
    for block, is_prose in _blocks(text.splitlines()):
        lines += _filled(block) if is_prose and any(len(line) > COLUMNS for line in block) else block
    return "\n".join(lines) + "\n"


def _blocks(lines: list[str]) -> Iterable[tuple[list[str], bool]]:
    """Runs of lines that are filled together, and all else line by line."""
    block: list[str] = []
    fenced = False
    for line in lines:
        is_fence = line.lstrip().startswith("```") or line.startswith("<!-- generated") or line == "<!-- end -->"
        stands_alone = fenced or is_fence or not line.strip() or bool(_ALONE.search(line))
        if (stands_alone or _BULLET.match(line)) and block:
            yield block, True
            block = []
        if stands_alone:
            yield [line], False
        else:
            block.append(line)
        if is_fence:
            fenced = line != "<!-- end -->" and not fenced
    if block:
        yield block, True


def _filled(block: list[str]) -> list[str]:
    bullet = _BULLET.match(block[0])
    first = bullet.group(0) if bullet else ""
    words = " ".join(line.strip() for line in (block[0][len(first) :], *block[1:]))
    return textwrap.wrap(
        words,
        COLUMNS,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def pages(root: Path) -> list[Path]:
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def main() -> None:
    for page in pages(Path(__file__).parents[2]):
        text = page.read_text()
        if wrapped(text) != text:
            page.write_text(wrapped(text))
            print(f"wrapped {page.name}")


if __name__ == "__main__":
    main()
