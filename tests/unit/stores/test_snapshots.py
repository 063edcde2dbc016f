from __future__ import annotations

from io import BytesIO
from typing import Any

import msgspec
import pytest

from forewarn import __version__
from forewarn.core import commands as c
from forewarn.core.folding.evolve import evolve
from forewarn.core.looking.deadlines import next_deadline
from forewarn.core.maps import Map
from forewarn.core.region import (
    Campaign,
    Host,
    Operation,
    RealHost,
    Region,
    Resource,
    ScaleSet,
    Scope,
    Vm,
)
from forewarn.core.retired import Retired
from forewarn.core.rules import Rules
from forewarn.core.specs import ScopeTraits, VmSpec, VmTraits
from forewarn.core.step import step
from forewarn.stores.snapshots import parts
from forewarn.stores.snapshots import region as snapshots
from forewarn.stores.snapshots.frames import framed
from forewarn.stores.snapshots.region import FORMAT, Header, Unusable
from forewarn.stores.snapshots.shelf import Kept, flaws
from tests.unit.stores.examples import AT
from tests.unit.stores.story import MINUTES, minute_of_the_story, story

MARK = bytes(range(16))


def _packed(region: Region, seq: int = 7) -> bytes:
    return b"".join(snapshots.pack(region, seq, MARK))


def _again(region: Region) -> Region:
    return snapshots.unpack(BytesIO(_packed(region)))[0]


def _visible(region: Region) -> dict[str, Any]:
    """All that rules can see of a region; the agenda may hold stale entries, and only what is next in it matters."""
    found = msgspec.structs.asdict(region)
    del found["agenda"]
    found["vacancies"] = {domain: hosts for domain, hosts in region.vacancies.items() if hosts}
    found["next_deadline"] = next_deadline(region)
    return found


@pytest.mark.parametrize("minute", range(MINUTES))
def test_a_region_comes_back_as_it_was(minute: int) -> None:
    region, _ = story()[minute]
    assert _visible(_again(region)) == _visible(region)


@pytest.mark.parametrize("minute", range(0, MINUTES, 3))
def test_a_region_from_a_snapshot_decides_the_same_as_one_that_never_stopped(minute: int) -> None:
    region = _again(story()[minute][0])
    for later in range(minute + 1, MINUTES):
        region, facts = minute_of_the_story(region, later)
        assert facts == story()[later][1]


@pytest.mark.parametrize("minute", range(0, MINUTES, 3))
def test_a_region_that_came_back_takes_the_facts_that_follow(minute: int) -> None:
    region = _again(story()[minute][0])
    for _, facts in story()[minute + 1 :]:
        for fact in facts:
            region = evolve(region, fact)
    assert _visible(region) == _visible(story()[-1][0])


def test_an_empty_region_comes_back() -> None:
    assert _again(Region()) == Region()


def _spread(number: int) -> VmTraits:
    return VmTraits(number % 5, number % 3)


def test_a_region_of_many_parts_comes_back() -> None:
    count = parts.CHUNK * 2 + 1
    spec = VmSpec(size="big")
    vms = Map({f"vm-{n}": Vm(f"VM-{n}", spec, f"S{n // 100}", AT, n, n // 20, traits=_spread(n)) for n in range(count)})
    hosts = Map({n: Host(n, n % 3, n % 5, 20) for n in range(count // 20 + 1)})
    again = _again(Region(vms=vms, hosts=hosts, lone_vms_made=count))
    assert again.vms == vms
    assert set(again.hosts) == set(hosts)


@pytest.mark.parametrize("count", [1, parts.CHUNK + 1])
def test_the_numbers_of_scopes_that_went_come_back(count: int) -> None:
    retired = Retired()
    for number in range(count):
        retired = retired.having(f"vm/{number}", number + 1)
    for kept in (retired, retired.without("vm/0")):
        assert _again(Region(retired=kept)).retired == kept


def test_values_that_vms_share_are_one_object_again_after_a_snapshot() -> None:
    region, _ = story()[0]
    again = _again(region)
    for part in ("spec", "seed", "created_at", "binding", "traits"):
        shared = {id(getattr(vm, part)) for vm in region.vms.values()}
        assert len({id(getattr(vm, part)) for vm in again.vms.values()}) <= len(shared)


def test_values_that_scopes_share_are_one_object_again_after_a_snapshot() -> None:
    names = tuple(f"vm-{number}" for number in range(100))
    region, _ = step(Region(), c.CreateVms(names, VmSpec(), "S"), AT, Rules())
    region, _ = step(region, c.Pulse(tuple((name, AT) for name in names)), AT, Rules())
    again = _again(region)
    for instant in ("enabled_at", "last_read_at", "lapses_at", "changed_at"):
        assert len({id(getattr(scope, instant)) for scope in again.scopes.values()}) == 1
    keys = {id(key) for key in again.scopes}
    assert (
        {id(due.key) for due in again.agenda.soonest(100)} == keys == {id(each.key) for each in again.scopes.values()}
    )


def test_the_header_says_what_the_snapshot_stands_for() -> None:
    packed = _packed(story()[5][0], 99)
    assert snapshots.read_header(BytesIO(packed)) == snapshots.check(BytesIO(packed))
    header = snapshots.unpack(BytesIO(packed))[1]
    assert (header.seq, header.mark, header.format, header.written_by) == (99, MARK, FORMAT, __version__)


def test_a_snapshot_of_another_format_is_unusable_and_says_why() -> None:
    payload = msgspec.msgpack.encode({"format": FORMAT + 1, "written_by": "9.1", "everything": "else"})
    packed = b"".join(framed([payload]))
    for use in (snapshots.read_header, snapshots.check, snapshots.unpack):
        with pytest.raises(Unusable, match=rf"forewarn 9\.1 wrote it in format {FORMAT + 1}; this one reads {FORMAT}"):
            use(BytesIO(packed))


def test_a_snapshot_of_another_format_is_no_flaw_of_the_store_but_a_damaged_one_is() -> None:
    foreign = b"".join(framed([msgspec.msgpack.encode({"format": FORMAT - 1, "written_by": "0.1.0"})]))
    shelf = [Kept("old", lambda: BytesIO(foreign)), Kept("torn", lambda: BytesIO(foreign[:9]))]
    assert [flaw.partition(" cannot ")[0] for flaw in flaws(shelf)] == ["The snapshot torn"]


def test_a_snapshot_cut_anywhere_is_unusable() -> None:
    packed = _packed(story()[5][0])
    for length in range(0, len(packed), 7):
        with pytest.raises(Unusable, match="it is damaged"):
            snapshots.unpack(BytesIO(packed[:length]))
        with pytest.raises(Unusable, match="it is damaged"):
            snapshots.check(BytesIO(packed[:length]))


VM_WITHOUT_SPEC = ["vms", *[[]] * 4, ["a"], [3], *[[0]] * 5, [None], ["running"], [1], [1], [0], {}, {}]


@pytest.mark.parametrize(
    "payloads",
    [
        [],
        [b"\xc1"],
        [msgspec.msgpack.encode(Header(1, MARK, 0, None)), b"\xc1"],
        [msgspec.msgpack.encode(Header(1, MARK, 0, None)), msgspec.msgpack.encode(["gardens", []])],
        [msgspec.msgpack.encode(Header(1, MARK, 0, None)), msgspec.msgpack.encode(["hosts", [1]])],
        [msgspec.msgpack.encode(Header(1, MARK, 0, None)), parts.encode(VM_WITHOUT_SPEC)],
    ],
    ids=["no header", "no sense", "no part", "unknown part", "short part", "a spec that is not there"],
)
def test_a_whole_stream_of_nonsense_is_unusable(payloads: list[bytes]) -> None:
    with pytest.raises(Unusable, match="it is damaged"):
        snapshots.unpack(BytesIO(b"".join(framed(payloads))))


KEPT_OR_DERIVED: dict[type[msgspec.Struct], str] = {
    Vm: "name spec seed created_at number host power binding events traits",
    VmTraits: "update_domain fault_domain boots ephemeral_disks model protected",
    Scope: "key kind name enabled_at last_read_at lapses_at incarnation events changed_at traits",
    ScopeTraits: "policy resource_group members counts domains",
    Host: "number fault_domain update_domain capacity health vms",
    RealHost: "number fault_domain update_domain capacity health vms called engine kinds was reserved lost_at",
    Campaign: "id cause started_at hosts hosts_at_once state wave waiting open_events events_total ended_at number "
    "not_done",
    ScaleSet: "name resource_group orchestration single_placement_group computer_prefix seed created_at spec model "
    "vm_spec changed_at next_id instances leaving deleting fault_domains rolling",
    Operation: "id kind started_at waiting ended_at error number",
    Resource: "id body owner",
    Region: "vms scopes hosts vacancies events groups addresses campaigns campaigns_waiting host_work scale_sets "
    "operations operations_ended "
    "operations_ended_total awaited resources owned real_hosts machines refs errands astray agenda "
    "tokens retired lone_vms_made user_operations latest_at",
}


@pytest.mark.parametrize("kind", KEPT_OR_DERIVED, ids=lambda kind: kind.__name__)
def test_no_field_of_a_region_is_forgotten(kind: type[msgspec.Struct]) -> None:
    # A new field goes into stores.parts (and snapshots.FORMAT grows) or into core.assemble, and then in here.
    assert " ".join(field.name for field in msgspec.structs.fields(kind)) == KEPT_OR_DERIVED[kind]
