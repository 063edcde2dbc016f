"""Backup of a region that runs, and the way back: consistent, checked, and nothing half made."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forewarn.cli.api.client import OperatorClient, Server
from tests.e2e.program import FOREWARN, ServerProgram, clean_environment, run
from tests.waiting import until

KINDS = ("--resource-manager", "off")


def client_of(server: ServerProgram) -> OperatorClient:
    return OperatorClient(Server(server.control))


def test_a_backup_of_a_busy_server_restores_to_a_region_that_verifies(tmp_path: Path) -> None:
    data, kept, again = tmp_path / "data", tmp_path / "kept.sqlite3", tmp_path / "again"
    with ServerProgram.start(data, *KINDS) as server:
        client = client_of(server)
        client.server.ask("POST", "/v1/vms", body={"name": "early", "count": 3})
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(
                lambda: [client.server.ask("POST", "/v1/vms", body={"name": f"w{n}"}) for n in range(100)]
            )
            told = json.loads(run("backup", kept, "--data", data, "--json").stdout)
            writing.result()
        before = client.ping()["seq"]
    assert 0 < told["records"] <= before
    run("restore", kept, "--data", again)
    with ServerProgram.start(again, *KINDS) as server:
        client = client_of(server)
        assert client.verify()["faults"] == []
        names = {vm["name"] for vm in client.vms()}
    assert {"early-0", "early-1", "early-2"} <= names
    assert kept.stat().st_mode & 0o077 == 0


def test_what_is_there_is_never_written_over(tmp_path: Path) -> None:
    data, kept = tmp_path / "data", tmp_path / "kept"
    with ServerProgram.start(data, *KINDS):
        pass
    run("backup", kept, "--data", data)
    before = {path: path.read_bytes() for path in (kept, data / "journal.sqlite3")}
    assert "is there already" in run("backup", kept, "--data", data, status=1).stderr
    assert "holds a region already" in run("restore", kept, "--data", data, status=1).stderr
    assert "There is no journal in" in run("backup", tmp_path / "new", "--data", tmp_path, status=1).stderr
    (tmp_path / "odd").write_bytes(b"not one of ours")
    assert "is no backup of a region" in run("restore", tmp_path / "odd", "--data", tmp_path / "x", status=1).stderr
    assert before == {path: path.read_bytes() for path in before}


def test_a_damaged_journal_is_not_taken_for_a_backup(tmp_path: Path) -> None:
    data, kept = tmp_path / "data", tmp_path / "kept"
    with ServerProgram.start(data, *KINDS) as server:
        client_of(server).server.ask("POST", "/v1/vms", body={"name": "web", "count": 5})
    run("backup", kept, "--data", data)
    with sqlite3.connect(kept) as connection:
        connection.execute("UPDATE facts SET who = 'somebody else' WHERE seq = 2")
    connection.close()
    refused = run("restore", kept, "--data", tmp_path / "again", status=1).stderr
    assert "is damaged" in refused
    assert not (tmp_path / "again" / "journal.sqlite3").exists()


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_who_is_killed_in_the_middle_leaves_nothing_under_the_name_and_can_begin_again(
    tmp_path: Path, command: str
) -> None:
    data, kept, again = tmp_path / "data", tmp_path / "kept", tmp_path / "again"
    with ServerProgram.start(data, *KINDS) as server:
        client_of(server).server.ask("POST", "/v1/vms", body={"name": "web", "count": 5000})
    if command == "restore":
        run("backup", kept, "--data", data)
    source, target = (data, kept) if command == "backup" else (kept, again / "journal.sqlite3")
    words = (kept, "--data", data if command == "backup" else again)
    process = subprocess.Popen([FOREWARN, command, *words], env=clean_environment())
    unfinished = target.with_name(f"{target.name}.unfinished")
    until(lambda: unfinished.exists() or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert source.exists()
    if not target.exists():  # it was not quicker than we
        run(command, *words)
    with sqlite3.connect(f"file:{target}?mode=ro", uri=True) as connection:
        (records,) = connection.execute("SELECT count(*) FROM facts").fetchone()
    connection.close()
    assert records > 5000
    assert not list(target.parent.glob("*.unfinished"))
