"""An identity is called safe only where nobody else can have it: not by the machine, not by its neighbours."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.engines.docker import examining as docker
from forewarn.engines.docker.containers import Container, container_of
from forewarn.engines.libvirt import examining as libvirt
from forewarn.plane.hands.engine import (
    ADDRESS,
    AUTOSTART,
    FILTERED,
    MAC,
    MIGRATABLE,
    NAMESPACE,
    Finding,
    Way,
    is_identity_safe,
)


def _container(name: str = "web-0", address: str = "169.254.169.10", **settings: Any) -> Container:
    given = {"NetworkMode": "metadata", "CapDrop": ["NET_RAW"], **settings}
    network = {"IPAddress": address, "MacAddress": f"02:42:a9:fe:a9:{int(address.rpartition('.')[2]):02x}"}
    told = {
        "Id": f"{name:a<64}",
        "Name": f"/{name}",
        "State": {"Status": "running", "StartedAt": "2026-11-18T00:36:47Z"},
        "HostConfig": given,
        "Config": {},
        "Mounts": [],
        "NetworkSettings": {"Networks": {"metadata": network}},
    }
    return container_of(told)


@pytest.mark.parametrize(
    ("settings", "safe"),
    [
        ({}, True),
        ({"CapDrop": ["CAP_NET_RAW"]}, True),
        ({"CapDrop": ["ALL"]}, True),
        ({"CapDrop": None}, False),
        ({"CapAdd": ["NET_ADMIN"]}, False),
        ({"CapAdd": ["CAP_NET_RAW"]}, False),
        ({"Privileged": True}, False),
        ({"NetworkMode": "host"}, False),
        ({"NetworkMode": "container:other"}, False),
    ],
)
def test_a_container_that_may_send_under_another_address_is_not_called_safe(settings: Any, safe: bool) -> None:
    assert is_identity_safe(docker.examined(_container(**settings), Way.NETWORK)) is safe


def test_a_container_is_not_safe_beside_a_neighbour_that_may_forge() -> None:
    careless = _container("careless", "169.254.169.66", CapDrop=None)
    found = docker.examined(_container(), Way.NETWORK, [careless])
    assert not is_identity_safe(found)
    assert "careless" in next(each.sentence for each in found if not each.ok)
    region = _container("forewarn", "169.254.169.254", CapDrop=None)
    guarded = _container("guarded", "169.254.169.67")
    assert is_identity_safe(docker.examined(_container(), Way.NETWORK, [region, guarded]))


def test_two_containers_with_one_address_or_hardware_address_are_not_safe() -> None:
    found = docker.examined(_container(), Way.NETWORK, [_container("twin")])
    assert {each.topic for each in found if not each.ok} >= {ADDRESS, MAC}


@pytest.mark.parametrize(
    ("settings", "others", "safe"),
    [
        ({"CapDrop": None}, [], True),
        ({"Privileged": True}, [], False),
        ({"NetworkMode": "host"}, [], False),
        ({}, [_container("sidecar", NetworkMode="container:web-0")], False),
        ({}, [_container("other", CapDrop=None)], True),
    ],
)
def test_a_namespace_shows_who_calls_unless_somebody_shares_it(settings: Any, others: Any, safe: bool) -> None:
    assert is_identity_safe(docker.examined(_container(**settings), Way.NAMESPACE, others)) is safe


_HELD = "<filterref filter='clean-traffic'><parameter name='IP' value='{}'/></filterref>"


def _nic(mac: str = "52:54:00:00:00:01", held: str = _HELD.format("192.0.2.10"), bridge: str = "br0") -> str:
    return f"<interface type='bridge'><source bridge='{bridge}'/><mac address='{mac}'/>{held}</interface>"


def _domain(devices: str, beside: str = "") -> str:
    return (
        "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
        f"<name>web-0</name><devices>{devices}</devices>{beside}</domain>"
    )


def _topics(found: tuple[Finding, ...]) -> set[str]:
    return {each.topic for each in found if not each.ok}


@pytest.mark.parametrize(
    ("devices", "others", "bad"),
    [
        (_nic(), {}, set()),
        (_nic(held=""), {}, {FILTERED}),
        (_nic(held="<filterref filter='clean-traffic'/>"), {}, {FILTERED}),
        (_nic(held=_HELD.format("192.0.2.10").replace("clean-traffic", "no-ip-multicast")), {}, {FILTERED}),
        (_nic() + _nic("52:54:00:00:00:02", held=""), {}, {FILTERED}),
        (_nic(), {"b at beta": _nic("52:54:00:00:00:02", held="")}, {FILTERED}),
        (_nic(), {"b at beta": _nic("52:54:00:00:00:02", held="", bridge="br1")}, set()),
        (_nic(), {"b at beta": _nic("52:54:00:00:00:01", _HELD.format("192.0.2.11"))}, {MAC}),
        (_nic(), {"b at beta": _nic("52:54:00:00:00:02")}, {ADDRESS}),
    ],
)
def test_an_address_on_a_bridge_is_safe_only_behind_filters_and_held_by_one(
    devices: str, others: Any, bad: Any
) -> None:
    beside = {where: _domain(each) for where, each in others.items()}
    found = libvirt.examined(_domain(devices), Way.ADDRESS, beside)
    assert _topics(found) == bad
    assert is_identity_safe(found) is not bool(bad)
    if not bad:
        assert next(each.value for each in found if each.topic == ADDRESS) == "192.0.2.10"


@pytest.mark.parametrize(
    ("nic", "safe"),
    [
        ("<interface type='ethernet'><target dev='fw1'/></interface>", True),
        ("<interface type='ethernet'><target dev='tap1'/></interface>", False),
        ("<interface type='ethernet'/>", False),
        (_nic(), False),
    ],
)
def test_a_nic_of_its_own_is_safe_where_the_hook_knows_its_tap(nic: str, safe: bool) -> None:
    assert is_identity_safe(libvirt.examined(_domain(nic), Way.NIC)) is safe
    assert not is_identity_safe(libvirt.examined(_domain(nic), Way.NIC, {"twin at beta": _domain(nic)}))


def test_a_socket_behind_user_networking_is_safe_where_no_other_machine_has_it() -> None:
    words = "user,id=fw,net=169.254.169.0/24,guestfwd=tcp:169.254.169.254:80-cmd:nc -U /run/forewarn/web-0.sock"
    text = _domain("", f"<qemu:commandline><qemu:arg value='-netdev'/><qemu:arg value='{words}'/></qemu:commandline>")
    told = libvirt.examined(text, Way.UNIX)
    assert is_identity_safe(told)
    assert [each.value for each in told if each.topic == NAMESPACE] == ["web-0"]
    assert not is_identity_safe(libvirt.examined(text.replace("web-0.sock", "web-0"), Way.UNIX))
    assert not is_identity_safe(libvirt.examined(text, Way.UNIX, {"twin at alpha": text}))
    assert not is_identity_safe(libvirt.examined(_domain(_nic()), Way.UNIX))


def test_a_way_that_an_engine_has_not_is_never_safe() -> None:
    assert not is_identity_safe(docker.examined(_container(), Way.ADDRESS))
    assert not is_identity_safe(libvirt.examined(_domain(_nic()), Way.NAMESPACE))
    assert not is_identity_safe(())


@pytest.mark.parametrize(
    ("part", "word"),
    [
        ("<hostdev mode='subsystem' type='pci'/>", "hostdev"),
        ("", "host-passthrough"),
    ],
)
def test_what_holds_a_machine_at_its_host_is_said(part: str, word: str) -> None:
    text = _domain(_nic() + part, "" if part else "<cpu mode='host-passthrough'/>")
    told = [each for each in libvirt.examined(text, Way.ADDRESS) if each.topic == MIGRATABLE]
    assert [(each.ok, word in each.sentence) for each in told] == [(False, True)]


def _told_of_autostart(found: tuple[Finding, ...]) -> list[bool]:
    return [each.ok for each in found if each.topic == AUTOSTART]


@pytest.mark.parametrize(
    ("policy", "ok"), [("always", False), ("unless-stopped", False), ("on-failure", True), ("no", True), (None, True)]
)
def test_what_a_fenced_host_would_start_by_itself_is_said_where_a_copy_may_run_elsewhere(policy: Any, ok: bool) -> None:
    container = _container(RestartPolicy={"Name": policy} if policy else None)
    found = docker.examined(container, Way.NETWORK, several_engines=True)
    assert _told_of_autostart(found) == [ok]
    assert not _told_of_autostart(docker.examined(container, Way.NETWORK))
    assert is_identity_safe(found)  # who it is can be told all the same


@pytest.mark.parametrize(("autostart", "told"), [(True, [False]), (False, [True]), (None, [])])
def test_a_domain_that_a_fenced_host_would_start_by_itself_is_told_of(autostart: Any, told: Any) -> None:
    found = libvirt.examined(_domain(_nic()), Way.ADDRESS, autostart=autostart)
    assert _told_of_autostart(found) == told
    assert is_identity_safe(found)


def test_no_advice_about_a_restart_policy_leads_to_another_that_is_warned_of() -> None:
    found = docker.examined(_container(RestartPolicy={"Name": "always"}), Way.NETWORK, several_engines=True)
    advice = [each.sentence.partition("use ")[2] for each in found if "policy" in each.sentence]
    assert len(advice) == 2
    assert all("unless-stopped" not in each and "on-failure" in each for each in advice)
