"""The shell program of ``examples/engines`` on a real daemon with a real guest: what ``forewarn engine check`` says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platforms.libvirt.bench import libvirt_bench
from tests.platforms.libvirt.daemons import Daemon

pytestmark = pytest.mark.timeout(400)
PROGRAM = Path(__file__).parents[3] / "examples" / "engines" / "virsh_engine.sh"
NOT_TRIED = {
    "It answers others while it holds a question",
    "Without the right token nothing is told",
    "A migration keeps the memory, and leaves nothing behind",
}


def test_a_shell_program_over_virsh_keeps_the_rules_of_the_protocol(daemons: dict[str, Daemon], folder: Path) -> None:
    with libvirt_bench(daemons, folder) as bench:
        machine = bench.make("web-1", "alpha")
        bench.make_stranger("alpha")
        bench.wait_for_guest()
        before = bench.truth("stranger")
        words = ["engine", "check", "--json", "--machine", "alpha/web-1", "--program", str(PROGRAM)]
        done = subprocess.run(
            [sys.executable, "-m", "forewarn", *words, daemons["alpha"].host.uri, "alpha"],
            capture_output=True,
            text=True,
            timeout=300,
        )
        told = json.loads(done.stdout)
        assert {rule["rule"]: rule["why"] for rule in told["rules"] if rule["verdict"] == "broken"} == {}
        assert {rule["rule"] for rule in told["rules"] if rule["verdict"] == "not tried"} == NOT_TRIED
        assert done.returncode == 0
        (after,) = bench.truth("web-1")
        assert (after.power, after.boot_mark != machine.boot_mark) == ("running", True)
        assert bench.truth("stranger") == before
