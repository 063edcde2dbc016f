"""The region against its model. A failure prints the steps that led to it, shrunk; runs are the same every time."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings

from tests.model.machine import RegionMachine
from tests.model.system import Shelf, SqliteShelf

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


class SqliteRegionMachine(RegionMachine):
    """The same on a disk."""

    def shelf(self) -> Shelf:
        self._directory = TemporaryDirectory(prefix="forewarn-model-")
        return SqliteShelf(Path(self._directory.name) / "data")

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self._directory.cleanup()


TestRegion = RegionMachine.TestCase
TestRegion.settings = settings(max_examples=150, stateful_step_count=40, suppress_health_check=_SLOW)

TestRegionOnDisk = SqliteRegionMachine.TestCase
TestRegionOnDisk.settings = settings(max_examples=8, stateful_step_count=25, suppress_health_check=_SLOW)
