"""The container image: built on a base of Debian's packages, published at a desk, killed, and back with its volume."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.program import EVENTS, FOREWARN, clean_environment
from tests.platforms.docker.daemons import Daemon
from tests.platforms.packages.built import LIMITS, NAME, run
from tests.waiting import until

_PORTS = ("--publish", "127.0.0.1:16925:16925", "--publish", "127.0.0.1:16926:16926")

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture
def desk(engine: Daemon) -> Iterator[str]:
    """A container with published ports and a volume, ready."""
    _podman(engine, "run", "--detach", "--name", "desk", *LIMITS, *_PORTS, "--volume", "kept:/var/lib/forewarn", NAME)
    yield "desk"
    _podman(engine, "rm", "--force", "desk")


def _podman(engine: Daemon, *words: str) -> str:
    return run([*engine.client(), *words]).stdout


def _token(engine: Daemon, start: int) -> str:
    """Of the container's n-th start, which printed it when it was ready."""

    def told() -> list[str]:
        log = run([*engine.client(), "logs", "desk"]).stdout
        return re.findall(r"FOREWARN_TOKEN=(\S+)", log)[start - 1 :]

    return until(told, "the token", lambda: str(run([*engine.client(), "logs", "desk"])))[0]


def _forewarn(engine: Daemon, token: str, *words: str) -> str:
    """A person outside of the container, at the published port."""
    return run([*engine.inside, FOREWARN, *words, "--url", "http://127.0.0.1:16926"], FOREWARN_TOKEN=token).stdout


def _events(engine: Daemon) -> Any:
    """As a program that stands outside reads them, in the name of web-0."""
    url = f"http://127.0.0.1:16925/vm/web-0{EVENTS}"
    return json.loads(run([*engine.inside, "curl", "-sS", "-H", "Metadata:true", url]).stdout)["Events"]


def test_what_was_told_at_a_published_port_outlives_a_kill(engine: Daemon, desk: str) -> None:
    first = _token(engine, 1)
    _forewarn(engine, first, "vm", "create", "web-0", "--read")
    _forewarn(engine, first, "vm", "restart", "web-0")
    before = _events(engine)

    _podman(engine, "kill", "--signal", "KILL", desk)
    _podman(engine, "wait", desk)
    _podman(engine, "start", desk)
    second = _token(engine, 2)

    assert [event["EventType"] for event in before] == ["Reboot"]
    assert _events(engine) == before
    assert second != first
    assert "web-0" in _forewarn(engine, second, "vm", "list")
    refused = subprocess.run(
        [*engine.inside, FOREWARN, "vm", "list", "--url", "http://127.0.0.1:16926"],
        env=clean_environment(FOREWARN_TOKEN=first),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode != 0, "the token of the first start still opens the second"
    _podman(engine, "healthcheck", "run", desk)
    assert "Uid:\t10001\t10001\t10001\t10001\n" in _podman(engine, "exec", desk, "cat", "/proc/1/status")


def test_the_image_is_not_root_and_needs_no_compiling(engine: Daemon) -> None:
    settings = json.loads(_podman(engine, "image", "inspect", NAME))[0]["Config"]
    asked = (
        "import forewarn, pathlib; here = pathlib.Path(forewarn.__file__).parent; "
        "print(*(p.relative_to(here) for p in here.rglob('*.py') "
        "if not list((p.parent / '__pycache__').glob(p.stem + '.*.pyc'))))"
    )
    entry = ("--network", "none", "--entrypoint", "/opt/forewarn/bin/python")
    bare = _podman(engine, "run", "--rm", *LIMITS, *entry, NAME, "-c", asked)
    pip = run([*engine.client(), "run", "--rm", *LIMITS, *entry, NAME, "-m", "pip", "--version"], status=None)

    assert settings["User"] == "10001:10001"
    assert list(settings["Volumes"]) == ["/var/lib/forewarn"]
    assert "FOREWARN_DESK=1" in settings["Env"]
    assert bare == "\n", "modules that every start would compile anew"
    assert pip.returncode != 0, "there is a pip in the image, which nothing needs"
