"""A container made anew is like the one before it, as far as both engines tell what that was."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from forewarn.core.machines.values import Errand, ErrandKind, MachinePower, SeenWhy
from forewarn.engines.docker.calls import Dialect
from forewarn.engines.docker.containers import Container, container_of, defined, definition_of, is_aside, name_aside
from forewarn.engines.docker.deciding import EngineCall, Scene, decide
from forewarn.engines.docker.making import Blueprint, from_blueprint, kept_policy, like, name_of
from forewarn.plane.hands.engine import Done, Failed

_ID = "84040db8d692df0e826bc5810e55ca7ca6ee2d0e4e9547b21eb94d315cf90e54"
_ANONYMOUS = "82c28eda4fadc0e06aa1cfea72f5e1879966c69d88085da690c17e471b447ad2"
_DOCKERD, _PODMAN = Dialect("/v1.41", False), Dialect("/v1.41", True)
_ERRAND = Errand(
    id="0A1B2C3D-0000-4000-8000-000000000001",
    kind=ErrandKind.REDEPLOY,
    engine="local",
    host="alpha",
    made_at=datetime(2026, 1, 1, tzinfo=UTC),
    vm="web-0",
    vm_id="99999999-0000-4000-8000-000000000001",
)


def _told(**changes: Any) -> dict[str, Any]:
    """As dockerd 20.10 tells it, shortened."""
    told: dict[str, Any] = {
        "Id": _ID,
        "Name": "/web-0",
        "State": {"Status": "running", "Paused": False, "ExitCode": 0, "StartedAt": "2026-11-18T00:36:47.645524908Z"},
        "HostConfig": {
            "Binds": ["named:/data"],
            "NetworkMode": "imds",
            "RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 3},
            "CapDrop": None,
        },
        "Mounts": [{"Type": "volume", "Name": "named", "Driver": "local"}],
        "Config": {
            "Hostname": _ID[:12],
            "Image": "tiny",
            "Cmd": ["/bin/sleep", "9"],
            "Env": None,
            "Labels": {"a": "b"},
        },
        "NetworkSettings": {
            "Networks": {"imds": {"IPAMConfig": {"IPv4Address": "169.254.169.10"}, "Aliases": [_ID[:12], "web"]}}
        },
    }
    for name, value in changes.items():
        told[name] = {**told[name], **value} if isinstance(value, dict) else value
    return told


def test_a_container_like_another_has_its_address_and_named_volumes_but_not_its_made_up_name() -> None:
    body = like(container_of(_told()), _ERRAND, "beta", _DOCKERD)
    assert "Hostname" not in body
    assert body["HostConfig"]["Binds"] == ["named:/data"]
    assert body["NetworkingConfig"]["EndpointsConfig"] == {
        "imds": {"IPAMConfig": {"IPv4Address": "169.254.169.10"}, "Aliases": ["web"]}
    }
    assert body["Labels"]["a"] == "b"
    assert body["Labels"]["forewarn.errand"] == _ERRAND.id


def test_a_container_that_dockerd_would_start_by_itself_gets_its_restart_policy_later() -> None:
    body = like(container_of(_told()), _ERRAND, "beta", _DOCKERD)
    assert body["HostConfig"]["RestartPolicy"]["Name"] == "no"
    made = container_of(_told(Config={"Labels": body["Labels"]}, HostConfig={"RestartPolicy": {"Name": "no"}}))
    assert kept_policy(made) == {"Name": "on-failure", "MaximumRetryCount": 3}
    assert kept_policy(container_of(_told(Config={"Labels": body["Labels"]}))) is None


def test_what_podman_tells_of_itself_is_not_asked_for_again() -> None:
    told = _told(
        HostConfig={
            "Binds": [f"{_ANONYMOUS}:/anon:rw,rprivate,nosuid", "named:/data:ro,rprivate,rbind"],
            "NetworkMode": "bridge",
            "Runtime": "oci",
            "PidMode": "private",
        },
        Config={"Env": ["A=1", "container=podman", "HOSTNAME=84040db8d692"], "Entrypoint": []},
        NetworkSettings={"Networks": {"imds": {"IPAMConfig": None, "IPAddress": "169.254.169.10"}}},
    )
    body = like(container_of(told), _ERRAND, "beta", _PODMAN)
    assert body["Env"] == ["A=1"]
    assert body["Volumes"] == {"/anon": {}}
    assert body["HostConfig"]["Binds"] == ["named:/data:ro"]
    assert body["HostConfig"]["NetworkMode"] == "imds"
    assert "Runtime" not in body["HostConfig"]
    assert body["NetworkingConfig"]["EndpointsConfig"] == {"imds": {"IPAMConfig": {"IPv4Address": "169.254.169.10"}}}


def test_a_container_of_a_blueprint_cannot_send_under_anothers_address_and_owns_its_volumes() -> None:
    body = from_blueprint(
        Blueprint("small", "tiny", network="imds", volumes=("data:/data",)), _ERRAND, "web-0", "alpha"
    )
    assert body["HostConfig"]["CapDrop"] == ["NET_RAW"]
    (mount,) = body["HostConfig"]["Mounts"]
    assert (mount["Source"], mount["Target"]) == ("web-0-data", "/data")
    assert mount["VolumeOptions"]["Labels"]["forewarn.vm-id"] == _ERRAND.vm_id


@pytest.mark.parametrize(
    ("state", "power", "why"),
    [
        ({"Status": "running"}, MachinePower.RUNNING, SeenWhy.UNKNOWN),
        ({"Status": "paused", "Paused": True}, MachinePower.PAUSED, SeenWhy.UNKNOWN),
        ({"Status": "created"}, MachinePower.OFF, SeenWhy.ASKED),
        ({"Status": "exited", "ExitCode": 0}, MachinePower.OFF, SeenWhy.GUEST),
        ({"Status": "exited", "ExitCode": 143}, MachinePower.OFF, SeenWhy.ASKED),
        ({"Status": "exited", "ExitCode": 1}, MachinePower.OFF, SeenWhy.CRASH),
        ({"Status": "exited", "ExitCode": 137}, MachinePower.OFF, SeenWhy.UNKNOWN),
        ({"Status": "exited", "ExitCode": 137, "OOMKilled": True}, MachinePower.OFF, SeenWhy.CRASH),
        ({"Status": "restarting", "ExitCode": 1}, MachinePower.OFF, SeenWhy.CRASH),
    ],
)
def test_what_a_container_does_and_why_it_is_off(state: dict[str, Any], power: MachinePower, why: SeenWhy) -> None:
    found = container_of(_told(State=state))
    assert (found.power, found.why) == (power, why)


def test_names_that_come_and_go_are_told_from_those_of_machines() -> None:
    assert is_aside(name_aside("web-0", "old", _ERRAND.id))
    assert not is_aside("web-0")
    assert (name_of("web-0"), name_of("set/web_1"), name_of("a")) == ("web-0", "set-web_1", "vm-a")


def test_a_boot_mark_is_the_container_and_when_it_was_started() -> None:
    def mark(**changes: Any) -> str:
        found: Container = container_of(_told(**changes))
        return found.boot_mark

    assert mark() == mark(State={"Status": "exited"})
    assert len({mark(), mark(Id="f" * 64), mark(State={"StartedAt": "2026-11-18T00:36:48Z"})}) == 3


def test_a_container_whose_host_is_lost_is_made_again_from_what_was_told_of_it() -> None:
    told = container_of(_told())
    kept = defined(definition_of(told))
    assert kept is not None
    assert like(kept, _ERRAND, "beta", _DOCKERD) == like(told, _ERRAND, "beta", _DOCKERD)
    assert definition_of(container_of(_told(Id="f" * 64, Config={"Hostname": "f" * 12}))) != ""
    assert _ID[:12] not in definition_of(told)


def test_a_machine_that_is_nowhere_any_more_is_created_and_nothing_is_asked_of_its_lost_host() -> None:
    gone = defined(definition_of(container_of(_told(Mounts=[]))))
    errand = structs.replace(_ERRAND, to="beta", source_off=True)
    scene = Scene("web-0", "alpha", "beta", False, _DOCKERD, None, None, gone=gone)
    step = decide(errand, scene)
    assert isinstance(step, EngineCall)
    assert (step.host, step.path, step.body["Image"]) == ("beta", "/containers/create", "tiny")
    assert isinstance(decide(errand, structs.replace(scene, gone=None)), Failed)


def test_a_copy_that_is_no_vms_is_removed_and_its_volumes_are_not() -> None:
    errand = structs.replace(_ERRAND, kind=ErrandKind.OFF, vm="", ref="web-0")
    scene = Scene("web-0", "alpha", "alpha", True, _DOCKERD, container_of(_told()), None)
    step = decide(errand, scene)
    assert isinstance(step, EngineCall)
    assert (step.method, step.query) == ("DELETE", {"force": "1", "v": "0"})
    assert isinstance(decide(errand, structs.replace(scene, old=None)), Done)
