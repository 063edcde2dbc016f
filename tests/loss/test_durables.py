"""Each file that forewarn relies on, when a call that it needs fails and then the process dies, or the power goes.

The table of docs/loss.md has a line for each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loss.durables import DURABLES
from tests.loss.trying import tried

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("name", DURABLES)
def test_no_failing_call_loses_or_returns_anything(name: str, tmp_path: Path) -> None:
    wrong, told = tried(name, tmp_path, images=3)
    assert wrong == []
    assert told["cases"] > 10
    assert told["cuts"] > 40
