"""Who is calling: a table of entrances, addresses and names."""

from __future__ import annotations

import pytest

from forewarn.core.region import Region
from forewarn.core.specs import Binding
from forewarn.web.metadata.asking.callers import Caller, Entrance, identify, is_loopback, plain_address
from tests.unit.web.metadata.story import Story

_DESK = Entrance(loopback=True)
_OUTSIDE = Entrance()
_INSIDE = Entrance(netns="blue")


@pytest.fixture
def region() -> Region:
    story = Story()
    story.create("by-netns", binding=Binding(netns="blue"))
    story.create("by-address", binding=Binding(address="10.0.0.4"))
    story.create("by-local", binding=Binding(local_address="127.0.0.9"))
    story.create("plain")
    return story.region


@pytest.mark.parametrize(
    ("entrance", "peer", "local", "named", "found"),
    [
        (_INSIDE, "10.9.9.9", "169.254.169.254", None, "by-netns"),
        (_INSIDE, "10.0.0.4", "127.0.0.9", None, "by-netns"),
        (_INSIDE, "10.9.9.9", "169.254.169.254", "by-netns", None),
        (_INSIDE, "10.9.9.9", "169.254.169.254", "plain", None),
        (Entrance(netns="green"), "10.0.0.4", "127.0.0.9", None, None),
        (Entrance(netns="green"), "10.0.0.4", "127.0.0.9", "plain", None),
        (_OUTSIDE, "10.0.0.4", "10.0.0.1", None, "by-address"),
        (_OUTSIDE, "::ffff:10.0.0.4", "::", None, "by-address"),
        (_OUTSIDE, "10.0.0.4", "10.0.0.1", "plain", None),
        (_OUTSIDE, "10.0.0.5", "127.0.0.9", None, None),
        (_OUTSIDE, "127.0.0.1", "127.0.0.1", "plain", None),
        (_DESK, "10.0.0.4", "127.0.0.9", None, "by-address"),
        (_DESK, "127.0.0.1", "127.0.0.9", None, "by-local"),
        (_DESK, "127.0.0.1", "127.0.0.9", "plain", None),
        (_DESK, "127.0.0.1", "127.0.0.1", "PLAIN", "plain"),
        (_DESK, "127.0.0.1", "127.0.0.1", "by-netns", "by-netns"),
        (_DESK, "127.0.0.1", "127.0.0.1", "nobody", None),
        (_DESK, "127.0.0.1", "127.0.0.1", "", None),
        (_DESK, "127.0.0.1", "127.0.0.1", None, None),
        (_DESK, "", "", "plain", "plain"),
    ],
)
def test_of_several_ways_to_know_a_caller_the_strongest_decides(
    region: Region, entrance: Entrance, peer: str, local: str, named: str | None, found: str | None
) -> None:
    vm = identify(region, Caller.at(entrance, peer, local), named)
    assert (vm.name if vm else None) == found


def test_a_single_vm_needs_no_name_on_loopback_only() -> None:
    story = Story()
    story.create("only")
    for entrance, found in ((_DESK, True), (_OUTSIDE, False), (_INSIDE, False)):
        assert (identify(story.region, Caller.at(entrance, "127.0.0.1", "127.0.0.1"), None) is not None) is found


def test_in_an_empty_region_no_caller_is_a_vm() -> None:
    assert identify(Region(), Caller.at(_DESK, "127.0.0.1", "127.0.0.1"), None) is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [("127.0.0.1", "127.0.0.1"), ("::FFFF:127.0.0.1", "127.0.0.1"), ("FE80::0:1", "fe80::1"), ("x", "x"), ("", "")],
)
def test_an_address_has_one_spelling(text: str, plain: str) -> None:
    assert plain_address(text) == plain


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", False),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("host.example", False),
        ("", False),
    ],
)
def test_only_loopback_addresses_count_as_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
