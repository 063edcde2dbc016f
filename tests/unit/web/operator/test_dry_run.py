"""A dry run: what a request would do, while nothing changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from forewarn.core import facts as f
from forewarn.core.region import Region
from forewarn.plane.ports import Origin, Record
from forewarn.web.operator.desk import DryRun
from forewarn.web.operator.made_up import without
from forewarn.web.operator.routes import fleet
from forewarn.web.operator.schema.fleet_answers import OutcomeAnswer
from forewarn.web.operator.schema.requests import NamesBody

if TYPE_CHECKING:
    from tests.unit.web.operator.conftest import Bench

pytestmark = pytest.mark.anyio

EVENT = "EVENT"  # stands for the id of an event that waits
CAMPAIGN = "CAMPAIGN"

# A body for every request that becomes a command, about the region of `prepared`.
COMMANDS: dict[str, Any] = {
    "POST /v1/vms": {"name": "new", "count": 2, "read": True},
    "POST /v1/vms/web-0/read": None,
    "POST /v1/vms/restart": {"names": ["web-0", "lone"]},
    "POST /v1/vms/redeploy": {"names": ["web-0", "lone"]},
    "POST /v1/vms/reimage": {"names": ["web-0"]},
    "POST /v1/vms/evict": {"names": ["spot"]},
    "POST /v1/vms/delete": {"names": ["lone"]},
    "POST /v1/vms/stop": {"names": ["lone"]},
    "POST /v1/vms/deallocate": {"names": ["lone"]},
    "POST /v1/vms/start": {"names": ["stopped"]},
    "PUT /v1/vms/lone/binding": {"local_address": "127.1.0.9"},
    "DELETE /v1/vms/bound/binding": None,
    "POST /v1/scale-sets": {"name": "new", "capacity": 3},
    "PUT /v1/scale-sets/set": {"capacity": 3, "size": "Standard_B1s"},
    "DELETE /v1/scale-sets/set": None,
    "POST /v1/scale-sets/set/scale": {"capacity": 4},
    "POST /v1/scale-sets/set/delete-instances": {"instances": ["0"]},
    "POST /v1/scale-sets/set/upgrade": {},
    "POST /v1/scale-sets/set/protect": {"instance": "0", "protected": True},
    "POST /v1/scale-sets/set/restart": {},
    "POST /v1/scale-sets/set/redeploy": {},
    "POST /v1/scale-sets/set/reimage": {},
    "POST /v1/scale-sets/set/deallocate": {},
    "POST /v1/scale-sets/set/stop": {},
    "POST /v1/scale-sets/set/start": {},
    "PUT /v1/scopes/vm/lone/policy": {"auto_approve_reboot": True},
    "POST /v1/hosts/maintain": {"kind": "freeze"},
    "POST /v1/hosts/fail": {"hosts": ["host-0"]},
    "POST /v1/campaigns": {"kind": "freeze"},
    f"POST /v1/campaigns/{CAMPAIGN}/pause": None,
    f"POST /v1/campaigns/{CAMPAIGN}/resume": None,
    f"POST /v1/campaigns/{CAMPAIGN}/cancel": None,
    "POST /v1/events/approve": {"ids": [EVENT]},
    "POST /v1/events/cancel": {"ids": [EVENT]},
}
# Requests that change something else than the region, or nothing: of these there is no dry run.
OF_MACHINES = (  # tried over a platform in test_machines.py
    "POST /v1/hosts/add",
    "POST /v1/hosts/remove",
    "POST /v1/hosts/drain",
    "POST /v1/hosts/resume",
    "POST /v1/hosts/confirm-lost",
    "POST /v1/machines/adopt",
    "POST /v1/machines/release",
)
OTHERS: dict[str, Any] = {
    "POST /v1/clock/advance": {"seconds": 60},
    "POST /v1/clock/next": {},
    "POST /v1/clock/to": {"instant": "2026-01-01T13:00:00Z"},
    "POST /v1/clock/speed": {"speed": 60},
    "POST /v1/faults": {"kind": "gone"},
    "DELETE /v1/faults": None,
    "DELETE /v1/faults/F": None,
    "POST /v1/journal/verify": None,
    "POST /v1/tokens": {"name": "anna"},
    "DELETE /v1/tokens/anna": None,
    "POST /v1/relays/stream": {"vms": ["web"]},
    "POST /v1/relays/read": {"vm": "web"},
    "POST /v1/relays/approve": {"vm": "web", "events": []},
    "POST /v1/relays/reads": {"reads": {}},
}


async def prepared(bench: Bench) -> dict[str, str]:
    """A region in which each of these requests does something; the ids of an open event and a campaign."""
    await bench.create("web", count=2, availability_set="front", os_image_notice_seconds=900)
    await bench.create("lone")
    await bench.create("spot", spot=True)
    await bench.create("stopped")
    await bench.create("bound", local_address="127.1.0.1")
    await bench.post("/v1/scale-sets", {"name": "set", "capacity": 2, "terminate_notice_seconds": 300}, 201)
    await bench.post("/v1/vms/stop", {"names": ["stopped"]}, 202)
    await bench.read("web-0", "spot", "set_0")
    await bench.post("/v1/scale-sets/set/stop", {"instances": ["1"]}, 202)
    await bench.client.put("/v1/scale-sets/set", json={"tags": {"new": "model"}})
    campaign = (await bench.post("/v1/campaigns", {"kind": "freeze", "hosts_at_once": 1}, 201))["id"]
    event = (await bench.post("/v1/vms/restart", {"names": ["web-1"]}, 202))["events"][0]["id"]
    await bench.settled()
    return {EVENT: event, CAMPAIGN: campaign}


def filled(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled(each, ids) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, ids) for each in value]
    if isinstance(value, str):
        for word, each in ids.items():
            value = value.replace(word, each)
    return value


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


async def changing(bench: Bench) -> set[str]:
    paths = (await bench.get("/openapi.json"))["paths"]
    found = ((method.upper(), path) for path, methods in paths.items() for method in methods)
    return {f"{method} {path}" for method, path in found if method not in ("GET", "HEAD")}


def template(request: str, known: set[str]) -> str:
    """The route of a request, as the OpenAPI document writes it; what is written out wins over what is not."""
    method, _, path = request.partition(" ")
    parts = path.split("/")

    def fits(route: str) -> bool:
        other = route.partition(" ")[2].split("/")
        same = len(other) == len(parts) and route.startswith(f"{method} ")
        return same and all(theirs.startswith("{") or theirs == ours for ours, theirs in zip(parts, other, strict=True))

    return min((route for route in known if fits(route)), key=lambda route: route.count("{"))


async def test_every_request_that_changes_something_either_has_a_dry_run_or_refuses_one(bench: Bench) -> None:
    known = await changing(bench)
    assert {template(request, known) for request in (*COMMANDS, *OTHERS, *OF_MACHINES)} == known
    paths = (await bench.get("/openapi.json"))["paths"]
    for request in COMMANDS:
        method, _, path = template(request, known).partition(" ")
        names = [each["name"] for each in paths[path][method.lower()]["parameters"]]
        assert "dry_run" in names, request


@pytest.mark.parametrize("request_line", COMMANDS)
async def test_a_dry_run_tells_what_the_request_then_does_and_changes_nothing(bench: Bench, request_line: str) -> None:
    ids = await prepared(bench)
    if "resume" in request_line:
        await bench.post(f"/v1/campaigns/{ids[CAMPAIGN]}/pause")
    method, _, path = filled(request_line, ids).partition(" ")
    body = filled(COMMANDS[request_line], ids)
    heard: list[tuple[Region, Sequence[Record]]] = []
    forget = bench.plane.subscribe(lambda region, records: heard.append((region, records)))
    before = bench.plane.region, bench.plane.seq, bench.plane.now(), await bench.get("/v1/activity")

    dry = await bench.client.request(method, path, params={"dry_run": "true"}, json=body)

    assert dry.status_code in (200, 201, 202), dry.text
    assert before[0] is bench.plane.region
    assert before == (bench.plane.region, bench.plane.seq, bench.plane.now(), await bench.get("/v1/activity"))
    assert heard == []
    forget()
    told = dry.json()
    assert told.pop("dry_run") is True
    real = await bench.client.request(method, path, json=body)
    assert real.status_code == dry.status_code
    done = real.json()
    assert done.pop("dry_run") is False
    fresh = set(filter(None, (new_id(record.fact) for record in bench.plane.journal.read(before[1], 10_000))))
    assert told == scrubbed(done, fresh)
    assert not fresh.intersection(texts(told))


def new_id(fact: f.Fact) -> str:
    """From the journal: what is new in the region may be gone again by now."""
    if isinstance(fact, f.EventScheduled | f.EventBornStarted):
        return fact.event.id
    return fact.campaign_id if isinstance(fact, f.CampaignStarted) else ""


def scrubbed(value: Any, fresh: set[str]) -> Any:
    """A real answer without the ids that are new in it."""
    if isinstance(value, dict):
        return {key: scrubbed(each, fresh) for key, each in value.items()}
    if isinstance(value, list):
        return [scrubbed(each, fresh) for each in value if not (isinstance(each, str) and each in fresh)]
    return "" if isinstance(value, str) and value in fresh else value


@pytest.mark.parametrize("request_line", OTHERS)
async def test_what_is_no_command_refuses_a_dry_run_and_does_nothing(bench: Bench, request_line: str) -> None:
    await bench.create("web")
    rule = await bench.post("/v1/faults", {"kind": "delay", "delay_seconds": 1}, 201)
    method, _, path = request_line.replace("/F", f"/{rule['id']}").partition(" ")
    clock, faults = await bench.get("/v1/clock"), await bench.get("/v1/faults")

    for answer in ("true", "false", "1"):
        said = await bench.refused(400, method, path, OTHERS[request_line], params={"dry_run": answer})
        assert said.startswith("There is no dry run of this request, and nothing was done")

    assert (clock, faults) == (await bench.get("/v1/clock"), await bench.get("/v1/faults"))


@pytest.mark.parametrize("misspelled", ["dryrun", "dry-run", "Dry_Run", "what_if"])
async def test_a_misspelled_dry_run_is_refused_and_not_done_in_earnest(bench: Bench, misspelled: str) -> None:
    await bench.create("web")
    said = await bench.refused(400, "POST", "/v1/vms/delete", {"names": ["web"]}, params={misspelled: "true"})
    assert said == f"There is no query parameter '{misspelled}' here."


async def test_a_dry_run_that_is_neither_yes_nor_no_is_refused(bench: Bench) -> None:
    await bench.create("web")
    said = await bench.refused(400, "POST", "/v1/vms/delete", {"names": ["web"]}, params={"dry_run": "maybe"})
    assert "dry_run" in said


@pytest.mark.parametrize(
    ("status", "method", "path", "body"),
    [
        (404, "POST", "/v1/vms/restart", {"names": ["nobody"]}),
        (404, "POST", "/v1/scale-sets/none/restart", {}),
        (404, "POST", "/v1/events/approve", {"ids": ["4CAEA225-A741-474D-A72E-428C86FCD853"]}),
        (409, "POST", "/v1/vms", {"name": "web"}),
        (409, "POST", "/v1/scale-sets", {"name": "set"}),
        (409, "POST", "/v1/vms/evict", {"names": ["web"]}),
        (400, "POST", "/v1/vms/restart", {"vms": ["web"]}),
    ],
)
async def test_what_would_be_refused_is_refused_in_a_dry_run_with_the_same_sentence(
    bench: Bench, status: int, method: str, path: str, body: Any
) -> None:
    await bench.create("web")
    await bench.post("/v1/scale-sets", {"name": "set"}, 201)
    dry = await bench.refused(status, method, path, body, params={"dry_run": "true"})
    assert dry == await bench.refused(status, method, path, body)


async def test_new_instances_of_a_flexible_set_have_no_names_yet(bench: Bench) -> None:
    body = {"name": "flex", "orchestration": "Flexible", "capacity": 2}
    answer = await bench.client.post("/v1/scale-sets?dry_run=true", json=body)
    told = answer.json()
    assert told["created"] == ["flex_…", "flex_…"]
    assert told["message"] == "Scale set 'flex' created. 2 instances created: flex_…, flex_…."
    assert "flex" not in bench.plane.region.scale_sets


async def test_a_campaign_that_is_not_there_has_no_id_and_its_events_have_none(bench: Bench) -> None:
    await bench.create("web", count=10, availability_set="front")
    await bench.read("web-0")
    told = (await bench.client.post("/v1/campaigns?dry_run=true", json={"kind": "freeze", "hosts_at_once": 1})).json()
    assert (told["id"], told["open_events"], told["open_events_total"]) == ("", [], 1)
    assert (told["waves_total"], told["hosts"]["total"]) == (5, 10)


def test_a_sentence_about_an_event_that_is_yet_to_be_made_does_not_name_it() -> None:
    new, old = "4CAEA225-A741-474D-A72E-428C86FCD853", "5CAEA225-A741-474D-A72E-428C86FCD853"
    answer = OutcomeAnswer(events=[], at_once=[new, old], message=f"host-1 waits for event {new}, not for {old}.")
    told = without(answer, {new: ""})
    assert told.message == f"host-1 waits for event (yet to be made), not for {old}."
    assert told.at_once == [old]


async def test_events_that_are_there_already_keep_their_ids(bench: Bench) -> None:
    await bench.create("web")
    await bench.read("web")
    event = (await bench.post("/v1/vms/restart", {"names": ["web"]}, 202))["events"][0]
    again = (await bench.client.post("/v1/vms/restart?dry_run=true", json={"names": ["web"]})).json()
    assert [each["id"] for each in again["events"]] == [event["id"]]
    assert event["id"] in again["message"]
    canceled = (await bench.client.post("/v1/events/cancel?dry_run=true", json={"ids": [event["id"]]})).json()
    assert [(each["id"], each["phase"]) for each in canceled["events"]] == [(event["id"], "canceled")]
    assert bench.plane.region.events[event["id"]].phase.value == "scheduled"


async def test_a_route_may_be_called_as_a_function_with_a_dry_run_for_its_asker(bench: Bench) -> None:
    await bench.create("web")
    before = bench.plane.region
    asker = DryRun(bench.plane, Origin("portal", "anna", "1"))
    told = await fleet.restart(NamesBody(names=["web"]), asker)
    assert told.dry_run
    assert told.at_once == ["web"]
    assert asker.look().region is not before
    assert bench.plane.region is before


async def test_a_read_that_the_journal_does_not_know_counts_in_a_dry_run(bench: Bench) -> None:
    """Its scope would be over by now but for that read, of which only the book of reads knows."""
    await bench.create("web")
    await bench.read("web")
    await bench.post("/v1/clock/advance", {"seconds": 3_600})
    bench.plane.read_by("web")
    bench.plane.clock.move_to(bench.plane.now() + timedelta(hours=23, seconds=1))
    told = (await bench.client.post("/v1/vms/restart?dry_run=true", json={"names": ["web"]})).json()
    done = await bench.post("/v1/vms/restart", {"names": ["web"]}, 202)
    assert told["message"] == done["message"]
    assert told["message"].startswith("1 event scheduled")
