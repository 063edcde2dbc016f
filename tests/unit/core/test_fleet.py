"""Making VMs, placing them, stopping and starting them, and knowing them by their connection."""

from __future__ import annotations

import pytest

from forewarn.core import commands as c
from forewarn.core.causes import Cause
from forewarn.core.refusal import Hint
from forewarn.core.region import Power
from forewarn.core.rules import Rules
from forewarn.core.specs import Binding, ScopeKind, VmSpec
from tests.unit.core.world import MINUTE, NOON, SECOND, World, in_service, in_set, kinds


def test_lone_vms_are_spread_over_the_domains_in_turn(world: World) -> None:
    names = [f"vm-{number}" for number in range(7)]
    world.create(*names)
    assert [world.vm(name).update_domain for name in names] == [0, 1, 2, 3, 4, 0, 1]
    assert [world.vm(name).fault_domain for name in names] == [0, 1, 2, 0, 1, 2, 0]


def test_each_set_is_spread_by_itself(world: World) -> None:
    world.create("lone")
    world.create("a-0", "a-1", spec=in_set("a"))
    world.create("b-0", spec=in_set("b"))
    world.create("a-2", spec=in_set("a"))
    assert [world.vm(name).update_domain for name in ("lone", "a-0", "a-1", "a-2", "b-0")] == [0, 0, 1, 2, 0]


def test_a_deleted_vms_turn_is_not_given_again(world: World) -> None:
    world.create("a", "b")
    world.delete("b")
    world.create("c")
    assert (world.vm("c").number, world.vm("c").update_domain) == (2, 2)


def test_an_owner_may_choose_the_number_of_domains() -> None:
    world = World(Rules(update_domains=2, fault_domains=1))
    world.create("a", "b", "c")
    assert [(world.vm(name).update_domain, world.vm(name).fault_domain) for name in "abc"] == [(0, 0), (1, 0), (0, 0)]


def test_a_host_is_filled_before_another_is_added() -> None:
    world = World(Rules(update_domains=1, fault_domains=1, vms_per_host=2))
    world.create(*"abcde")
    assert [len(world.region.hosts[number].vms) for number in range(3)] == [2, 2, 1]
    world.delete("a")
    world.create("f", "g")
    assert len(world.region.hosts) == 3


def test_vms_of_different_domains_never_share_a_host(world: World) -> None:
    world.create(*(f"vm-{number}" for number in range(60)))
    for host in world.region.hosts.values():
        assert {(world.vm(key).fault_domain, world.vm(key).update_domain) for key in host.vms} == {
            (host.fault_domain, host.update_domain)
        }


def test_a_moved_vm_goes_to_another_host_of_its_domains_if_it_must_to_a_new_one(world: World) -> None:
    world.create("web")
    world.redeploy("web")
    world.advance(60 * SECOND)
    assert [host.name for host in world.region.hosts.values() if host.vms] == ["host-1"]
    world.redeploy("web")
    world.advance(60 * SECOND)
    assert world.host_of("web").number == 0  # empty, healthy, and not the one it came from


# Names


@pytest.mark.parametrize("name", ["a", "A", "0", "web-0", "web_", "a.b", "x" * 80, "FrontEnd_IN_0"])
def test_valid_names_of_vms_are_accepted(name: str, world: World) -> None:
    world.create(name)
    assert world.vm(name.upper()).name == name


BAD_NAMES = ["", "-a", "a-", ".a", "a.", "_a", "a b", "a/b", "a\n", "ä", "x" * 81, "a\0", "vm/web", "a%2e", "\u202ea"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_invalid_names_of_vms_are_refused(name: str, world: World) -> None:
    assert world.refused(c.CreateVms((name,), VmSpec(), "s")).hint is Hint.INVALID


@pytest.mark.parametrize("name", BAD_NAMES[1:])
def test_invalid_names_of_sets_and_roles_are_refused(name: str, world: World) -> None:
    for spec in (in_set(name), in_service(name, "Web"), in_service("shop", name)):
        assert world.refused(c.CreateVms(("web",), spec, "s")).hint is Hint.INVALID


def test_a_name_is_taken_however_it_is_spelled(world: World) -> None:
    world.create("Web")
    assert world.refused(c.CreateVms(("wEB",), VmSpec(), "s")).hint is Hint.CONFLICT
    assert world.refused(c.CreateVms(("new", "NEW"), VmSpec(), "s")).hint is Hint.INVALID
    assert "new" not in world.region.vms


@pytest.mark.parametrize(
    "spec",
    [
        VmSpec(kind=ScopeKind.AVAILABILITY_SET),
        VmSpec(kind=ScopeKind.CLOUD_SERVICE, role="Web"),
        VmSpec(kind=ScopeKind.CLOUD_SERVICE, set_name="shop"),
        VmSpec(set_name="front"),
        VmSpec(role="Web"),
        in_set("front", role="Web"),
    ],
)
def test_a_vm_is_alone_or_in_one_named_set_with_a_role_only_in_a_service(spec: VmSpec, world: World) -> None:
    assert world.refused(c.CreateVms(("web",), spec, "s")).hint is Hint.INVALID
    assert len(world.region.scopes) == 0


def test_vms_made_together_have_ids_of_their_own_and_keep_them(world: World) -> None:
    world.create("a", "b")
    a, b = world.vm("a").vm_id, world.vm("b").vm_id
    assert a != b
    assert a == a.lower()
    world.redeploy("a")
    world.advance(2 * MINUTE)
    assert world.vm("a").vm_id == a
    world.delete("a")
    world.create("a")
    assert world.vm("a").vm_id != a


# Stopping and starting


def test_a_stopped_vm_has_no_host_and_a_started_one_has_booted_again(world: World) -> None:
    world.create("web")
    world.deallocate("WEB")
    assert (world.vm("web").power, world.vm("web").host, world.vm("web").boots) == (Power.DEALLOCATED, None, 1)
    world.start("web")
    assert (world.vm("web").power, world.vm("web").boots) == (Power.RUNNING, 2)
    assert world.host_of("web").update_domain == world.vm("web").update_domain


def test_stopping_and_starting_make_no_event_and_twice_is_once(world: World) -> None:
    world.reading("web")
    assert kinds(world.do(c.DeallocateVms(("web",)))) == ["VmDeallocated"]
    assert world.do(c.DeallocateVms(("web",))) == ()
    assert kinds(world.do(c.StartVms(("web",)))) == ["VmStarted"]
    assert world.do(c.StartVms(("web",))) == ()
    assert world.document("web").incarnation == 1


@pytest.mark.parametrize("command", [c.RestartVms, c.RedeployVms])
def test_a_stopped_vm_is_not_restarted(command: type[c.RestartVms | c.RedeployVms], world: World) -> None:
    world.reading("web")
    world.deallocate("web")
    refused = world.refused(command(("web",), "s"))
    assert (refused.hint, refused.message) == (Hint.CONFLICT, "VM 'web' is deallocated; start it first.")


def test_maintenance_passes_a_stopped_vm_by(world: World) -> None:
    world.reading("web")
    world.deallocate("web")
    assert world.maintain(Cause.REBOOT) == []


def test_a_vm_stopped_during_an_impact_stays_stopped(world: World) -> None:
    world.create("web")
    (event_id,) = world.redeploy("web")
    world.deallocate("web")
    world.advance(2 * MINUTE)
    assert world.gone(event_id)
    assert (world.vm("web").power, world.vm("web").host, world.vm("web").boots) == (Power.DEALLOCATED, None, 1)


# Bindings

_ADDRESSED = Binding(address="10.0.0.4", local_address="127.0.0.5", netns="web0")


def test_a_vm_is_known_by_what_it_was_bound_to(world: World) -> None:
    world.do(c.CreateVms(("Web",), VmSpec(), "s", _ADDRESSED))
    assert dict(world.region.addresses) == dict.fromkeys(_ADDRESSED.claims(), "web")
    assert world.vm("web").binding == _ADDRESSED


def test_binding_anew_gives_up_what_was_held(world: World) -> None:
    world.do(c.CreateVms(("web",), VmSpec(), "s", _ADDRESSED))
    world.do(c.BindVm("WEB", Binding(address="10.0.0.5")))
    assert dict(world.region.addresses) == {"address 10.0.0.5": "web"}
    world.do(c.BindVm("web", Binding()))
    assert len(world.region.addresses) == 0


def test_binding_to_the_same_again_is_allowed(world: World) -> None:
    world.do(c.CreateVms(("web",), VmSpec(), "s", _ADDRESSED))
    world.do(c.BindVm("web", _ADDRESSED))
    assert world.vm("web").binding == _ADDRESSED


@pytest.mark.parametrize(
    "binding", [Binding(address="10.0.0.4"), Binding(local_address="127.0.0.5"), Binding(netns="web0")]
)
def test_what_one_vm_holds_no_other_gets(binding: Binding, world: World) -> None:
    world.do(c.CreateVms(("web",), VmSpec(), "s", _ADDRESSED))
    world.create("db")
    assert world.refused(c.BindVm("db", binding)).hint is Hint.CONFLICT
    assert world.refused(c.CreateVms(("new",), VmSpec(), "s", binding)).hint is Hint.CONFLICT
    assert "new" not in world.region.vms


def test_an_address_has_one_spelling(world: World) -> None:
    world.do(c.CreateVms(("web",), VmSpec(), "s", Binding(address="FD00:0:0::0001", local_address="0::1")))
    assert world.vm("web").binding == Binding(address="fd00::1", local_address="::1")
    world.create("db")
    assert world.refused(c.BindVm("db", Binding(address="fd00:0::1"))).hint is Hint.CONFLICT


@pytest.mark.parametrize(
    "binding",
    [
        Binding(address="10.0.0"),
        Binding(address="host.example"),
        Binding(address="10.0.0.4/24"),
        Binding(address="10.0.0.04"),
        Binding(local_address="web"),
        Binding(local_address="10.0.0.4"),
        Binding(local_address="::2"),
    ],
)
def test_what_is_no_ip_address_cannot_be_bound_to(binding: Binding, world: World) -> None:
    world.create("web")
    assert world.refused(c.BindVm("web", binding)).hint is Hint.INVALID


def test_one_address_is_not_for_several_vms(world: World) -> None:
    refused = world.refused(c.CreateVms(("a", "b"), VmSpec(), "s", Binding(address="10.0.0.4")))
    assert refused.hint is Hint.INVALID


def test_a_deleted_vms_address_is_free(world: World) -> None:
    world.do(c.CreateVms(("web",), VmSpec(), "s", _ADDRESSED))
    world.delete("web")
    world.do(c.CreateVms(("db",), VmSpec(), "t", _ADDRESSED))
    assert world.region.addresses["address 10.0.0.4"] == "db"


def test_a_vm_remembers_when_it_was_made(world: World) -> None:
    world.advance(MINUTE)
    world.create("web")
    assert world.vm("web").created_at == NOON + MINUTE


@pytest.mark.parametrize("size", [200, 3])
def test_an_availability_set_holds_so_many_vms_and_no_more(size: int) -> None:
    world = World(Rules() if size == 200 else Rules(availability_set_size=size))
    world.create(*(f"web-{number}" for number in range(size - 1)), spec=in_set("front"))
    assert "availability_set_size" in world.refused(c.CreateVms(("a", "b"), in_set("Front"), "s")).message
    world.create("last", spec=in_set("front"))
    assert world.refused(c.CreateVms(("more",), in_set("front"), "s")).hint is Hint.CONFLICT
    world.create("more", spec=in_set("back"))
    world.delete("last")
    world.create("again", spec=in_set("front"))


def test_zero_lets_an_availability_set_grow() -> None:
    world = World(Rules(availability_set_size=0, vms_per_host=1_000))
    world.create(*(f"web-{number}" for number in range(300)), spec=in_set("front"))
    assert len(world.scope("web-0").members) == 300
