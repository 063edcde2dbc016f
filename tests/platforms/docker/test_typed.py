"""docs/machines.md, "Under containers that are there already": every line of it, on a dockerd that runs already."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.platforms.docker.agents import load_image
from tests.platforms.docker.daemons import Daemon
from tests.platforms.typed import typist
from tests.waiting import until

pytestmark = pytest.mark.timeout(300)
_LIFE = 'CMD ["/bin/sh", "-c", "mkdir -p /boots; NAME=web-0 exec /bin/sh /inside/contained"]'


def test_every_line_of_the_page_leads_to_a_container_that_approves(dockerd: tuple[Daemon, ...], tmp_path: Path) -> None:
    (engine,) = dockerd
    inside = [word for word in engine.inside if word != "--pid"]
    load_image(engine, "example", "--change", _LIFE)
    subprocess.run([*inside, "ln", "-sf", engine.path, "/run/docker.sock"], check=True)
    try:
        with typist(inside, tmp_path) as person:
            person.follow("Under containers that are there already")
            until(lambda: "this VM is web-0" in engine.exec("web-0", "cat", "/boots/web-0"), "its agent reads")
            person.type("forewarn vm restart web-0")
            until(lambda: engine.exec("web-0", "cat", "/boots/web-0").count("booted") == 2, "it restarts")
            told = engine.exec("web-0", "cat", "/boots/web-0")
            assert "prepared Reboot" in told
            assert "approved" in person.type("forewarn activity")
            assert any(line.startswith("docker run") for line in person.typed)
    finally:
        engine.clear()
        engine.do("DELETE", "/networks/metadata")
