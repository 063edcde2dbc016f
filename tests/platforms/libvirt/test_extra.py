"""The extra ``libvirt``: its package, built here against this machine's libvirt, is what a server then works with."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.e2e.program import ROOT, ServerProgram, clean_environment
from tests.platforms.libvirt.daemons import Daemon
from tests.platforms.libvirt.vms import clear, virsh

_DOMAIN = "<domain type='qemu'><name>web-0</name><memory>65536</memory><os><type>hvm</type></os></domain>"


@pytest.mark.timeout(400)  # it is compiled
def test_a_server_with_the_extra_lists_what_libvirt_has(daemons: dict[str, Daemon], tmp_path: Path) -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["libvirt"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps"]
    built = subprocess.run([*pip, "--target", str(tmp_path / "its"), *wanted], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    (tmp_path / "web-0.xml").write_text(_DOMAIN)
    virsh(daemons["alpha"], "define", str(tmp_path / "web-0.xml"))

    config = tmp_path / "region.toml"
    config.write_text(
        f"[machines]\nlocks = '{tmp_path}/locks'\n[[engine]]\nname = 'metal'\nkind = 'libvirt'\nnode = 'alpha'\n"
        f"[[host]]\nname = 'alpha'\nengine = 'metal'\nuri = '{daemons['alpha'].host.uri}'\nadded = true\n"
    )
    environment = clean_environment(PYTHONPATH=str(tmp_path / "its"))
    with ServerProgram.start(tmp_path / "data", "--config", config, env=environment) as server:
        told = server.json("machine", "list", "--unadopted")
    clear(daemons)
    assert told["unreached"] == []
    assert [each["ref"] for each in told["machines"]] == ["web-0"], told
