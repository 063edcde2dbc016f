"""What forewarn writes is for its owner alone, whatever the umask; no link that somebody planted is written through."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from forewarn.core.region import Region
from forewarn.guest.agent.deciding.state import Left
from forewarn.guest.agent.doing.budget import Budget
from forewarn.guest.agent.doing.programs import Receipts, run
from forewarn.guest.agent.keeping.journal import AgentJournal
from forewarn.guest.system import this_machine
from forewarn.guest.system.parts import Program
from forewarn.plane.ports import JournalFault
from forewarn.stores.sqlite.journal import SqliteJournal
from tests.e2e.program import ServerProgram, clean_environment

MACHINE = this_machine()

PUBLIC = {"ca.pem", "server.pem"}  # certificates, which every client is shown


@pytest.fixture(autouse=True)
def _careless_umask() -> Iterator[None]:
    """As careless as can be."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(directory: Path) -> list[str]:
    """Whatever anybody but its owner may read, write or enter."""
    found = [directory, *directory.rglob("*")]
    return [
        f"{stat.filemode(path.lstat().st_mode)} {path.relative_to(directory.parent)}"
        for path in found
        if path.lstat().st_mode & 0o077 and not (path.name in PUBLIC and path.parent.name == "tls")
    ]


def test_a_servers_directory_is_for_its_owner(tmp_path: Path) -> None:
    """Journal, its log, snapshots, the lock, the keys of the Resource Manager."""
    with ServerProgram.start(tmp_path / "data") as server:
        server.forewarn("vm", "create", "web", "--count", "3")
        open_while_running = open_to_others(server.data)
        names = {path.name for path in server.data.rglob("*")}
        server.stop()
        left_open = open_to_others(server.data)
    assert {"journal.sqlite3", "journal.sqlite3-wal", "lock", "ca-key.pem", "server-key.pem"} <= names
    assert (open_while_running, left_open) == ([], [])


def test_a_snapshot_is_for_its_owner(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "data")
    journal.snapshot(Region(), 0)
    journal.close()
    assert list((tmp_path / "data").glob("snapshot-*.bin"))
    assert open_to_others(tmp_path / "data") == []


def test_what_az_is_given_is_for_its_owner(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", env=clean_environment(FOREWARN_TOKEN="sesame-open")) as server:
        server.forewarn("az-env", "--dir", str(tmp_path / "az"))
    names = {path.name for path in (tmp_path / "az").iterdir()}
    assert {"config", "clouds.config", "azureProfile.json", "ca.pem"} <= names
    assert open_to_others(tmp_path / "az") == []


def test_an_agents_state_is_for_its_owner(tmp_path: Path) -> None:
    """Its journal, one that was spoiled, receipts, and what steps have printed."""
    state = tmp_path / "state"
    journal = AgentJournal(MACHINE.files, state)
    journal.write(Left("A"))
    journal.close()
    (state / "journal").write_bytes(b"nonsense\n")
    again = AgentJournal(MACHINE.files, state)
    assert again.spoiled
    again.close()
    assert run(MACHINE, Program(["/bin/echo", "secret"]), Budget(MACHINE, 30), Receipts(state / "runs", "1")).good
    assert {"journal", "journal.spoiled", "lock", "1.receipt", "1.output"} <= {path.name for path in state.rglob("*")}
    assert open_to_others(state) == []


@pytest.mark.parametrize("name", ["lock", "snapshot-0000000000000000.unfinished"])
def test_no_link_in_a_data_directory_is_written_through(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "data").mkdir(mode=0o700)
    if name == "lock":
        (tmp_path / "data" / name).symlink_to(victim)
        with pytest.raises(JournalFault, match="cannot be used"):
            SqliteJournal(tmp_path / "data")
    else:
        journal = SqliteJournal(tmp_path / "data")
        (tmp_path / "data" / name).symlink_to(victim)
        with pytest.raises(JournalFault, match="could not be written"):
            journal.snapshot(Region(), 0)
        journal.close()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("name", ["lock", "journal", "journal.new", "journal.spoiled"])
def test_no_link_in_an_agents_directory_is_written_through(tmp_path: Path, name: str) -> None:
    victim, state = tmp_path / "victim", tmp_path / "state"
    victim.write_text("precious\n")
    journal = AgentJournal(MACHINE.files, state)
    journal.write(Left("A"))
    journal.close()
    if name == "journal.spoiled":
        (state / "journal").write_bytes(b"nonsense\n")
    (state / name).unlink(missing_ok=True)
    (state / name).symlink_to(victim)
    with suppress(OSError):
        AgentJournal(MACHINE.files, state).close()
    assert victim.read_text() == "precious\n"


def test_a_receipt_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    receipts = Receipts(tmp_path / "runs", "1")
    receipts.directory.mkdir(mode=0o700)
    receipts.receipt.symlink_to(victim)
    ended = run(MACHINE, Program(["/bin/true"]), Budget(MACHINE, 30), receipts)
    assert not ended.good
    assert "symbolic links" in ended.detail
    assert victim.read_text() == "precious"


def test_a_program_inherits_no_open_file_of_the_agent(tmp_path: Path) -> None:
    """Neither its journal nor its lock."""
    journal = AgentJournal(MACHINE.files, tmp_path / "state")
    listing = ["/bin/ls", "-l", "/proc/self/fd"]
    shown = subprocess.run(listing, capture_output=True, text=True, check=True, close_fds=False).stdout
    journal.close()
    assert str(tmp_path) not in shown
