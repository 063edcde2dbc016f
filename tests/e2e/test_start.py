"""Starts that must not succeed: each ends with its status and one sentence, and nothing has changed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.program import ServerProgram, ask, clean_environment, run, without_limits
from tests.ports import free_port

FREE = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0", "--resource-manager", "127.0.0.1:0")


def _refused(*arguments: str | Path, status: int, **environment: str) -> str:
    """The one sentence of a start that fails."""
    done = run("serve", *arguments, status=status, env=clean_environment(**environment))
    told = without_limits(done.stderr)
    assert done.stdout == ""
    assert told.startswith("forewarn: ")
    assert told.count("\n") == 1, done.stderr
    return told


# Settings


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--no-such-flag", "1"), "--no-such-flag"),
        (("--clock", "slow"), "is not a clock"),
        (("--clock", "x0"), "is not a clock"),
        (("--metadata", "16925"), "is not HOST:PORT"),
        (("--control", "::1:16926"), "in brackets"),
        (("--profile", "aws"), "none of plain, azure"),
        (("--notice-freeze", "soon"), "notice_freeze"),
        (("--first-read-delay", "3m"), "first_read_delay"),
        (("--update-domains", "0"), "update_domains"),
        (("--metadata", "127.0.0.1:7000", "--control", "127.0.0.1:7000"), "must not share port"),
        (("--control", "192.0.2.1:16926"), "beyond loopback, and needs a token"),
        (("--control", "0.0.0.0:16926"), "beyond loopback, and needs a token"),
        (("--config", "no-such-file.toml"), "cannot read no-such-file.toml"),
    ],
)
def test_a_setting_that_is_not_right_is_refused(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    told = _refused("--data", tmp_path / "data", *arguments, status=2)

    assert sentence in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("variable", "value"), [("FOREWARN_CLOCK", "slow"), ("FOREWARN_TOKEN", "two words"), ("FOREWARN_CONTROL", "x")]
)
def test_a_variable_that_is_not_right_is_refused_by_its_name(variable: str, value: str, tmp_path: Path) -> None:
    told = _refused("--data", tmp_path / "data", status=2, **{variable: value})

    assert variable in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[settings\n", "is not TOML"),
        ('[settings]\nclok = "real"\n', "did you mean 'clock'?"),
        ('clock = "real"\n', "belongs under [settings]"),
        ("[settings]\nclock = true\n", "must be text or a number"),
        ("[settings]\nupdate_domains = -1\n", "update_domains"),
        ("[vm]\nname = 'web'\n", "with two brackets"),
        ("[[vm]]\ncount = 2\n", "a VM needs a name"),
        ("[[vm]]\nname = 'web'\ncount = '2'\n", "must be a whole number"),
        ("[[vm]]\nname = 'web'\nrole = 'x'\n", "go together"),
    ],
)
def test_a_region_file_that_is_not_right_is_refused(text: str, sentence: str, tmp_path: Path) -> None:
    config = tmp_path / "region.toml"
    config.write_text(text)
    told = _refused("--data", tmp_path / "data", "--config", config, status=2)

    assert sentence in told
    assert list(tmp_path.iterdir()) == [config]


def test_a_fleet_that_cannot_be_is_refused_and_goes_on_once_it_is_mended(tmp_path: Path) -> None:
    """A fleet is made in pieces, each whole: those before the refused one are there, and are not made again."""
    config = tmp_path / "region.toml"
    config.write_text("[[vm]]\nname = 'good'\n[[vm]]\nname = 'not a name'\n")
    told = _refused("--data", tmp_path / "data", "--config", config, *FREE, status=1)
    config.write_text("[[vm]]\nname = 'good'\n[[vm]]\nname = 'better'\n")
    with ServerProgram.start(tmp_path / "data", "--config", config) as server:
        vms = server.json("vm", "list")

    assert "'not a name'" in told
    assert sorted(vm["name"] for vm in vms) == ["better", "good"]


def test_flags_beat_the_environment_and_the_environment_beats_the_file(tmp_path: Path) -> None:
    config = tmp_path / "region.toml"
    config.write_text('[settings]\nclock = "x2"\nvms_per_host = 7\nlog_level = "error"\n')
    env = clean_environment(FOREWARN_CLOCK="x3", FOREWARN_VMS_PER_HOST="8", FOREWARN_CONFIG=str(config))
    with ServerProgram.start(tmp_path / "data", "--clock", "x4", env=env) as server:
        shown = {each["name"]: (each["value"], each["source"]) for each in server.json("settings", "--running")}

    assert shown["clock"] == ("x4", "flag")
    assert shown["vms_per_host"] == ("8", "environment")
    assert shown["log_level"] == ("error", "file")
    assert shown["profile"] == ("plain", "default")


# Listening


@pytest.mark.parametrize("face", ["metadata", "control"])
def test_a_port_in_use_is_named(face: str, tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "first") as server:
        taken = urlsplit(server.control).netloc
        told = _refused("--data", tmp_path / "second", *FREE, f"--{face}", taken, status=1)
        still = server.forewarn("ping")

    assert f"cannot listen on {taken}" in told
    assert f"--{face}" in told
    assert still.startswith("forewarn ")


def test_with_a_token_every_request_to_the_control_face_must_show_it(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", env=clean_environment(FOREWARN_TOKEN="sesame")) as server:
        known = server.json("ping")
        strangers = [
            ask(server.control, "/v1/ping", headers).status
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic sesame"})
        ]
        unsaid = clean_environment(FOREWARN_URL=server.control)
        told = run("vm", "create", "web", env=unsaid, status=1).stderr
        vms = server.json("vm", "list")
        metadata = ask(server.metadata, "/vm/web/metadata/versions").status

    assert known["name"] == "forewarn"
    assert strangers == [401, 401, 401]
    assert "FOREWARN_TOKEN" in told
    assert vms == []
    assert metadata == 404, "guests need no token, and there is no such VM"


def test_a_token_is_shown_to_nobody(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data", env=clean_environment(FOREWARN_TOKEN="sesame")) as server:
        told = server.forewarn("settings", "--running") + server.ready
        server.stop()
        told += server.log.read_text()

    assert "sesame" not in told
    assert "(set)" in told


@pytest.mark.parametrize(
    "headers", [{"Host": "rebound.example"}, {"Host": "rebound.example:16926"}, {"Origin": "http://page.example"}]
)
def test_a_web_page_cannot_work_on_a_region(headers: dict[str, str], tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data") as server:
        with closing(HTTPConnection(urlsplit(server.control).netloc, timeout=60)) as page:
            page.request("POST", "/v1/vms", json.dumps({"name": "web"}), headers | {"Content-Type": "application/json"})
            answer = page.getresponse()
        vms = server.json("vm", "list")

    assert answer.status == 400
    assert vms == []


def test_the_metadata_face_knows_nothing_of_the_control_face(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "data") as server:
        answers = {ask(server.metadata, path).status for path in ("/v1/ping", "/v1/vms", "/openapi.json")}
        other = ask(server.control, "/metadata/versions").status

    assert answers == {404}
    assert other == 404


# Journals


def _content(directory: Path) -> dict[str, bytes]:
    """All that matters: the lock file names the last process that looked."""
    return {path.name: path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.name != "lock"}


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """The directory of a region that ran and ended."""
    with ServerProgram.start(tmp_path / "data", "--clock", "virtual") as server:
        server.forewarn("vm", "create", "web", "--count", "50")
        assert server.stop() == 0
    return tmp_path / "data"


def _overwrite(directory: Path) -> None:
    path = directory / "journal.sqlite3"
    content = bytearray(path.read_bytes())
    content[0:16] = b"not a database.."
    path.write_bytes(content)


def _cut_short(directory: Path) -> None:
    path = directory / "journal.sqlite3"
    path.write_bytes(path.read_bytes()[:-4096])


def _edit_a_record(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "journal.sqlite3")) as journal:
        journal.execute("UPDATE facts SET body = replace(body, 'web-7', 'web-x') WHERE seq = 8")
        journal.commit()
    for snapshot in directory.glob("snapshot-*"):
        snapshot.unlink()


def _lose_a_record(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "journal.sqlite3")) as journal:
        journal.execute("DELETE FROM facts WHERE seq = (SELECT max(seq) FROM facts)")
        journal.commit()


def _remove_the_journal(directory: Path) -> None:
    (directory / "journal.sqlite3").unlink()


def _make_it_newer(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "journal.sqlite3")) as journal:
        journal.execute("UPDATE properties SET value = '99.1' WHERE name = 'written_by'")
        journal.execute("PRAGMA user_version = 99")
        journal.commit()


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (_overwrite, "restore the data directory from a backup"),
        (_cut_short, "was cut short"),
        (_edit_a_record, "is not what was written there"),
        (_lose_a_record, "it has lost records"),
        (_remove_the_journal, "is missing"),
        (_make_it_newer, "Install forewarn 99.1 or later"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_journal_that_must_not_be_used_is_refused_and_not_touched(
    harm: object, sentence: str, stopped: Path, tmp_path: Path
) -> None:
    assert callable(harm)
    harm(stopped)
    before = _content(stopped)
    told = _refused("--data", stopped, *FREE, status=1)

    assert sentence.lower() in told.lower()
    assert _content(stopped) == before


def test_a_damaged_snapshot_is_only_a_slower_start(stopped: Path) -> None:
    (snapshot,) = stopped.glob("snapshot-*")
    content = bytearray(snapshot.read_bytes())
    content[len(content) // 2] ^= 0xFF
    snapshot.write_bytes(content)
    with ServerProgram.start(stopped, "--clock", "virtual") as server:
        vms = server.json("vm", "list")
        verdict = run("journal", "verify", env=server.environment(), status=1).stdout

    assert len(vms) == 50
    assert "It may be deleted" in verdict
    assert "1 wrong" in verdict


def test_a_data_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    told = _refused("--data", tmp_path / "data", *FREE, status=1)

    assert "cannot be used" in told
    assert (tmp_path / "data").read_text() == "mine"


def test_a_server_that_cannot_listen_leaves_no_lock_behind(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "first") as server:
        _refused("--data", tmp_path / "data", *FREE, "--control", urlsplit(server.control).netloc, status=1)
    with ServerProgram.start(tmp_path / "data", "--control", f"127.0.0.1:{free_port()}") as server:
        assert server.json("ping")["vms"] == 0
