"""The page: rows as data, drawn by a script in it as far in as one looks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from html import escape
from importlib.resources import files

from forewarn.testing.picture.rows import PictureRow, WorstMoment


def html(
    title: str,
    summary: Sequence[str],
    begin: datetime,
    end: datetime,
    rows: Sequence[PictureRow],
    worst: Sequence[WorstMoment],
) -> str:
    """Seconds since the beginning, not instants: short, and exact to a tenth."""

    def seconds(at: datetime) -> float:
        return round((min(at, end) - begin).total_seconds(), 1)

    data = {
        "begin": int(begin.timestamp()),
        "seconds": max(seconds(end), 1.0),
        "rows": [
            {
                "name": row.name,
                "kind": row.kind,
                "bars": [[seconds(bar.begin), seconds(bar.end), bar.type, bar.phase, bar.told] for bar in row.bars],
            }
            for row in rows
        ],
        "worst": [[seconds(each.at), each.row, each.told] for each in worst],
    }
    written = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # no name can end the script
    page = files(__package__).joinpath("page.html").read_text("utf-8")
    marks = {"TITLE": escape(title), "SUMMARY": escape("\n".join(summary)), "DATA": written}
    for mark, text in marks.items():
        page = page.replace(f"@@{mark}@@", text)
    return page
