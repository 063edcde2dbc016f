"""A relay where Azure's guests look for it: in the namespaces of its own VMs, and in no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_netns import GUEST_URL, Realm
from tests.e2e.test_relay import relay


@pytest.fixture
def realm() -> Iterator[Realm]:
    with Realm.made() as made:
        yield made


def test_a_relay_serves_its_vms_in_their_namespaces_as_a_node_does(realm: Realm, tmp_path: Path) -> None:
    for name in ("red", "blue"):
        realm.make_guest(name)
    with realm.serve(tmp_path / "region", "--faces", "control") as server:
        for name in ("red", "blue"):
            realm.forewarn(server, "vm", "create", name, "--netns", name)
        ways = ("--upstream", server.control, "--vms", "red")
        with relay(tmp_path, *ways, wrapper=realm.wrapper) as beside:
            assert realm.document("red")["Events"] == []
            realm.forewarn(server, "vm", "restart", "red")
            status, body = realm.curl(
                "red", "-H", "Metadata:true", "-H", "If-None-Match: 1", "-H", "Prefer: wait=60", GUEST_URL
            )
            assert status == 200
            assert '"Resources":["red"]' in body
            named = GUEST_URL.replace("/metadata", "/vm/blue/metadata")
            assert realm.curl("red", "-H", "Metadata:true", named)[0] == 404
            listening = realm.run("ss", "-Hltn", netns="blue")
            assert "169.254.169.254" not in listening
            assert "169.254.169.254" in realm.run("ss", "-Hltn", netns="red")
            assert "Listening in network namespace red" in beside.log.read_text()
