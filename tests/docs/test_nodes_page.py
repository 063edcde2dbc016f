"""What docs/nodes.md gives to copy is accepted by nginx and systemd. HAProxy's part is run by the end-to-end tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from forewarn.plane.clock import wall_time
from forewarn.plane.system import PACE
from forewarn.server.listening import GRACE_SECONDS
from forewarn.settings.table import SETTINGS
from forewarn.stores.postgres.address import _SETTINGS, PATIENCE
from forewarn.web.resource_manager.login.tls import prepare

PAGE = (Path(__file__).parents[2] / "docs/nodes.md").read_text()
FOREWARN = Path(sys.executable).with_name("forewarn")


def _block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def _accepted(*command: str | Path) -> None:
    path = {"PATH": f"{os.environ['PATH']}:/usr/sbin"}  # where Debian keeps nginx
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=path)
    assert done.returncode == 0, done.stderr


def test_nginx_takes_the_configuration(tmp_path: Path) -> None:
    files = prepare(tmp_path / "tls", (), wall_time())
    text = _block("nginx").replace("10.0.0.", "127.0.8.")
    text = text.replace("/etc/nginx/forewarn-key.pem", str(files.key))
    text = text.replace("/etc/nginx/forewarn.pem", str(files.certificate))
    (tmp_path / "nginx.conf").write_text(f"events {{}}\npid {tmp_path}/pid;\nhttp {{\n{text}}}\n")

    _accepted("nginx", "-t", "-q", "-e", tmp_path / "log", "-p", tmp_path, "-c", tmp_path / "nginx.conf")


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "forewarn.service"
    unit.write_text(_block("ini").replace("/opt/forewarn/bin/forewarn", str(FOREWARN)).replace("User=forewarn\n", ""))

    _accepted("systemd-analyze", "verify", unit)


def test_every_setting_that_the_page_names_exists() -> None:
    variables = {name.lower() for name in re.findall(r"FOREWARN_([A-Z_]+)=", PAGE)}
    lines = re.findall(r"forewarn serve[^\n`]*", PAGE)
    flags = {flag.replace("-", "_") for line in lines for flag in re.findall(r"--([a-z-]+)", line)}

    assert variables <= {*SETTINGS, "url"}
    assert flags <= {*SETTINGS, "config"}


def test_the_page_says_of_every_setting_whether_nodes_must_agree_on_it() -> None:
    (table,) = re.findall(r"\| \| settings \|\n(.*?)\n\n", PAGE, re.DOTALL)
    told = [
        re.escape(name).replace(r"\*", ".*")
        for name in re.findall(r"`([a-z_*]+)`", table.replace("with the `control` face", ""))
    ]
    for setting in SETTINGS:
        rows = [name for name in told if re.fullmatch(name, setting)]
        assert len(rows) == 1, f"{setting} is told of {len(rows)} times"


def test_how_long_a_write_may_take_is_what_the_page_says() -> None:
    """A look before it, somebody's attempt that is under way, and its own; or a server that says nothing."""
    lock = int(_SETTINGS["lock_timeout"].removesuffix("s"))
    assert f"within {PACE.refresh_seconds + 2 * lock:g} s where somebody locks its tables" in " ".join(PAGE.split())
    assert f"within {PATIENCE.silence_seconds:g} s where it says nothing" in " ".join(PAGE.split())
    assert PACE.refresh_seconds + 2 * lock < GRACE_SECONDS
