"""What docs/windows.md says of the tests that are run under wine: all but those that are named with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.generate import DOCS
from tests.docs.named_tests import functions_of
from tests.platforms.windows.suites import NOT_THERE, SUITES

ROOT = DOCS.parent
FOLDERS = ("tests/unit/guest", "tests/unit/testing", "tests/unit/cli")  # of what the page says that it runs on Windows


def files_below(path: str) -> Iterator[str]:
    place = ROOT / path
    for file in sorted(place.rglob("test_*.py")) if place.is_dir() else [place]:
        yield file.relative_to(ROOT).as_posix()


RUN = {file for paths in SUITES.values() for path in paths for file in files_below(path)}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_of_what_windows_runs_is_run_there_or_left_out_with_a_reason(folder: str) -> None:
    found = set(files_below(folder))
    assert found
    assert found - RUN - set(NOT_THERE) == set()


def test_what_is_left_out_is_there_and_would_be_run_otherwise() -> None:
    for name, reason in NOT_THERE.items():
        file, _, function = name.partition("::")
        assert file in RUN, name
        assert Path(ROOT / file).is_file(), name
        assert not function or function in functions_of(ROOT / file), name
        assert reason, name
