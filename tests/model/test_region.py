"""The region against its model. A failure prints the steps that led to it, shrunk; runs are the same every time."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

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


def test_whatever_is_asked_documents_show_what_the_decisions_say() -> None:
    run_state_machine_as_test(
        RegionMachine, settings=settings(max_examples=300, stateful_step_count=50, suppress_health_check=_SLOW)
    )


def test_with_a_journal_in_sqlite_documents_show_what_the_decisions_say() -> None:
    run_state_machine_as_test(
        SqliteRegionMachine, settings=settings(max_examples=10, stateful_step_count=30, suppress_health_check=_SLOW)
    )
