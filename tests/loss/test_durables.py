"""Each file that forewarn relies on, when a call that it needs fails and then the process dies, or the power goes.

The table of docs/loss.md has a line for each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loss.durables import DURABLES
from tests.loss.sabotage import VARIABLE
from tests.loss.trying import tried

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("name", DURABLES)
def test_no_failing_disk_call_loses_a_write_or_brings_back_a_refused_one(name: str, tmp_path: Path) -> None:
    wrong, told = tried(name, tmp_path, images=3)
    assert wrong == []
    assert told["cases"] > 10
    assert told["cuts"] > 40


@pytest.mark.parametrize("plant", ["never-synced", "rarely-synced", "names-never-synced", "doubts-nothing"])
def test_a_store_that_syncs_too_little_is_found_out(plant: str, tmp_path: Path) -> None:
    """Mistakes that somebody could really make: SQLite's other settings, a directory or a failed commit forgotten."""
    wrong, _ = tried("journal", tmp_path, images=4, most=1, **{VARIABLE: plant})
    assert wrong != []
