"""docs/machines.md, "In Compose, with forewarn as a container": its files and every line of it, by podman-compose."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import FOREWARN
from tests.platforms.docker.agents import load_image
from tests.platforms.docker.daemons import Daemon
from tests.platforms.packages.built import LIMITS, TOOLS
from tests.platforms.typed import PATH, Typist, blocks, typist
from tests.waiting import until

_TITLE = "In Compose, with forewarn as a container"
_LIFE = 'CMD ["/bin/sh", "-c", "mkdir -p /boots; NAME=web-0 exec /bin/sh /inside/contained"]'
_SOCKET = "/run/podman/podman.sock"

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture
def person(engine: Daemon, tmp_path: Path) -> Iterator[Typist]:
    """At the engine's host, with podman-compose, and the socket where podman's own unit has it, with its rights."""
    programs, folder = tmp_path / "bin", tmp_path / "region"
    programs.mkdir()
    folder.mkdir()
    podman = programs / "podman"  # which is found before the real one, and must not find itself
    client = [str(shutil.which("podman")), *engine.client()[1:]]
    podman.write_text(f'#!/bin/sh\nexec {" ".join(client)} "$@"\n')
    compose = programs / "podman-compose"
    given = f'--podman-path {podman} --podman-run-args "{" ".join(LIMITS)}"'
    compose.write_text(f'#!/bin/sh\nexec {TOOLS / "podman-compose"} {given} "$@"\n')
    for program in (podman, compose):
        program.chmod(0o755)
    inside = [word for word in engine.inside if word != "--pid"]
    Path(engine.path).chmod(0o660)
    place = f"mkdir -p {Path(_SOCKET).parent} && ln -sf {engine.path} {_SOCKET}"
    subprocess.run([*inside, "/bin/sh", "-c", place], check=True)
    load_image(engine, "example", "--change", _LIFE)
    with typist(inside, folder, PATH=f"{programs}:{FOREWARN.parent}:{PATH}") as made:
        yield made
        made.type("podman-compose down --volumes")
        engine.socket.ask("DELETE", f"/networks/{folder.name}_metadata")


def _follow(person: Typist) -> None:
    """As ``Typist.follow``; whoever typed a line that starts something waits until it is there."""
    for language, text in blocks(_TITLE):
        if language in ("yaml", "toml"):
            (person.folder / {"yaml": "compose.yaml", "toml": "region.toml"}[language]).write_text(text)
        for line in text.splitlines() if language == "console" else ():
            person.type(line.removeprefix("$ "))
            if line.startswith("$ podman-compose up"):
                until(lambda: _answers(person), "the region is there", lambda: _logs(person))


def _answers(person: Typist) -> bool:
    ask = 'curl -s -o /dev/null -w "%{http_code}" -H "Authorization: Bearer $FOREWARN_TOKEN"'
    return "200" in person.type(f"{ask} http://127.0.0.1:16926/v1/ping || true")


def _logs(person: Typist) -> str:
    return person.type("podman ps --all; podman logs region_forewarn_1 2>&1 || true")


def test_forewarn_in_a_container_restarts_the_one_beside_it_when_its_agent_has_approved(
    engine: Daemon, person: Typist
) -> None:
    def told() -> str:
        """What its agent says."""
        return engine.exec("web-0", "cat", "/boots/web-0")

    _follow(person)
    until(lambda: "this VM is web-0" in told(), "its agent reads", lambda: told() + _logs(person))
    person.type("forewarn vm restart web-0")
    until(lambda: told().count("booted") == 2, "it restarts", lambda: told() + _logs(person))
    until(lambda: "restored Reboot" in told(), "what was prepared is put right", told)

    (event,) = json.loads(person.type("forewarn event list --all --json").partition("\n")[2])
    assert (event["type"], event["approved_by"]) == ("Reboot", "web-0")
    assert told().index("prepared Reboot") < told().rindex("booted")
    region = json.loads(person.type("podman inspect region_forewarn_1 2>/dev/null").partition("\n")[2])[0]
    assert not region["EffectiveCaps"]
    assert {port for port, at in region["NetworkSettings"]["Ports"].items() if at} == {"16926/tcp"}
    status = person.type("podman exec region_forewarn_1 cat /proc/1/status")
    assert "Uid:\t10001\t10001\t10001\t10001\n" in status, "the server is root"
    unadopted = person.type("forewarn machine list --unadopted")
    assert "region_forewarn_1" in unadopted
    assert "web-0" not in unadopted
