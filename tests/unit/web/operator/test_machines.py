"""Real machines through the operator face: hosts that take part, machines that are adopted, checked and released."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from forewarn.core.machines.facts import ErrandGivenUp
from forewarn.engines.twin.engine import TwinEngine
from forewarn.engines.twin.hosts import TwinCall, TwinHosts, TwinMisfortune, TwinMishap
from forewarn.plane.clock import TurnableClock
from forewarn.plane.hands.engine import ADDRESS, FILTERED, MIGRATABLE, EngineFault, Finding, Way
from forewarn.plane.hands.settings import MachineHost, Machines
from forewarn.server.assembly import Parts, running
from forewarn.stores.memory import MemoryJournal
from tests.unit.web.operator.conftest import NOON, Bench
from tests.waiting import until_in_loop

pytestmark = pytest.mark.anyio


class StubbornEngine(TwinEngine):
    """Finds what it is told to find, and may refuse to mark a machine."""

    findings: tuple[Finding, ...] = ()
    refuses_to_mark = False

    def examine(self, host: str, ref: str, way: Way) -> tuple[Finding, ...]:
        return self.findings or super().examine(host, ref, way)

    def adopt(self, host: str, ref: str, vm: str, vm_id: str) -> None:
        if self.refuses_to_mark:
            raise EngineFault("The disk of the definitions is full.")
        super().adopt(host, ref, vm, vm_id)


class RealBench(Bench):
    """The same with a platform in memory below it."""

    platform: TwinHosts
    engine: StubbornEngine


@asynccontextmanager
async def open_real(node: str = "") -> AsyncIterator[RealBench]:
    platform = TwinHosts(("alpha", "beta"))
    engine = StubbornEngine(platform)
    hosts = tuple(MachineHost(name, engine, node, kind="docker") for name in platform.names)
    parts = Parts(
        journal=MemoryJournal(),
        clock_from=lambda _: TurnableClock(NOON),
        machines=Machines(hosts, node="here", blueprints={"worker": "twin", "other": "elsewhere"}),
    )
    async with running(parts) as server:
        app = server.operator_app(metadata_url="http://127.0.0.1:16925")
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:16926") as client:
            bench = RealBench(server.plane, app, client)
            bench.platform, bench.engine = platform, engine
            yield bench


@pytest.fixture
async def real(anyio_backend: str) -> AsyncIterator[RealBench]:
    async with open_real() as opened:
        await opened.post("/v1/hosts/add", {"name": "ALPHA"}, 201)
        opened.platform.put("web-0", "alpha")
        yield opened


async def test_a_declared_host_takes_part_by_its_name_and_others_do_not(real: RealBench) -> None:
    told = await real.get("/v1/machines")
    assert [(host["name"], host["health"], host["kind"]) for host in told["hosts"]] == [
        ("alpha", "healthy", "docker"),
        ("beta", "not added", "docker"),
    ]
    shown = await real.get("/v1/hosts/alpha")
    assert (shown["engine"], shown["capacity"], shown["health"]) == ("twin", 20, "healthy")

    assert "declares: alpha, beta" in await real.refused(404, "POST", "/v1/hosts/add", {"name": "gamma"})
    assert "takes part already" in await real.refused(409, "POST", "/v1/hosts/add", {"name": "alpha"})


@pytest.mark.parametrize("field", ["uri", "socket", "fence", "engine", "command", "node"])
async def test_no_address_and_no_command_is_taken(real: RealBench, field: str) -> None:
    body = {"name": "beta", field: "qemu+ext:///system?command=/bin/sh"}
    assert f"There is no field '{field}' here." in await real.refused(400, "POST", "/v1/hosts/add", body)


async def test_what_is_unadopted_is_listed_until_it_is_adopted(real: RealBench) -> None:
    before = await real.get("/v1/machines/unadopted")
    assert before["machines"] == [{"host": "alpha", "ref": "web-0", "engine": "twin", "power": "running"}]

    await real.post("/v1/machines/adopt", {"host": "alpha", "ref": "web-0"}, 201)

    assert (await real.get("/v1/machines/unadopted"))["machines"] == []
    shown = await real.get("/v1/vms/web-0")
    assert (shown["host"], shown["machine"]["ref"], shown["machine"]["power"]) == ("alpha", "web-0", "running")
    assert shown["machine"]["boot_mark"] == real.platform.copies("web-0")[0].mark


async def test_a_machine_is_adopted_as_what_it_is_to_be_warned_as(real: RealBench) -> None:
    """Only a Spot VM is evicted, and only one with a terminate notice hears of its deletion."""
    real.platform.put("web-1", "alpha")
    place = {"host": "alpha", "ref": "web-0"}
    told = await real.post("/v1/machines/adopt", {**place, "spot": True, "eviction_policy": "Delete"}, 201)
    effects = {each["type"]: each["sentence"] for each in told["effects"]}
    assert effects["Preempt"] == "It is removed, with what was made for it."
    shown = await real.get("/v1/vms/web-0")
    assert (shown["spot"], shown["eviction_policy"]) == (True, "Delete")

    place["ref"] = "web-1"
    assert "5 and 15 minutes" in await real.refused(
        400, "POST", "/v1/machines/adopt", {**place, "terminate_notice_seconds": 1}
    )
    await real.post("/v1/machines/adopt", {**place, "terminate_notice_seconds": 300}, 201)
    assert (await real.get("/v1/vms/web-1"))["terminate_notice_seconds"] == 300


async def test_a_dry_run_of_adoption_tells_what_it_would_change_and_changes_nothing(real: RealBench) -> None:
    seq = real.plane.seq
    told = await real.post(
        "/v1/machines/adopt?dry_run=true",
        {"host": "alpha", "ref": "web-0", "vm": "shop", "availability_set": "front", "way": "namespace"},
        201,
    )

    assert (told["dry_run"], told["vm"], told["way"], told["identity_safe"]) == (True, "shop", "namespace", True)
    assert told["changes"] == ["Nothing is written at a container: the region knows it by its name."]
    assert {effect["type"]: effect["kind"] for effect in told["effects"]} == {
        "Freeze": "pause",
        "Freeze by live migration": "migrate",
        "Reboot": "restart",
        "Redeploy": "redeploy",
        "Preempt": "off",
        "Terminate": "delete",
    }
    assert (real.plane.seq, real.platform.copies("web-0")[0].vm) == (seq, "")


async def test_adoption_marks_the_machine_and_release_takes_the_mark_away(real: RealBench) -> None:
    body = {"host": "alpha", "ref": "web-0", "vm": "shop", "availability_set": "front"}
    await real.post("/v1/machines/adopt", body, 201)
    assert real.platform.copies("web-0")[0].vm == "shop"
    assert (await real.get("/v1/vms/shop"))["scope"] == "availability-set/front"

    told = await real.post("/v1/machines/release", {"vm": "shop"})

    (left,) = real.platform.copies("web-0")
    assert (left.vm, left.power.value) == ("", "running")
    assert "goes on as it is" in told["message"]
    assert await real.get("/v1/machines") | {"hosts": []} == {
        "machines": [],
        "hosts": [],
        "errands_open": 0,
        "errands_hindered": 0,
        "alarms": 0,
        "hosts_silent": 0,
        "hosts_fenced": 0,
        "calls_hung": 0,
    }


async def test_an_adoption_whose_mark_cannot_be_written_is_taken_back(real: RealBench) -> None:
    real.engine.refuses_to_mark = True
    answer = await real.client.post("/v1/machines/adopt", json={"host": "alpha", "ref": "web-0"})

    assert answer.status_code == 409
    assert "The disk of the definitions is full." in answer.json()["error"]["message"]
    assert "web-0" not in real.plane.region.vms
    assert not real.plane.region.refs


async def test_a_machine_whose_address_another_has_is_not_adopted(real: RealBench) -> None:
    real.engine.findings = (
        Finding(FILTERED, True, "Fine."),
        Finding(ADDRESS, False, "db has the address 10.0.0.4 too."),
    )
    told = await real.refused(409, "POST", "/v1/machines/adopt", {"host": "alpha", "ref": "web-0"})

    assert told == "Machine 'web-0' is not adopted: db has the address 10.0.0.4 too."


@pytest.mark.parametrize("safe", [True, False])
async def test_only_a_safe_identity_is_bound(real: RealBench, safe: bool) -> None:
    real.engine.findings = (Finding(FILTERED, safe, "So it is."), Finding(ADDRESS, True, "It is.", "10.0.0.4"))

    told = await real.post("/v1/machines/adopt", {"host": "alpha", "ref": "web-0"}, 201)

    assert (told["identity_safe"], told["bound"]) == (safe, safe)
    assert real.plane.region.vms["web-0"].binding.address == ("10.0.0.4" if safe else "")
    assert (await real.get("/v1/machines/web-0/check"))["identity_safe"] is safe


async def test_what_cannot_be_adopted_checked_or_released_is_refused(real: RealBench) -> None:
    adopt = "/v1/machines/adopt"
    assert "has no machine 'ghost'" in await real.refused(404, "POST", adopt, {"host": "alpha", "ref": "ghost"})
    real.platform.put("db", "beta")
    assert "no host named 'beta'" in await real.refused(404, "POST", adopt, {"host": "beta", "ref": "db"})
    await real.create("pretended")
    assert "only pretended" in await real.refused(409, "POST", "/v1/machines/release", {"vm": "pretended"})
    assert "only pretended" in await real.refused(409, "GET", "/v1/machines/pretended/check")
    assert "no VM named" in await real.refused(404, "GET", "/v1/machines/nobody/check")


async def test_a_host_of_another_node_is_named_with_its_node() -> None:
    async with open_real("elsewhere") as real:
        await real.post("/v1/hosts/add", {"name": "alpha"}, 201)
        told = await real.get("/v1/machines/unadopted")
        assert told["unreached"][0] == {
            "host": "alpha",
            "why": "Host 'alpha' is reached from node 'elsewhere' only: ask that one.",
        }


async def test_an_event_tells_what_was_asked_of_the_engine_and_what_became_of_it(real: RealBench) -> None:
    await real.post("/v1/machines/adopt", {"host": "alpha", "ref": "web-0"}, 201)
    mark = real.platform.copies("web-0")[0].mark
    await real.post("/v1/vms/restart", {"names": ["web-0"]}, 202)
    await until_in_loop(lambda: real.platform.copies("web-0")[0].mark != mark)
    await until_in_loop(lambda: not real.plane.region.errands)

    event = next(record.fact.event.id for record in real.plane.journal.read(0, 1000) if hasattr(record.fact, "event"))
    story = await real.get(f"/v1/events/{event}")
    assert [(each["kind"], each["vm"], each["state"]) for each in story["errands"]] == [("restart", "web-0", "done")]


async def test_a_host_without_vms_leaves_at_once_and_one_with_vms_is_emptied_first(real: RealBench) -> None:
    await real.post("/v1/machines/adopt", {"host": "alpha", "ref": "web-0"}, 201)
    assert "has no other host" in await real.refused(409, "POST", "/v1/hosts/remove", {"name": "alpha"})
    await real.post("/v1/hosts/add", {"name": "beta"}, 201)

    told = await real.post("/v1/hosts/remove", {"name": "alpha"}, 202)
    assert "1 VMs are to leave host 'alpha' first" in told["message"]
    await until_in_loop(lambda: real.plane.region.vms["web-0"].host == real.plane.region.real_hosts["beta"])
    told = await real.post("/v1/hosts/remove", {"name": "alpha"}, 202)

    assert told["health"] == "left"
    assert [each.host for each in real.platform.copies("web-0")] == ["beta"]


async def test_a_drained_host_is_emptied_and_stays_empty_until_it_is_resumed(real: RealBench) -> None:
    await real.post("/v1/machines/adopt", {"host": "alpha", "ref": "web-0"}, 201)
    await real.post("/v1/hosts/add", {"name": "beta"}, 201)

    told = await real.post("/v1/hosts/drain", {"name": "alpha"}, 202)
    assert (told["health"], told["message"]) == ("draining", "1 VMs are to leave host 'alpha' first, with events.")
    await until_in_loop(lambda: real.plane.region.vms["web-0"].host == real.plane.region.real_hosts["beta"])
    assert "is draining already" in await real.refused(409, "POST", "/v1/hosts/drain", {"name": "alpha"})
    no_room = await real.refused(409, "POST", "/v1/hosts/drain", {"name": "beta"})
    assert "No host of engine 'twin' has room for VM 'web-0'" in no_room
    assert (await real.get("/v1/hosts/beta"))["health"] == "healthy"

    assert (await real.post("/v1/hosts/resume", {"name": "alpha"}, 200))["health"] == "healthy"
    await real.post("/v1/hosts/drain", {"name": "beta"}, 202)
    await until_in_loop(lambda: real.plane.region.vms["web-0"].host == real.plane.region.real_hosts["alpha"])
    for operation in ("drain", "resume"):
        await real.post("/v1/vms", {"name": "plain", "count": 1}, 201) if operation == "drain" else None
        pretended = await real.refused(409, "POST", f"/v1/hosts/{operation}", {"name": "host-2"})
        assert "is only pretended" in pretended


async def test_what_cannot_be_done_to_a_machine_is_kept_when_it_is_adopted(real: RealBench) -> None:
    real.engine.findings = (
        Finding(FILTERED, True, "Nobody else can speak as it."),
        Finding(MIGRATABLE, False, "It has a host device: pci 0000:01:00.0."),
        Finding("redeploy", False, "Its disk is a file of this host."),
    )
    await real.post("/v1/machines/adopt", {"host": "alpha", "ref": "web-0", "way": "nic"}, 201)
    await real.post("/v1/hosts/add", {"name": "beta"}, 201)

    refused = await real.refused(409, "POST", "/v1/vms/redeploy", {"names": ["web-0"]})
    assert "'forewarn machine check web-0' says why" in refused
    body = {"kind": "live-migration", "hosts": ["alpha"]}
    assert "cannot be asked to migrate" in await real.refused(409, "POST", "/v1/hosts/maintain", body)
    shown = (await real.get("/v1/vms/web-0"))["machine"]
    assert (shown["cannot"], shown["way"]) == (["migrate", "redeploy"], "nic")
    assert (await real.get("/v1/machines/web-0/check"))["way"] == "nic"


async def test_only_a_silent_host_can_be_called_lost(real: RealBench) -> None:
    told = await real.refused(409, "POST", "/v1/hosts/confirm-lost", {"name": "alpha"})

    assert "only one that is silent can be called lost" in told


# Machines that are made


async def test_a_vm_of_a_blueprint_is_made_stopped_started_and_deleted_with_its_machine(real: RealBench) -> None:
    await real.post("/v1/vms", {"name": "job", "count": 2, "blueprint": "worker", "host": "alpha"}, 201)
    await until_in_loop(lambda: not real.plane.region.errands)
    shown = await real.get("/v1/vms/job-0")
    assert (shown["power"], shown["host"], shown["machine"]["engine"]) == ("running", "alpha", "twin")
    ref = shown["machine"]["ref"]

    for operation, power in (("stop", "off"), ("start", "running")):
        await real.post(f"/v1/vms/{operation}", {"names": ["job-0"]}, 202)
        await until_in_loop(lambda: not real.plane.region.errands)
        assert real.platform.copies(ref)[0].power.value == power
    await real.post("/v1/vms/delete", {"names": ["job-0"]}, 202)
    await until_in_loop(lambda: "job-0" not in real.plane.region.vms)

    assert real.platform.copies(ref) == []
    assert real.plane.region.vms["job-1"].power.value == "running"


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (404, {"blueprint": "ghost"}, "No [[blueprint]] of this server's region file is named 'ghost'"),
        (409, {"blueprint": "other"}, "No host of engine 'elsewhere' has room"),
        (404, {"blueprint": "worker", "host": "beta"}, "There is no host named 'beta'"),
        (400, {"host": "alpha"}, "is only pretended: name a host for real machines only"),
        (400, {"blueprint": {"image": "evil"}}, "The field 'blueprint' is not right"),
        (400, {"blueprint": "worker", "image": "evil"}, "There is no field 'image' here."),
    ],
)
async def test_what_cannot_be_made_is_refused(
    real: RealBench, status: int, body: dict[str, object], sentence: str
) -> None:
    assert sentence in await real.refused(status, "POST", "/v1/vms", {"name": "job", **body})


async def test_a_scale_set_of_a_blueprint_makes_and_removes_machines_as_it_scales(real: RealBench) -> None:
    await real.post("/v1/scale-sets", {"name": "pool", "capacity": 1, "blueprint": "worker"}, 201)
    await real.post("/v1/scale-sets/pool/scale", {"capacity": 3}, 202)
    await until_in_loop(lambda: not real.plane.region.errands)
    assert len([key for key in real.platform.machines if key[1] != "web-0"]) == 3

    told = await real.refused(409, "PUT", "/v1/scale-sets/pool", {"blueprint": "other"})
    assert "What scale set 'pool' is made from cannot be changed." in told
    await real.client.put("/v1/scale-sets/pool", json={"size": "Standard_B1s", "capacity": 1})
    await until_in_loop(lambda: len(real.plane.region.machines) == 1)

    assert len([key for key in real.platform.machines if key[1] != "web-0"]) == 1
    assert real.plane.region.scale_sets["pool"].vm_spec.blueprint == "worker"


async def test_a_machine_that_cannot_be_made_leaves_no_vm_and_the_engines_words(real: RealBench) -> None:
    real.platform.misfortunes.append(TwinMisfortune(TwinMishap.REFUSED, call=TwinCall.CREATE))
    await real.post("/v1/vms", {"name": "job", "blueprint": "worker"}, 201)
    await until_in_loop(lambda: "job" not in real.plane.region.vms)

    facts = [record.fact for record in real.plane.journal.read(0, 1000)]
    assert [fact.why for fact in facts if isinstance(fact, ErrandGivenUp)] == ["twin refuses: no"]
