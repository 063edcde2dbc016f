"""Who sees and may approve what: lone VMs, availability sets, cloud services."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.refusal import Hint
from forewarn.core.region import scope_key
from forewarn.core.rules import Rules
from forewarn.core.specs import ScopeKind
from tests.unit.core.world import World, in_service, in_set


def test_every_vm_of_an_availability_set_sees_the_same_document(world: World) -> None:
    world.create("web-0", "web-1", "web-2", spec=in_set("front"))
    world.read("web-1")
    world.restart("web-0")
    assert world.seen("web-0").resources == ("web-0",)
    assert world.document("web-0") == world.document("web-1") == world.document("web-2")


def test_vms_outside_the_set_see_no_event(world: World) -> None:
    world.reading("web-0", spec=in_set("front"))
    world.reading("db-0", spec=in_set("back"))
    world.reading("lone")
    world.restart("web-0")
    assert world.document("db-0").events == world.document("lone").events == ()
    assert world.document("db-0").incarnation == world.document("lone").incarnation == 1


def test_a_set_and_a_service_and_a_vm_of_one_name_are_three_scopes(world: World) -> None:
    world.reading("front")
    world.reading("web", spec=in_set("front"))
    world.reading("role", spec=in_service("front", "Front"))
    world.restart("front")
    assert [world.statuses(name) for name in ("front", "web", "role")] == [["Scheduled"], [], []]


def test_a_set_is_the_same_however_it_is_spelled(world: World) -> None:
    world.create("a", spec=in_set("Front"))
    world.create("b", spec=in_set("fRONT"))
    assert world.scope("a") == world.scope("b")
    assert world.scope("a").name == "Front"
    assert (world.vm("a").number, world.vm("b").number) == (0, 1)


def test_any_vm_of_the_set_may_approve_for_all(world: World) -> None:
    world.reading("web-0", "web-1", spec=in_set("front"))
    (event_id,) = world.restart("web-0")
    world.approve(event_id, by="web-1", scope="availability-set/front")
    assert world.statuses("web-0") == ["Started"]


@pytest.mark.parametrize("scope", ["vm/lone", "availability-set/back", "availability-set/", "vm/web-0"])
def test_a_vm_of_another_scope_may_not_approve_and_learns_nothing(scope: str, world: World) -> None:
    world.reading("web-0", spec=in_set("front"))
    world.reading("lone")
    (event_id,) = world.restart("web-0")
    foreign = world.refused(c.Approve((event_id,), "lone", scope))
    unknown = world.refused(c.Approve(("0" * 36,), "lone", scope))
    assert foreign.hint is unknown.hint is Hint.NOT_FOUND
    assert foreign.message.replace(event_id, "?") == unknown.message.replace("0" * 36, "?")


def test_one_bad_id_and_none_of_the_request_takes_effect(world: World) -> None:
    world.reading("a")
    world.reading("b")
    mine, foreign = world.restart("a") + world.restart("b")
    world.refused(c.Approve((mine, foreign), "a", "vm/a"))
    assert world.statuses("a") == world.statuses("b") == ["Scheduled"]


def test_unknown_ids_may_be_passed_over_where_the_owner_says_so(world: World) -> None:
    world.reading("a")
    world.reading("b")
    mine, foreign = world.restart("a") + world.restart("b")
    world.do(c.Approve((foreign, mine, "0" * 36), "a", "vm/a", ignore_unknown=True))
    assert (world.statuses("a"), world.statuses("b")) == (["Started"], ["Scheduled"])


def test_several_ids_in_one_approval(world: World) -> None:
    world.reading("a")
    world.create("b", "c", spec=in_set("s"))
    world.read("b")
    ids = world.restart("b", "c")
    world.approve(*ids, by="b", scope="availability-set/s")
    assert world.statuses("b") == ["Started", "Started"]


def test_the_operator_may_approve_anything_that_was_announced(world: World) -> None:
    world.reading("a")
    world.create("quiet")
    (event_id,) = world.restart("a")
    (silent,) = world.restart("quiet")
    world.approve(event_id)
    assert world.statuses("a") == ["Started"]
    assert world.refused(c.Approve((silent,), "operator")).hint is Hint.NOT_FOUND


def test_role_instances_are_numbered_by_role(world: World) -> None:
    world.reading("f0", "f1", spec=in_service("shop", "FrontEnd"))
    world.create("b0", spec=in_service("shop", "BackEnd"))
    assert [world.vm(name).resource_name for name in ("f0", "f1", "b0")] == [
        "FrontEnd_IN_0",
        "FrontEnd_IN_1",
        "BackEnd_IN_0",
    ]
    world.restart("f1")
    assert world.seen("b0").resources == ("FrontEnd_IN_1",)


def test_a_role_spelled_differently_is_the_same_role(world: World) -> None:
    world.create("a", spec=in_service("shop", "Web"))
    world.create("b", spec=in_service("shop", "WEB"))
    assert [world.vm(name).resource_name for name in ("a", "b")] == ["Web_IN_0", "WEB_IN_1"]


def test_a_number_is_never_given_twice(world: World) -> None:
    world.create("a", "b", spec=in_service("shop", "Web"))
    world.delete("b")
    world.create("c", spec=in_service("shop", "Web"))
    assert world.vm("c").resource_name == "Web_IN_2"


def test_vms_of_one_scope_on_one_host_share_one_event() -> None:
    world = World(Rules(update_domains=1, fault_domains=1))
    world.reading("web-0", "web-1", spec=in_set("front"))
    world.maintain(Cause.FREEZE, "host-0")
    assert world.seen("web-0").resources == ("web-0", "web-1")


def test_every_document_change_bumps_the_incarnation_once(world: World) -> None:
    world.reading("web")
    seen = [world.document("web").incarnation]
    (event_id,) = world.restart("web")
    seen.append(world.document("web").incarnation)
    world.approve(event_id)
    seen.append(world.document("web").incarnation)
    world.advance(world.event(event_id).recovery)
    seen.append(world.document("web").incarnation)  # the impact is over, the document is as it was
    world.next()
    seen.append(world.document("web").incarnation)
    assert seen == [1, 2, 3, 3, 4]


def test_two_events_of_one_command_bump_twice(world: World) -> None:
    world.reading("web-0", "web-1", spec=in_set("front"))
    world.restart("web-0", "web-1")
    assert world.document("web-0").incarnation == 3


@pytest.mark.parametrize(
    ("kind", "name", "key"),
    [(ScopeKind.VM, "Web", "vm/web"), (ScopeKind.CLOUD_SERVICE, "SHOP", "cloud-service/shop")],
)
def test_a_scope_has_one_spelling(kind: ScopeKind, name: str, key: str) -> None:
    assert scope_key(kind, name) == key
