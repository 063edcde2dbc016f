"""The engine beside two real daemons, where the contract suite has nothing to ask of every engine."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from msgspec import structs

from forewarn.core.machines.values import ErrandKind, MachinePower
from forewarn.engines.libvirt.engine import LibvirtEngine
from forewarn.engines.libvirt.hosts import Hosts
from forewarn.engines.libvirt.moving import Moving
from forewarn.engines.libvirt.powering import Powering
from forewarn.plane.hands.engine import AUTOSTART, Done, Failed, NotYet, Way
from forewarn.server.machines import machines_of
from forewarn.settings.region_file import read_region_file
from forewarn.settings.resolve import resolve
from tests.contract.engines.bench import Permit, carry_through, done, errand_for, running
from tests.platforms.libvirt.bench import LibvirtBench, libvirt_bench
from tests.platforms.libvirt.daemons import Daemon
from tests.waiting import until

pytestmark = pytest.mark.timeout(300)
SECOND = timedelta(seconds=1)
_NOT_ASKED = {"virDomainFree", "virDomainGetName", "virDomainGetUUID"}  # the binding knows it by itself
_REGION = """
[machines]
migration_downtime = "137ms"
[[engine]]
name = "metal"
kind = "libvirt"
node = "here"
shared_disks = true
"""


@pytest.fixture
def bench(daemons: dict[str, Daemon], folder: Path) -> Iterator[LibvirtBench]:
    with libvirt_bench(daemons, folder) as made:
        yield made


def test_what_ran_at_a_lost_host_runs_elsewhere_from_what_was_told_of_it_and_that_host_is_not_asked(
    bench: LibvirtBench, daemons: dict[str, Daemon]
) -> None:
    copy = bench.make("web-1", "alpha")
    (seen,) = (each for each in bench.engine.listing("alpha").machines if each.ref == "web-1")
    errand = errand_for(bench, ErrandKind.REDEPLOY, copy, to="beta")
    errand = structs.replace(errand, source_off=True, definition=seen.definition)
    daemons["alpha"].lose()
    try:
        arrived = done(carry_through(bench, errand)).sighting
        assert (arrived.host, arrived.power, arrived.errand) == ("beta", MachinePower.RUNNING, errand.id)
        assert "web-1" in bench.virsh("beta", "list", "--name").split()
    finally:
        daemons["alpha"].start()
        words = ["virsh", "-q", "--connect", daemons["alpha"].host.uri, "pool-start", "machines"]
        subprocess.run(words, capture_output=True)  # it may have found that the pool is active still


@pytest.mark.parametrize("flags", [["--persistent", "--undefinesource"], []], ids=["whole", "its definition stays"])
def test_one_that_somebody_has_migrated_by_hand_is_started_nowhere_else(
    bench: LibvirtBench, daemons: dict[str, Daemon], flags: list[str]
) -> None:
    copy = bench.make("web-1", "alpha")
    (seen,) = (each for each in bench.engine.listing("alpha").machines if each.ref == "web-1")
    there = daemons["beta"].host
    words = ["--live", "--p2p", "--unsafe", *flags, "web-1", there.peer_uri or there.uri, there.migrate_uri]
    bench.virsh("alpha", "migrate", *words)
    for number, kind in enumerate((ErrandKind.RESTART, ErrandKind.START, ErrandKind.REDEPLOY), 1):
        errand = errand_for(bench, kind, copy, number, to="" if kind is ErrandKind.RESTART else "alpha")
        told = bench.engine.carry_out(structs.replace(errand, definition=seen.definition), Permit())
        assert isinstance(told, Failed), (kind, told)
        assert [each.host for each in running(bench.truth("web-1"))] == ["beta"]


def test_one_that_somebody_starts_between_the_look_and_the_change_is_looked_at_again(bench: LibvirtBench) -> None:
    copy = bench.make("web-1", "alpha")
    bench.do("stop", "web-1", "alpha")
    errand = errand_for(bench, ErrandKind.START, copy, to="alpha")

    def ask(asked: int) -> bool:
        if asked == 2:  # for the start itself; the first was for the stamp
            bench.do("boot", "web-1", "alpha")
        return True

    result = bench.engine.carry_out(errand, Permit(ask=ask))
    assert isinstance(result, NotYet), result
    assert isinstance(bench.engine.carry_out(errand, Permit(True)), Done)


class MeddledHosts(Hosts):
    """Something happens each time that beta is looked at."""

    deed: Callable[[], None]

    def connect(self, name: str) -> Any:
        connection = super().connect(name)
        return _Meddled(connection, self.deed) if name == "beta" else connection


class _Meddled:
    def __init__(self, connection: Any, deed: Callable[[], None]) -> None:
        self._connection, self._deed = connection, deed

    def lookupByName(self, name: str) -> Any:  # noqa: N802 - libvirt's name
        self._deed()
        return self._connection.lookupByName(name)


def test_a_migration_that_ends_between_two_looks_has_not_failed(
    bench: LibvirtBench, daemons: dict[str, Daemon]
) -> None:
    """Seen to run at its source, then looked for at its target; by then it runs at its source no more."""
    copy = bench.make("web-1", "alpha")
    hosts = MeddledHosts({name: daemon.host for name, daemon in daemons.items()})
    hosts.deed = lambda: bench.do("stop", "web-1", "alpha") if bench.truth("web-1")[0].power.value != "off" else None
    moving = Moving(hosts, Powering(hosts, time.monotonic), time.monotonic, 60 * SECOND, SECOND, True)
    errand = errand_for(bench, ErrandKind.MIGRATE, copy, to="beta")
    try:
        assert isinstance(moving.migrate(errand, Permit()), NotYet)
        assert isinstance(moving.migrate(errand, Permit(True)), Failed)  # nor has it arrived
    finally:
        hosts.close()


def test_a_migration_may_let_the_machine_stand_as_long_as_the_servers_file_says(
    bench: LibvirtBench, daemons: dict[str, Daemon], tmp_path: Path
) -> None:
    text = _REGION
    for name, daemon in daemons.items():
        text += f'[[host]]\nname = "{name}"\nengine = "metal"\nuri = "{daemon.host.uri}"\n'
        text += f'migrate_uri = "{daemon.host.migrate_uri}"\n'
    (tmp_path / "region.toml").write_text(text)
    file = read_region_file(tmp_path / "region.toml")
    machines = machines_of(file.declared, resolve({}, {}, {**file.settings, "node_name": "here"}, file.path))
    engine = machines.hosts[0].engine
    errand = errand_for(bench, ErrandKind.MIGRATE, bench.make("web-1", "alpha"), to="beta")
    bench.virsh("alpha", "migrate-setspeed", "web-1", "1")  # MiB a second, so that it can be caught under way
    try:
        assert isinstance(engine.carry_out(errand, Permit()), NotYet)
        until(lambda: "Unbounded" in bench.virsh("alpha", "domjobinfo", "web-1"), "the migration to be under way")
        assert bench.virsh("alpha", "migrate-getmaxdowntime", "web-1").strip() == "137"
        engine.abandon(errand)
        until(lambda: "None" in bench.virsh("alpha", "domjobinfo", "web-1"), "it to be aborted")
        assert "web-1" in bench.virsh("alpha", "list", "--name").split()
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("part", "mistake"),
    [
        ("<vcpu>1</vcpu>", "<vcpu>many</vcpu>"),  # libvirt will not have the definition
        (
            "</devices>",
            "</devices><seclabel type='static' model='selinux'><label>no</label></seclabel>",
        ),  # nor start it
    ],
)
def test_nothing_is_left_of_a_machine_that_libvirt_will_not_have(
    bench: LibvirtBench, daemons: dict[str, Daemon], part: str, mistake: str
) -> None:
    fine = bench.plan
    blueprint = structs.replace(fine, definition=fine.definition.replace(part, mistake))
    engine = LibvirtEngine("metal", [daemons["alpha"].host], time.monotonic, {"small": blueprint})
    try:
        result = engine.carry_out(errand_for(bench, ErrandKind.CREATE, None), Permit())
        assert isinstance(result, Failed), result
        assert result.lasting, result.why
        assert (bench.truth("web-1"), bench.left_of("web-1")) == ((), ())
        again = carry_through(bench, errand_for(bench, ErrandKind.CREATE, None, 2))
        assert done(again).sighting.power is MachinePower.RUNNING
        assert len(bench.left_of("web-1")) == 1
        carry_through(bench, errand_for(bench, ErrandKind.DELETE, bench.truth("web-1")[0], 3))
    finally:
        engine.close()


def test_the_volume_of_a_machine_that_has_moved_is_given_up_and_removed_at_its_new_host(bench: LibvirtBench) -> None:
    """What the daemon of the first host made, that of the second knows once it has looked into the pool again."""
    made = done(carry_through(bench, errand_for(bench, ErrandKind.CREATE, None, to="alpha"))).sighting
    (copy,) = bench.truth(made.ref)
    carry_through(bench, errand_for(bench, ErrandKind.REDEPLOY, copy, 2, to="beta"))
    for number, kind in ((3, ErrandKind.REIMAGE), (4, ErrandKind.DELETE)):
        (copy,) = bench.truth(made.ref)
        assert copy.host == "beta"
        done(carry_through(bench, errand_for(bench, kind, copy, number)))
        assert len(bench.left_of(made.ref)) == (kind is ErrandKind.REIMAGE)
    assert bench.truth(made.ref) == ()


def test_a_domain_that_its_host_starts_by_itself_is_told_of(bench: LibvirtBench) -> None:
    bench.make("web-1", "alpha")
    told = []
    for turn in ("--disable", ""):
        bench.virsh("alpha", "autostart", "web-1", *turn.split())
        found = bench.engine.examine("alpha", "web-1", Way.ADDRESS)
        told += [each.ok for each in found if each.topic == AUTOSTART]
    assert told == [True, False]


def test_a_listing_asks_a_daemon_once_for_each_machine_that_is_off(bench: LibvirtBench, tmp_path: Path) -> None:
    """A thousand are listed every ten seconds: one question more for each is seen in its figures."""
    for number in range(30):
        text = f"<domain type='qemu'><name>off-{number}</name><memory>1024</memory><os><type>hvm</type></os></domain>"
        (tmp_path / "off.xml").write_text(text)
        bench.virsh("alpha", "define", str(tmp_path / "off.xml"))
    bench.engine.listing("alpha")
    asked: list[str] = []

    def note(_frame: FrameType, what: str, called: Any) -> None:
        if what == "c_call" and str(getattr(called, "__module__", "")).startswith("libvirtmod"):
            asked.append(called.__name__)

    sys.setprofile(note)
    try:
        told = bench.engine.listing("alpha")
    finally:
        sys.setprofile(None)
    assert len(told.machines) == 30
    assert {name for name in asked if asked.count(name) >= 30} - _NOT_ASKED == {"virDomainGetXMLDesc"}
    assert asked.count("virDomainGetXMLDesc") == 30
