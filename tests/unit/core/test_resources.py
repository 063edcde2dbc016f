"""What a Resource Manager was told, kept to be told back."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.region import Resource
from tests.unit.core.world import MINUTE, World, in_set, kinds

ID = "/subscriptions/S/resourceGroups/Shop"


def keep(world: World, resource_id: str, owner: str = "", body: str = "{}") -> None:
    world.do(c.KeepResource(resource_id, body, owner))


def test_what_was_kept_is_found_without_case_and_told_as_it_was_written(world: World) -> None:
    keep(world, ID, body='{"a":1}')
    assert world.region.resources[ID.lower()] == Resource(ID, '{"a":1}')


def test_a_change_keeps_the_first_spelling(world: World) -> None:
    keep(world, ID)
    keep(world, ID.upper(), body='{"a":2}')
    assert world.region.resources[ID.lower()] == Resource(ID, '{"a":2}')


def test_keeping_the_same_again_is_no_news(world: World) -> None:
    keep(world, ID)
    assert world.do(c.KeepResource(ID.lower(), "{}")) == ()


def test_what_is_forgotten_is_gone_and_may_be_forgotten_again(world: World) -> None:
    keep(world, ID)
    assert kinds(world.do(c.ForgetResource(ID.upper()))) == ["ResourceForgotten"]
    assert (len(world.region.resources), world.do(c.ForgetResource(ID))) == (0, ())


@pytest.mark.parametrize("owner", ["vm/web", "vm/Web", "scale-set/pool", "availability-set/front"])
def test_a_kept_document_goes_with_its_owner(owner: str, world: World) -> None:
    world.create("web", spec=in_set("front"))
    world.put_set("pool", 1)
    keep(world, ID, owner)
    keep(world, "/other")
    world.delete("web")
    world.do(c.DeleteAvailabilitySet("front"))
    world.delete_set("pool")
    assert list(world.region.resources) == ["/other"]


def test_a_kept_document_of_an_instance_goes_with_it(world: World) -> None:
    world.reading_set(capacity=1)
    keep(world, ID, "vm/web_0")
    world.delete_instances("web_0")
    assert len(world.region.resources) == 1
    world.advance(11 * MINUTE)
    assert len(world.region.resources) == 0


def test_an_owner_has_at_most_one_kept_document(world: World) -> None:
    world.create("web")
    keep(world, "/first", "vm/web")
    keep(world, "/second", "vm/web")
    assert list(world.region.resources) == ["/second"]
    keep(world, "/second")  # on its own now
    world.delete("web")
    assert list(world.region.resources) == ["/second"]


def test_what_was_forgotten_has_no_owner_any_more(world: World) -> None:
    world.create("web")
    keep(world, ID, "vm/web")
    world.do(c.ForgetResource(ID))
    assert len(world.region.owned) == 0
