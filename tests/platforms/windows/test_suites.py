"""The unit and contract tests of what runs on Windows pass there too."""

from __future__ import annotations

import re

import pytest

from tests.platforms.windows.suites import NOT_MEANT, NOT_THERE, SUITES
from tests.platforms.windows.wine import Windows

PATIENCE_SECONDS = 1500  # the longest takes one or two minutes alone


@pytest.mark.timeout(3 * PATIENCE_SECONDS)
@pytest.mark.parametrize("part", SUITES)
def test_what_passes_on_linux_passes_on_windows(windows: Windows, part: str) -> None:
    left_out = [f"--deselect={test}" if "::" in test else f"--ignore={test}" for test in NOT_THERE]
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--timeout", "300", "--tb", "short"]
    ended = windows.python(
        *words, *left_out, "-k", f"not ({' or '.join(NOT_MEANT)})", *SUITES[part], seconds=PATIENCE_SECONDS
    )
    assert ended.status == 0, "\n".join(ended.out.splitlines()[-60:])
    passed = re.search(r"(\d+) passed", ended.out)
    assert passed is not None
    print(f"{part}: {passed[1]} tests passed on Windows")
