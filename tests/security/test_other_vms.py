"""VMs of one network: what one of them can do to another's document, approvals and connections."""

from __future__ import annotations

import pytest

from forewarn.core.specs import Binding
from forewarn.web.metadata.settings import Limits, MetadataSettings
from tests.e2e.metadata_region import MetadataRegion, approval, get, metadata_region, path_of, post, request
from tests.waiting import until

HERE, THERE = "127.0.0.1", "127.0.0.2"


def _two(region: MetadataRegion) -> None:
    """Each known by its source address, on a listener that is not a desk."""
    region.create("ours", binding=Binding(address=HERE))
    region.create("theirs", binding=Binding(address=THERE))


@pytest.mark.parametrize(
    "lie",
    [
        "X-Real-IP: 127.0.0.2",
        "Forwarded: for=127.0.0.2",
        "X-Client-IP: 127.0.0.2",
        "True-Client-IP: 127.0.0.2",
        "X-Original-URL: /vm/theirs/metadata/scheduledevents",
        "X-Forwarded-Host: theirs",
        "Host: theirs",
        "X-Forewarn-Client: theirs",
        "Via: 1.1 theirs",
        "Authorization: Bearer theirs",
        "Cookie: vm=theirs",
    ],
)
def test_no_header_can_name_another_vm_as_the_caller(lie: str) -> None:
    with metadata_region(host="0.0.0.0") as region:
        _two(region)
        region.guest(source=THERE).ask(get())
        event = region.restart("theirs")
        told = b"" if not lie.startswith("Host:") else b"Host: 169.254.169.254\r\n"
        document = region.guest(source=HERE).ask(get(None, lie).replace(told, b""))
        refused = region.guest(source=HERE).ask(post(None, approval(event), lie).replace(told, b""))
        assert b"Events" in document.body
        assert event.encode() not in document.body
        assert refused.status == 400


@pytest.mark.parametrize("target", ["/vm/theirs", "//vm/theirs", "/VM/theirs", "/vm/%74heirs", "http://h/vm/theirs"])
def test_where_the_network_identifies_a_vm_no_path_can_name_another(target: str) -> None:
    with metadata_region(host="0.0.0.0") as region:
        _two(region)
        answer = region.guest(source=HERE).ask(request("GET", target + path_of(None), "Metadata: true"))
        assert answer.status == 404


def _is_admitted(region: MetadataRegion) -> bool:
    guest = region.guest(source=HERE)
    status = guest.ask(get()).status
    guest.close()
    return status == 200


def test_one_vm_cannot_take_the_connections_of_the_others() -> None:
    settings = MetadataSettings(limits=Limits(connections_each=3))
    with metadata_region(settings, host="0.0.0.0") as region:
        _two(region)
        held = [region.guest(source=HERE) for _ in range(3)]
        assert {guest.ask(get()).status for guest in held} == {200}
        assert region.guest(source=HERE).last_answer() == (503, "close")
        assert region.guest(source=THERE).ask(get()).status == 200
        held[0].close()
        until(lambda: _is_admitted(region), "the server to notice who went")


def test_at_a_desk_all_vms_are_one_machine_and_share_its_connections() -> None:
    with metadata_region(MetadataSettings(limits=Limits(connections_each=1))) as region:
        region.create("web", "other")
        assert {region.guest().ask(get(name)).status for name in ("web", "other", "web")} == {200}


def test_a_guessed_event_is_answered_like_one_that_does_not_exist() -> None:
    """Whoever tries ids learns nothing, not even from the sentence; and ids are hashes of what is not told."""
    with metadata_region(host="0.0.0.0") as region:
        _two(region)
        region.guest(source=THERE).ask(get())
        theirs = region.restart("theirs")
        nobodys = "00000000-0000-8000-8000-000000000000"
        answers = [region.guest(source=HERE).ask(post(None, approval(each))) for each in (theirs, nobodys)]
        assert [answer.status for answer in answers] == [400, 400]
        assert answers[0].body.replace(theirs.encode(), b"") == answers[1].body.replace(nobodys.encode(), b"")
