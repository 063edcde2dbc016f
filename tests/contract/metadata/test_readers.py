"""Readers among themselves: each case holds, and each finds a bug that is planted for it."""

from __future__ import annotations

import sys
from datetime import timedelta

import pytest

from tests.contract.metadata.reader_cases import READER_CASES
from tests.contract.metadata.readers_bench import ReadersBench
from tests.e2e.metadata_region import region_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="readers share memory as Linux has it")
STALENESS = {
    "a_reader_without_its_server_answers_for_as_long_as_what_it_knows_is_good": timedelta(seconds=2),
}


@pytest.mark.parametrize("name", READER_CASES)
def test_what_readers_promise(name: str) -> None:
    with region_of(ReadersBench, staleness=STALENESS.get(name, timedelta(seconds=10))) as bench:
        READER_CASES[name](bench)
