"""The operator API is what its OpenAPI document says, for good requests and for bad ones: schemathesis looks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import ServerProgram, clean_environment

CONFIG = Path(__file__).with_name("schemathesis.toml")
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
TOKEN = "sesame-open-sesame"
REGION = """
[settings]
clock = "virtual"
user_operation_limit = 0

[[vm]]
name = "web"
count = 6
availability_set = "front"

[[vm]]
name = "lone"
"""


@pytest.mark.timeout(300)
def test_every_answer_of_the_operator_api_is_one_that_its_document_promises(tmp_path: Path) -> None:
    """Examples, the edges of every schema, chance, and sequences of requests; the same ones in every run."""
    (tmp_path / "region.toml").write_text(REGION)
    environment = clean_environment(FOREWARN_TOKEN=TOKEN)
    with ServerProgram.start(tmp_path / "data", "--config", tmp_path / "region.toml", env=environment) as server:
        server.document("web-0")
        server.forewarn("vm", "restart", "web-0")
        done = subprocess.run(
            [
                SCHEMATHESIS, "--config-file", CONFIG, "run", f"{server.control}/openapi.json",
                "--header", f"Authorization: Bearer {TOKEN}", "--max-examples", "8", "--seed", "1",
                "--request-timeout", "30", "--suppress-health-check", "all", "--warnings", "off", "--no-color",
            ],
            cwd=tmp_path,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )  # fmt: skip
        log = server.log.read_text()

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in log, log
    assert " failed: " not in log, log
