"""Secrets stay with those who were told them: not in logs, answers, settings, nor in what others may read."""

from __future__ import annotations

import json
import ssl
import subprocess
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from forewarn.guest.agent.config.reading import check_text
from forewarn.settings.resolve import resolve
from forewarn.web.resource_manager.login.access import Access
from tests.e2e.program import FOREWARN, ServerProgram, clean_environment, run

TOKEN = "sesame-open-sesame-0123456789"
WRONG = "sesame-open-sesame-0123456780"


def _everything(server: ServerProgram) -> str:
    """What a server says while it is asked in every wrong way."""
    told = [server.forewarn("settings", "--running"), server.forewarn("settings", "--running", "--json")]
    told += [
        server.forewarn("vm", "create", "web"),
        server.forewarn("activity"),
        server.forewarn("journal", "export"),
    ]
    control = urlsplit(server.control)
    for path, authorization in (
        ("/v1/vms", f"Bearer {WRONG}"),
        ("/v1/vms", f"Basic {TOKEN}"),
        ("/v1/nothing", f"Bearer {TOKEN}"),
        ("/v1/settings", f"Bearer {TOKEN}"),
        ("/openapi.json", f"Bearer {TOKEN}"),
        ("/v1/vms?limit=nonsense", f"Bearer {TOKEN}"),
    ):
        connection = HTTPConnection(control.hostname or "", control.port, timeout=60)
        connection.request("GET", path, headers={"Authorization": authorization})
        answer = connection.getresponse()
        told += [str(answer.getheaders()), answer.read().decode()]
        connection.close()
    return "\n".join(told) + _of_resource_manager(server)


def _of_resource_manager(server: ServerProgram) -> str:
    manager = urlsplit(server.resource_manager)
    context = ssl.create_default_context(cafile=server.data / "tls" / "ca.pem")
    told = []
    for secret in (WRONG, TOKEN):
        connection = HTTPSConnection(manager.hostname or "", manager.port, timeout=60, context=context)
        form = urlencode({"grant_type": "client_credentials", "client_secret": secret})
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/common/oauth2/v2.0/token", form, headers)
        told.append(connection.getresponse().read().decode())
        connection.request(
            "GET", "/subscriptions?api-version=2020-01-01", headers={"Authorization": f"Bearer {secret}"}
        )
        told.append(connection.getresponse().read().decode())
        connection.close()
    assert "access_token" in told[2]
    return "\n".join(told)


def test_a_server_that_logs_all_it_can_never_tells_its_token(tmp_path: Path) -> None:
    environment = clean_environment(FOREWARN_TOKEN=TOKEN)
    with ServerProgram.start(tmp_path / "data", "--log-level", "debug", env=environment) as server:
        told = _everything(server)
        process = Path(f"/proc/{server.process.pid}")
        command = process.joinpath("cmdline").read_bytes().decode()
        mode = process.joinpath("environ").stat().st_mode
        server.stop()
        rest = server.process.stdout.read() if server.process.stdout else ""
        log = server.log.read_text()
    kept = [path for path in (tmp_path / "data").rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert TOKEN not in server.ready + rest + log
    assert WRONG not in server.ready + rest + log
    assert TOKEN not in told
    assert WRONG not in told
    assert kept == []
    assert TOKEN not in command
    assert not mode & 0o077


def test_a_client_never_tells_its_token(tmp_path: Path) -> None:
    """Neither when it is refused nor when nobody answers."""
    with ServerProgram.start(tmp_path / "data", env=clean_environment(FOREWARN_TOKEN=TOKEN)) as server:
        refused = clean_environment(FOREWARN_URL=server.control, FOREWARN_TOKEN=WRONG)
        done = subprocess.run([FOREWARN, "vm", "list"], env=refused, capture_output=True, text=True, timeout=60)
    gone = run("vm", "list", status=3, env=refused)
    assert done.returncode != 0
    for told in (done.stdout, done.stderr, gone.stdout, gone.stderr):
        assert WRONG not in told


def test_a_token_can_be_given_where_no_list_of_processes_shows_it(tmp_path: Path) -> None:
    """As a variable or in the region file; and help says that a flag is the worse way."""
    from_file = resolve({}, {}, {"token": TOKEN}, tmp_path / "region.toml")
    from_variable = resolve({}, {"FOREWARN_TOKEN": TOKEN})
    assert from_file.token == from_variable.token == TOKEN
    assert TOKEN not in repr(from_file) + repr(from_variable)
    help_text = run("serve", "--help").stdout
    assert "better given as FOREWARN_TOKEN than as a flag" in " ".join(help_text.split())


@pytest.mark.parametrize("text", [f"{TOKEN} x", f"{TOKEN}\n", f"{TOKEN}é"])
def test_a_token_that_cannot_be_used_is_refused_without_being_repeated(text: str) -> None:
    done = run("serve", status=2, env=clean_environment(FOREWARN_TOKEN=text))
    assert TOKEN not in done.stderr + done.stdout


def test_the_secret_of_the_resource_manager_is_not_shown_by_what_holds_it() -> None:
    assert TOKEN not in repr(Access(TOKEN))
    assert TOKEN not in Access(TOKEN).issue("a", "i", "t", datetime(2026, 1, 1, tzinfo=UTC))


def test_an_agents_file_that_is_wrong_is_complained_about_without_its_secret() -> None:
    checked = check_text(f'[barrier]\nlisten = "nonsense"\nsecret = "{TOKEN}"\nsecret_file = 7\n')
    assert checked.complaints
    assert TOKEN not in json.dumps([each.as_json() for each in checked.complaints])
