"""Containers known by the socket in their own network: also after each start, by the program of docs/machines.md."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.program import ServerProgram
from tests.platforms.docker.agents import IMAGE, Contained, load_image
from tests.platforms.docker.daemons import Daemon
from tests.platforms.serving import facts, forewarn, serving

pytestmark = pytest.mark.timeout(300)
ATTACH = Path(__file__).with_name("attach")
_PAGE = Path(__file__).parents[3] / "docs/machines.md"
_REGION = """
[machines]
grace = "2s"
locks = "{room}"
[[engine]]
name = "local"
kind = "docker"
socket = "{socket}"
node = "here"
[[host]]
name = "rack-1"
engine = "local"
added = true
"""


def test_the_program_that_the_page_prints_is_the_one_that_was_tried() -> None:
    assert f"```sh\n{ATTACH.read_text()}```" in _PAGE.read_text()


@contextmanager
def attaching(engine: Daemon) -> Iterator[None]:
    """The program beside the engine, with names of networks that end with it."""
    made = "mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns"
    subprocess.run([*engine.inside, "/bin/sh", "-c", made], check=True)
    given = {**os.environ, "DOCKER_HOST": f"unix://{engine.path}"}
    words = [*engine.inside, "/bin/sh", str(ATTACH)]
    with subprocess.Popen(words, env=given, start_new_session=True) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            subprocess.run([*engine.inside, "umount", "--lazy", "/run/netns"], check=True)


@pytest.fixture
def server(dockerd: tuple[Daemon, ...], tmp_path: Path) -> Iterator[tuple[ServerProgram, tuple[str, ...]]]:
    """In the engine's network and with its names of networks; its own process."""
    (engine,) = dockerd
    inside = tuple(word for word in engine.inside if word != "--pid")
    config = tmp_path / "region.toml"
    config.write_text(_REGION.format(room=tmp_path, socket=engine.path))
    soon = ("--recovery-user-restart", "2s")
    with attaching(engine), serving(inside, tmp_path / "data", "127.0.0.1:16925", "--config", config, *soon) as made:
        yield made, inside
        engine.clear()


def test_a_container_without_any_link_reads_and_approves_also_after_a_restart(
    dockerd: tuple[Daemon, ...], server: tuple[ServerProgram, tuple[str, ...]], tmp_path: Path
) -> None:
    """Two of them, each with the same address at its own loopback: what tells them apart is the socket."""
    (engine,), (program, inside) = dockerd, server
    load_image(engine)
    boots = tmp_path / "boots"
    boots.mkdir()
    guests = []
    for name in ("red", "blue"):
        body = {
            "Image": IMAGE,
            "Cmd": ["/bin/sh", "/inside/contained"],
            "Env": [f"NAME={name}"],
            "Labels": {"forewarn.netns": ""},
            "HostConfig": {"NetworkMode": "none", "Binds": [f"{boots}:/boots"]},
        }
        engine.run(name, body)
        forewarn(program, inside, "machine", "adopt", f"rack-1/{name}", "--way", "namespace")
        assert "Its identity is safe." in forewarn(program, inside, "machine", "check", name)
        guests.append(Contained(name, boots))
    for guest in guests:
        guest.until_listening()
    red, blue = guests
    for turn in (1, 2):  # the second is announced to a container that was started by the engine since
        forewarn(program, inside, "vm", "restart", "red")
        red.until("prepared Reboot", turn)
        red.until("booted", turn + 1)
        red.until("restored Reboot", turn)
    assert [each["body"]["by"] for each in facts(program, inside, "EventApproved")] == ["red", "red"]
    assert not any("prepared" in line for line in blue.told())
