"""The power goes at any moment: what was answered is there, and the server starts.

One round on SQLite is recorded call by call (``watched_disk.c``) and ended at fifty moments; docs/loss.md says how.
PostgreSQL's own files are PostgreSQL's to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.loss.checker import losses
from tests.loss.power import Recording, cut_losses, without_syncs, without_syncs_of_directories
from tests.loss.rounds import Lived, Plan, live
from tests.loss.watched_disk import Call, Deed

ROUND = Plan(
    seed=20261101, shared=False, faults=("node restarted", "sync fails", "node killed"), longest_fault_seconds=1.0
)
CUTS, STARTED = 50, 5

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    return live(ROUND, tmp_path_factory.mktemp("power"))


@pytest.fixture
def recording(lived: Lived) -> Recording:
    assert lived.recording is not None
    return lived.recording


def test_the_recorded_round_has_no_loss_before_any_power_cut(lived: Lived) -> None:
    assert [*lived.wrong, *losses(lived.history)] == []


def test_fifty_power_cuts_lose_nothing(recording: Recording, tmp_path: Path) -> None:
    assert cut_losses(recording, tmp_path, ROUND.seed, CUTS, STARTED) == []


def test_the_recording_has_what_a_cut_can_harm(recording: Recording) -> None:
    """Checkpoints, snapshots that take their place, and syncs of directories, not only the log."""
    calls = {deed.call for deed in recording.deeds}
    assert {Call.OPEN, Call.WRITE, Call.SYNC, Call.RENAME, Call.UNLINK, Call.MKDIR} <= calls
    renamed = [deed.other for deed in recording.deeds if deed.call is Call.RENAME]
    assert any("snapshot-" in name for name in renamed)
    assert any(name.endswith("/journal.sqlite3") for name in renamed)


def without_the_journals_directory(deeds: Sequence[Deed]) -> list[Deed]:
    root = deeds[0].path
    return without_syncs_of_directories(deeds, root, f"{root}/data")


@pytest.mark.parametrize("mistake", [without_syncs, without_the_journals_directory])
def test_a_program_that_forgets_to_sync_is_found_out(
    recording: Recording, mistake: Callable[[Sequence[Deed]], list[Deed]], tmp_path: Path
) -> None:
    assert cut_losses(replace(recording, deeds=mistake(recording.deeds)), tmp_path, 1, 10, 0) != []
