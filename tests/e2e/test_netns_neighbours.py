"""A VM in a namespace has neighbours: whoever shares a link with it can send packets for the service's address."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import EVENTS, PATIENCE_SECONDS, ServerProgram, clean_environment
from tests.e2e.test_netns import GUEST_URL, Realm

_GUEST_V6 = "fd00:169:254::254"
_REFUSED = 7  # curl: could not connect
_SILENCE = 28  # curl: nothing came in time


@pytest.fixture
def realm() -> Iterator[Realm]:
    with Realm.made() as made:
        yield made


def _wire(realm: Realm, one: str, other: str) -> None:
    """A link between two namespaces, with forwarding and filters as a namespace is born with, and as lax as can be."""
    realm.run("ip", "link", "add", "eth0", "netns", one, "type", "veth", "peer", "name", "eth0", "netns", other)
    for name, number in ((one, 1), (other, 2)):
        realm.run("ip", "address", "add", f"10.77.0.{number}/24", "dev", "eth0", netns=name)
        realm.run("ip", "address", "add", f"fd77::{number}/64", "dev", "eth0", "nodad", netns=name)
        realm.run("ip", "link", "set", "eth0", "up", netns=name)
    realm.run("sh", "-c", "echo 0 > /proc/sys/net/ipv4/conf/eth0/rp_filter", netns=one)
    realm.run("sh", "-c", "echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter", netns=one)
    realm.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/eth0/accept_local", netns=one)


@contextmanager
def _neighbours(realm: Realm) -> Iterator[None]:
    """``victim`` is a VM; ``thief`` leads the service's address to it over the link between them."""
    realm.make_guest("victim")
    realm.run("ip", "address", "add", f"{_GUEST_V6}/128", "dev", "lo", netns="victim")
    realm.run("ip", "netns", "add", "thief")
    realm.run("ip", "link", "set", "lo", "up", netns="thief")
    _wire(realm, "victim", "thief")
    realm.run("ip", "route", "add", "169.254.169.254/32", "via", "10.77.0.1", netns="thief")
    realm.run("ip", "route", "add", f"{_GUEST_V6}/128", "via", "fd77::1", netns="thief")
    yield


def _once(realm: Realm, netns: str, *arguments: str) -> tuple[int, str]:
    """One try: curl's exit status, and what it got."""
    done = subprocess.run(
        [*realm.wrapper, "ip", "netns", "exec", netns, "curl", "-s", "--noproxy", "*", "-m", "2", *arguments],
        env=clean_environment(PATH="/usr/sbin:/usr/bin:/sbin:/bin"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    return done.returncode, done.stdout


def _events(realm: Realm, server: ServerProgram) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(realm.forewarn(server, "event", "list", "--json"))
    return found


def test_a_neighbour_on_the_link_of_a_vm_can_neither_read_nor_approve_as_that_vm(realm: Realm, tmp_path: Path) -> None:
    with _neighbours(realm), realm.serve(tmp_path / "data") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--netns", "victim")
        realm.document("victim")
        realm.forewarn(server, "vm", "restart", "ruby")
        (event,) = realm.document("victim")["Events"]
        approval = json.dumps({"StartRequests": [{"EventId": event["EventId"]}]})
        read = _once(realm, "thief", "-H", "Metadata:true", GUEST_URL)
        approve = _once(realm, "thief", "-H", "Metadata:true", "-d", approval, GUEST_URL)
        (after,) = _events(realm, server)
        still = realm.curl("victim", "-H", "Metadata:true", "-d", approval, GUEST_URL)

    assert [code for code, _ in (read, approve)] == [_REFUSED, _REFUSED]
    assert after["phase"] == "scheduled"
    assert still == (200, "")


def test_a_neighbour_with_a_forged_source_address_can_neither_read_nor_approve(realm: Realm, tmp_path: Path) -> None:
    """The VM's own address, the service's, and one that nobody has but that the VM answers over the link."""
    with _neighbours(realm), realm.serve(tmp_path / "data") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--netns", "victim")
        realm.document("victim")
        realm.run("ip", "route", "add", "10.99.0.0/24", "via", "10.77.0.2", netns="victim")
        got = []
        for source in ("10.77.0.1", "169.254.169.250", "10.99.0.9"):
            realm.run("ip", "address", "add", "169.254.169.250/32", "dev", "lo", netns="victim")
            realm.run("ip", "address", "add", f"{source}/32", "dev", "lo", netns="thief")
            got.append(_once(realm, "thief", "-H", "Metadata:true", "--interface", source, GUEST_URL))
            realm.run("ip", "address", "delete", "169.254.169.250/32", "dev", "lo", netns="victim")

    assert {code for code, _ in got} <= {_REFUSED, _SILENCE}
    assert {body for _, body in got} == {""}


def test_a_guest_at_the_other_end_of_an_interface_is_heard_over_that_one_only(realm: Realm, tmp_path: Path) -> None:
    """A hypervisor's namespace: the guest's link leads in, and so does another that is not its."""
    realm.run("ip", "netns", "add", "hyper")
    realm.run("ip", "link", "set", "lo", "up", netns="hyper")
    for number, name in enumerate(("guest", "other")):
        realm.run("ip", "netns", "add", name)
        link = ("ip", "link", "add", f"to-{name}", "netns", "hyper", "type", "veth")
        realm.run(*link, "peer", "name", "eth0", "netns", name)
        realm.run("ip", "address", "add", f"10.7{number}.0.1/24", "dev", f"to-{name}", netns="hyper")
        realm.run("ip", "link", "set", f"to-{name}", "up", netns="hyper")
        realm.run("ip", "address", "add", f"10.7{number}.0.2/24", "dev", "eth0", netns=name)
        realm.run("ip", "link", "set", "eth0", "up", netns=name)
        realm.run("ip", "route", "add", "169.254.169.254/32", "via", f"10.7{number}.0.1", netns=name)
    realm.run("ip", "address", "add", "169.254.169.254/32", "dev", "to-guest", netns="hyper")
    with realm.serve(tmp_path / "data") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--netns", "hyper", "--interface", "to-guest")
        own = realm.document("guest")
        stranger = _once(realm, "other", "-H", "Metadata:true", GUEST_URL)
        realm.forewarn(server, "vm", "create", "sky", "--netns", "hyper", "--interface", "to-other")
        realm.document("other")
        realm.forewarn(server, "vm", "restart", "sky")
        both = [len(realm.document(name)["Events"]) for name in ("guest", "other")]

    assert own == {"DocumentIncarnation": 1, "Events": []}
    assert stranger == (_REFUSED, "")
    assert both == [0, 1]


def test_an_interface_that_is_made_anew_is_found_again(realm: Realm, tmp_path: Path) -> None:
    realm.run("ip", "netns", "add", "hyper")
    realm.run("ip", "netns", "add", "guest")

    def plug() -> None:
        link = ("ip", "link", "add", "tap0", "netns", "hyper", "type", "veth")
        realm.run(*link, "peer", "name", "eth0", "netns", "guest")
        realm.run("ip", "address", "add", "169.254.169.254/24", "dev", "tap0", netns="hyper")
        realm.run("ip", "link", "set", "tap0", "up", netns="hyper")
        realm.run("ip", "address", "add", "169.254.169.2/24", "dev", "eth0", netns="guest")
        realm.run("ip", "link", "set", "eth0", "up", netns="guest")

    with realm.serve(tmp_path / "data") as server:
        realm.forewarn(server, "vm", "create", "ruby", "--netns", "hyper", "--interface", "tap0")
        plug()
        late = realm.document("guest")
        realm.run("ip", "link", "delete", "tap0", netns="hyper")
        plug()
        anew = realm.document("guest")

    assert anew == late == {"DocumentIncarnation": 1, "Events": []}


# The face as the server starts it, at an address of IPv6: no command of ours can ask for one.
_FACE_V6 = f"""
import sys
from forewarn.core.commands import CreateVms
from forewarn.core.specs import Binding, VmSpec
from forewarn.web.metadata.settings import MetadataSettings
from tests.e2e.metadata_region import metadata_region
with metadata_region(settings=MetadataSettings(guest_address="{_GUEST_V6}")) as region:
    region.submit(CreateVms(("ruby",), VmSpec(), "S", Binding(netns="victim")))
    print("here", flush=True)
    sys.stdin.read()
"""


def test_a_neighbour_over_ipv6_can_neither_read_nor_approve(realm: Realm) -> None:
    url = f"http://[{_GUEST_V6}]{EVENTS}"
    with (
        _neighbours(realm),
        subprocess.Popen(
            [*realm.wrapper, sys.executable, "-c", _FACE_V6],
            env=clean_environment(PYTHONPATH=str(Path(__file__).parents[2])),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as face,
    ):
        assert face.stdout is not None
        assert face.stdout.readline() == "here\n"
        own = realm.document("victim", url)
        reached = _once(realm, "thief", "-H", "Metadata:true", f"http://[{_GUEST_V6}]:81{EVENTS}")
        read = _once(realm, "thief", "-H", "Metadata:true", url)
        approve = _once(realm, "thief", "-H", "Metadata:true", "-d", "{}", url)
        assert face.stdin is not None
        face.stdin.close()

    assert own == {"DocumentIncarnation": 1, "Events": []}
    assert [code for code, _ in (reached, read, approve)] == [_REFUSED] * 3
