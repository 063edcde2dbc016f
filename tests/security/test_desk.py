"""Desk mode: what it opens, what it keeps closed, and that it cannot be had beside anything of worth."""

from __future__ import annotations

import http.client
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from forewarn.core.machines.values import RealMachine
from forewarn.core.maps import Map
from forewarn.core.region import Region, replace
from forewarn.server.desk import refuse_adopted
from forewarn.settings.errors import CommandFailed
from tests.e2e.program import FOREWARN, PATIENCE_SECONDS, ServerProgram, clean_environment

EVERYWHERE = ("--metadata", "0.0.0.0:0", "--control", "0.0.0.0:0", "--resource-manager", "off")
DOCUMENT = "/vm/web-0/metadata/scheduledevents?api-version=2020-07-01"


def ask(url: str, path: str, **fields: str) -> tuple[int, bytes]:
    """As a peer beyond loopback is asked for: the listener is no loopback listener, whoever calls it."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", path, headers=fields)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def refused(tmp_path: Path, *arguments: str, **more: str) -> str:
    done = subprocess.run(
        [FOREWARN, "serve", *EVERYWHERE, *arguments],
        env=clean_environment(**more),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert (done.returncode != 0, done.stdout, list(tmp_path.iterdir())) == (True, "", [])
    return done.stderr


@pytest.mark.parametrize("desk", [("--desk",), ()], ids=["flag", "variable"])
def test_at_a_desk_a_name_in_the_path_counts_and_control_has_a_token_that_is_printed(
    desk: tuple[str, ...], tmp_path: Path
) -> None:
    with subprocess.Popen(
        [FOREWARN, "serve", "--ephemeral", *EVERYWHERE, *desk, "--ready", "json"],
        env=clean_environment(**({} if desk else {"FOREWARN_DESK": "1"})),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            assert ask(ready["control"], "/v1/vms")[0] == 401
            bearer = {"Authorization": f"Bearer {ready['token']}", "Content-Type": "application/json"}
            assert ask(ready["control"], "/v1/vms", **bearer)[0] == 200
            made = clean_environment(FOREWARN_URL=ready["control"].replace("0.0.0.0", "127.0.0.1"))
            made["FOREWARN_TOKEN"] = ready["token"]
            subprocess.run([FOREWARN, "vm", "create", "web-0"], env=made, check=True, capture_output=True)
            assert ask(ready["metadata"], DOCUMENT, Metadata="true")[0] == 200
            assert ask(ready["metadata"], DOCUMENT, Metadata="true", Host="site.example")[0] == 400
            assert ask(ready["metadata"], DOCUMENT, Metadata="true", Origin="http://site.example")[0] == 400
        finally:
            process.terminate()
            _, told = process.communicate(timeout=PATIENCE_SECONDS)
    assert len(ready["token"]) == 32
    assert told.count("Desk mode: whoever reaches the metadata port can be any VM.") == 1
    assert ready["token"] not in told


def test_without_it_a_name_in_the_path_counts_for_nothing_there(tmp_path: Path) -> None:
    with ServerProgram.start(tmp_path / "region", "--ephemeral", "--metadata", "0.0.0.0:0", cwd=tmp_path) as server:
        server.forewarn("vm", "create", "web-0")

        assert ask(server.metadata, DOCUMENT, Metadata="true")[0] == 404


def test_a_desk_with_a_store_is_refused(tmp_path: Path) -> None:
    assert "so it has no shared store" in refused(tmp_path, "--desk", "--store", "postgresql://db.example/forewarn")


def test_without_a_desk_control_beyond_loopback_still_needs_a_token(tmp_path: Path) -> None:
    assert "beyond loopback, and needs a token" in refused(tmp_path, "--ephemeral")
    assert "is neither on nor off" in refused(tmp_path, "--ephemeral", FOREWARN_DESK="yes please")


def test_a_desk_with_an_engine_or_an_adopted_machine_is_refused(tmp_path: Path) -> None:
    file = tmp_path.with_suffix(".toml")
    file.write_text(
        '[[engine]]\nname = "docker"\nkind = "docker"\nnode = "here"\n[[host]]\nname = "a"\nengine = "docker"\n'
        'socket = "/run/nowhere.sock"\n'
    )
    assert "it runs no engines" in refused(tmp_path, "--desk", "--config", str(file), "--node-name", "here")

    machine = RealMachine("docker", "a", datetime(2026, 1, 1, tzinfo=UTC))
    refuse_adopted(Region())
    with pytest.raises(CommandFailed, match="this region has 1 adopted machines"):
        refuse_adopted(replace(Region(), machines=Map({"db": machine})))
