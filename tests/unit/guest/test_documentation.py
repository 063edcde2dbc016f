from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from tests.e2e.metadata_region import metadata_region

PAGE = Path(__file__).parents[3] / "docs" / "library.md"


def test_the_example_program_of_the_library_page_follows_an_event_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    told: list[str] = []
    with metadata_region() as region:

        def tell(line: str) -> None:
            told.append(line)
            if line == "it begins":
                region.advance(timedelta(hours=1))

        region.create("web")
        region.get("web")
        region.restart("web")
        monkeypatch.setenv("FOREWARN_ENDPOINT", f"http://127.0.0.1:{region.face.port}/vm/web")
        exec(compile(program, str(PAGE), "exec"), {"print": tell})
    assert told[0].startswith("Reboot is coming, not before 2026-01-01 12:15:00")
    assert told[1] == "it begins"
    assert told[2].startswith("completed: ")
