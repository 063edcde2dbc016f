"""The commands of docs/machines.md that no namespace is needed for, typed as they stand there, in their order.

Those of "Under a libvirt that is there already", "Under containers" and "In Compose" are typed by tests/platforms.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forewarn.core.commands import HostFellSilent
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinHosts
from forewarn.plane.clock import TurnableClock
from forewarn.plane.hands.settings import MachineHost, Machines
from forewarn.plane.ports import Origin
from tests.unit.cli.conftest import NOON, House, Region

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Run

PAGE = (Path(__file__).parents[3] / "docs/machines.md").read_text()
_IN_NAMESPACES = (
    "Under a libvirt that is there already",
    "Under containers that are there already",
    "In Compose, with forewarn as a container",
)


@pytest.fixture
def platform() -> TwinHosts:
    found = TwinHosts(("rack-1", "rack-2", "alpha"))
    for name in ("web-0", "batch"):
        found.put(name, "rack-1")
    return found


@pytest.fixture
def region(platform: TwinHosts, house: tuple[House, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Region]:
    opened, url = house
    monkeypatch.setenv("FOREWARN_URL", url)
    engine = TwinEngine(platform, "boxes")
    hosts = tuple(MachineHost(name, engine, kind="docker", fence=lambda: None) for name in platform.names)
    made = Region(opened, TurnableClock(NOON), None, machines=Machines(hosts, blueprints={"worker": "boxes"}))
    yield made
    made.wait(made.close())


def commands(title: str) -> list[str]:
    """What is typed below that title, without what stands beside it."""
    text = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"^ *\$ forewarn (.*?)(?: +#.*)?$", text, re.M)


def test_each_line_about_adoption_does_what_stands_beside_it(run: Run, region: Region) -> None:
    run("host", "add", "rack-2")
    seen = {}
    for line in commands("Adoption"):
        if "confirm-lost" in line:  # it has left by then, and is back and silent
            run("host", "add", "rack-1")
            region.wait(region.plane.submit(HostFellSilent("rack-1"), Origin("driver")))
        ended = run(*shlex.split(line))
        assert ended.status == 0, f"{line}: {ended.err}"
        seen[line.split(" --as")[0]] = ended.out
        if "--dry-run" in line:
            assert run("machine", "list", "--json").json["machines"] == []
    assert "rack-1/web-0" in seen["machine list --unadopted"]
    assert "Its identity is safe." in seen["machine check web-0"]
    assert len(seen) == len(commands("Adoption")) == 11


def test_each_line_about_blueprints_names_one(run: Run, region: Region) -> None:
    run("host", "add", "rack-1")
    for line in commands("Made from a blueprint"):
        assert run(*shlex.split(line)).status == 0, line
    made = [each["vm"] for each in run("machine", "list", "--json").json["machines"]]
    assert len(made) == 5


def test_each_line_about_ways_binds_a_vm(run: Run, region: Region) -> None:
    run("host", "add", "rack-1")
    for line in commands("Metadata to guests"):
        assert run(*shlex.split(line)).status == 0, line
        assert run("machine" if "adopt" in line else "vm", "release" if "adopt" in line else "delete", "web-0").out


def test_no_other_part_of_the_page_has_a_command_that_nobody_types() -> None:
    typed = {"Adoption", "Made from a blueprint", "Metadata to guests", *_IN_NAMESPACES}
    titles = re.findall(r"^## (.*)$", PAGE, re.M)
    assert [title for title in titles if commands(title) and title not in typed] == []
