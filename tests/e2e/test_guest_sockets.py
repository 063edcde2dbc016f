"""VMs that are known by a Unix socket of their own, as guests of QEMU's user networking are."""

from __future__ import annotations

import json
import logging
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forewarn.core.commands import BindVm, DeleteVms
from forewarn.core.refusal import Refused
from forewarn.core.specs import NO_BINDING, Binding
from forewarn.web.metadata.settings import MetadataSettings
from tests.e2e.metadata_region import Guest, MetadataRegion, get, metadata_region, request
from tests.waiting import until


@contextmanager
def region_at(directory: Path, *vms: str) -> Iterator[MetadataRegion]:
    """Each VM bound to the socket of its name."""
    with metadata_region(settings=MetadataSettings(guest_sockets=directory, retry_seconds=0.05)) as region:
        region.create(*vms)
        for vm in vms:
            region.submit(BindVm(vm, Binding(unix=vm)))
        yield region


def caller(path: Path) -> Guest:
    def connected() -> socket.socket | None:
        made = socket.socket(socket.AF_UNIX)
        try:
            made.connect(str(path))
        except OSError:
            made.close()
            return None
        return made

    found = until(connected, f"somebody to listen at {path}")
    assert found is not None
    return Guest(found)


def name_of(guest: Guest, prefix: str = "") -> str | int:
    answer = guest.ask(request("GET", f"{prefix}/metadata/instance?api-version=2021-12-13", "Metadata: true"))
    return str(json.loads(answer.body)["compute"]["name"]) if answer.status == 200 else answer.status


def name_at(path: Path) -> str | int:
    guest = caller(path)
    try:
        return name_of(guest)
    finally:
        guest.close()


def test_who_calls_is_told_by_the_socket_and_by_nothing_that_is_sent(tmp_path: Path) -> None:
    with region_at(tmp_path, "red", "blue") as region:
        red, blue = caller(tmp_path / "red.sock"), caller(tmp_path / "blue.sock")
        assert [name_of(red), name_of(blue), name_of(red)] == ["red", "blue", "red"]
        assert name_of(red, "/vm/blue") == 404
        assert [red.ask(get()).status for _ in range(3)] == [200, 200, 200]
        assert not region.complaints
        red.close()
        blue.close()


def test_a_socket_is_for_its_owner_alone_and_goes_with_its_binding(tmp_path: Path) -> None:
    place = tmp_path / "guests"
    with region_at(place, "red", "blue") as region:
        for vm in ("red", "blue"):
            caller(place / f"{vm}.sock").close()
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert stat.S_IMODE((place / "red.sock").stat().st_mode) == 0o600
        region.submit(BindVm("red", NO_BINDING))
        until(lambda: not (place / "red.sock").exists(), "the socket to go with the binding")
        region.submit(DeleteVms(("blue",), "seed"))
        until(lambda: not (place / "blue.sock").exists(), "the socket to go with the VM")
        region.submit(BindVm("red", Binding(unix="blue")))
        assert name_at(place / "blue.sock") == "red"
    assert list(place.iterdir()) == []


def test_a_socket_that_is_taken_away_is_made_again(tmp_path: Path) -> None:
    with region_at(tmp_path, "red"):
        caller(tmp_path / "red.sock").close()
        (tmp_path / "red.sock").unlink()
        assert name_at(tmp_path / "red.sock") == "red"


def test_what_a_dead_server_left_is_replaced_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "red.sock"))  # nobody listens there any more
    (tmp_path / "green.sock").write_text("somebody's file")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "blue.sock"))
        other.listen()
        with caplog.at_level(logging.WARNING), region_at(tmp_path, "red", "green", "blue"):
            assert name_at(tmp_path / "red.sock") == "red"
            until(lambda: "is no socket" in caplog.text and "somebody listens at" in caplog.text)
        assert (tmp_path / "blue.sock").is_socket()
    assert (tmp_path / "green.sock").read_text() == "somebody's file"


@pytest.mark.parametrize("name", ["../red", "a/b", ".hidden", "", "x" * 101, "a\0b"])
def test_a_binding_is_a_name_and_never_a_path(name: str, tmp_path: Path) -> None:
    with region_at(tmp_path / "guests", "red") as region:
        if name:
            with pytest.raises(Refused, match="cannot name a socket"):
                region.submit(BindVm("red", Binding(unix=name)))
        assert region.plane.region.vms["red"].binding == Binding(unix="red")
        region.create("blue")
        with pytest.raises(Refused, match="VM 'red' has unix red already"):
            region.submit(BindVm("blue", Binding(unix="red")))
    assert [each.name for each in tmp_path.iterdir()] == ["guests"]
