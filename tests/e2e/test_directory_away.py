"""The data directory goes away under a running server, as its users see it: nothing more is acknowledged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.program import ServerProgram, ask


@pytest.mark.parametrize("replaced", [False, True])
def test_with_its_directory_deleted_a_server_refuses_writes_and_says_why(tmp_path: Path, replaced: bool) -> None:
    data = tmp_path / "data"
    with ServerProgram.start(data, "--clock", "virtual") as server:
        server.forewarn("vm", "create", "before")
        shutil.rmtree(data)
        if replaced:
            with ServerProgram.start(data, "--clock", "virtual") as second:
                second.forewarn("vm", "create", "second")
                answers = _refused(server)
                assert [vm["name"] for vm in second.json("vm", "list")] == ["second"]
        else:
            answers = _refused(server)
        ready = ask(server.control, "/health/ready")
        verdict = server.forewarn("journal", "verify", status=1)
        for path in ("/v1/vms", "/v1/journal?limit=5", "/v1/vms/before/history", "/v1/region"):
            assert ask(server.control, path).status != 500, path
        listed = [vm["name"] for vm in server.json("vm", "list")]
        server.stop()
        said = server.log.read_text()

    assert set(answers) == {503}
    assert ready.status == 503
    assert "was moved, replaced or deleted" in json.loads(ready.body)["reasons"][0]
    assert "was moved, replaced or deleted" in verdict
    assert listed == ["before"]
    assert len([line for line in said.splitlines() if " ERROR The data directory " in line]) == 1
    assert "Traceback" not in said


def _refused(server: ServerProgram) -> list[int]:
    headers = {"Content-Type": "application/json"}
    bodies = [json.dumps({"name": f"lost-{number}"}).encode() for number in range(5)]
    return [ask(server.control, "/v1/vms", headers, "POST", body).status for body in bodies]
