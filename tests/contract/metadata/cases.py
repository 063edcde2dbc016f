"""What the metadata face promises a VM, whoever serves it: a node, or a relay on its news.

The oracle of each case is the protocol page, or the node's own face on the same region where bytes have to be equal.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from threading import Thread

from forewarn.core.commands import BindVm, CancelEvents, CreateVms, DeleteVms, Pulse
from forewarn.core.facts import EventApproved, ScopeEnabled
from forewarn.core.specs import Binding, ScopeKind, VmSpec
from forewarn.wire.versions import API_VERSIONS
from tests.contract.metadata.bench import FaceBench
from tests.e2e.metadata_region import Response, approval, get, path_of, request

Case = Callable[[FaceBench], None]
CASES: dict[str, Case] = {}
INSTANCE = "/metadata/instance?api-version=2021-02-01"
NO_SUCH_EVENT = "00000000-0000-0000-0000-000000000000"


def case(check: Case) -> Case:
    CASES[check.__name__] = check
    return check


@case
def the_first_read_enables_the_scope_and_is_in_the_journal_before_its_answer(bench: FaceBench) -> None:
    bench.create("web")
    answer = bench.get("web")
    enabled = [record for record in bench.do(lambda: bench.plane.journal.read(0, 1000)) if _enables(record.fact)]
    assert (answer.status, answer.incarnation(), json.loads(answer.body)["Events"]) == (200, 1, [])
    assert [(record.origin.door, record.origin.who) for record in enabled] == [("vm", "web")]
    assert enabled[0].origin.request_id == answer.fields["x-ms-request-id"]


@case
def first_reads_of_one_scope_at_the_same_moment_enable_it_once(bench: FaceBench) -> None:
    bench.submit(CreateVms(("web-0", "web-1"), VmSpec(kind=ScopeKind.AVAILABILITY_SET, set_name="front"), "seed"))
    answers: list[Response] = []
    readers = [Thread(target=lambda name=name: answers.append(bench.get(name))) for name in ("web-0", "web-1") * 8]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert [(answer.status, answer.incarnation()) for answer in answers] == [(200, 1)] * 16
    assert sum(_enables(record.fact) for record in bench.do(lambda: bench.plane.journal.read(0, 1000))) == 1


@case
def an_incarnation_has_the_bytes_that_the_node_itself_gives_in_every_version(bench: FaceBench) -> None:
    bench.create("web")
    bench.submit(CreateVms(("fe-0",), VmSpec(kind=ScopeKind.CLOUD_SERVICE, set_name="shop", role="FrontEnd"), "seed"))
    bench.submit(Pulse((("web", bench.do(bench.plane.now)), ("fe-0", bench.do(bench.plane.now)))))
    bench.restart("web")
    bench.restart("fe-0")
    for name in ("web", "fe-0"):
        for version in API_VERSIONS:
            wanted = bench.at_node().ask(get(name, version=version.date))
            found = bench.get(name, version=version.date)
            assert len(json.loads(found.body)["Events"]) == 1
            assert (found.status, found.body, found.fields["etag"]) == (200, wanted.body, wanted.fields["etag"])


@case
def what_a_vm_is_told_of_itself_is_what_the_node_tells(bench: FaceBench) -> None:
    bench.create("web", spec=VmSpec(size="Standard_D4s_v5", tags=(("owner", "anna"),)), binding=Binding("10.0.0.9"))
    asked = request("GET", f"/vm/web{INSTANCE}", "Metadata: true")
    assert bench.guest().ask(asked).body == bench.at_node().ask(asked).body
    assert json.loads(bench.guest().ask(asked).body)["compute"]["vmSize"] == "Standard_D4s_v5"


@case
def an_approval_is_in_the_journal_and_in_the_next_document_once_it_is_answered(bench: FaceBench) -> None:
    bench.create("web")
    guest = bench.guest()
    first = guest.ask(get("web")).incarnation()
    event_id = bench.restart("web")
    answer = bench.post("web", approval(event_id))
    document = guest.ask(get("web"))
    approved = [record for record in bench.do(lambda: bench.plane.journal.read(0, 1000)) if _approves(record.fact)]
    assert answer.status == 200
    assert [(record.origin.door, record.origin.who) for record in approved] == [("vm", "web")]
    assert approved[0].origin.request_id == answer.fields["x-ms-request-id"]
    assert [event["EventStatus"] for event in json.loads(document.body)["Events"]] == ["Started"]
    assert document.incarnation() == first + 2


@case
def a_refused_approval_says_what_the_node_says_and_changes_nothing(bench: FaceBench) -> None:
    bench.create("web")
    bench.get("web")
    head = bench.do(lambda: bench.plane.seq)
    refused = bench.post("web", approval(NO_SUCH_EVENT))
    wanted = bench.at_node().ask(_post("web", approval(NO_SUCH_EVENT)))
    assert (refused.status, refused.body) == (wanted.status, wanted.body) == (400, wanted.body)
    assert bench.do(lambda: bench.plane.seq) == head


@case
def a_held_get_is_answered_by_the_next_change_of_its_scope(bench: FaceBench) -> None:
    bench.create("web", "web-0")
    first = bench.get("web").incarnation()
    bench.get("web-0")
    guest = bench.guest()
    guest.send(get("web", f'If-None-Match: "{first}"', "Prefer: wait=100"))
    bench.until(lambda: bench.do(lambda: bench.face.waiting) == 1, "a held GET")
    bench.restart("web-0")
    assert bench.do(lambda: bench.face.waiting) == 1  # what happens to others is none of its business
    event_id = bench.restart("web")
    answer = guest.answer()
    assert [event["EventId"] for event in json.loads(answer.body)["Events"]] == [event_id]
    assert answer.incarnation() == first + 1
    waited = bench.guest().ask(get("web", f'If-None-Match: "{first + 1}"', "Prefer: wait=0"))
    assert (waited.status, waited.body) == (304, b"")


@case
def documents_never_go_back_while_events_come_and_go(bench: FaceBench) -> None:
    bench.create("web")
    guest = bench.guest()
    told = [guest.ask(get("web")).incarnation()]
    for number in range(4):
        event_id = bench.restart("web", seed=str(number))
        told += [guest.ask(get("web")).incarnation() for _ in range(3)]
        bench.submit(CancelEvents((event_id,), "operator"))
        told += [guest.ask(get("web")).incarnation() for _ in range(3)]
    assert told == sorted(told)
    assert told[-1] == bench.at_node().ask(get("web")).incarnation() > told[0]


@case
def a_vm_that_is_deleted_is_not_known_any_more_and_a_held_get_of_it_ends(bench: FaceBench) -> None:
    bench.create("web")
    first = bench.get("web").incarnation()
    guest = bench.guest()
    guest.send(get("web", f'If-None-Match: "{first}"', "Prefer: wait=100"))
    bench.until(lambda: bench.do(lambda: bench.face.waiting) == 1, "a held GET")
    bench.submit(DeleteVms(("web",), "seed"))
    assert guest.answer().status == 404
    assert bench.get("web").status == 404


@case
def a_vm_is_known_by_its_binding_from_when_it_has_one_until_it_has_none(bench: FaceBench) -> None:
    bench.create("web", "web-0")
    plain = request("GET", path_of(None), "Metadata: true")
    assert bench.guest(source="127.0.0.77").ask(plain).status == 404
    bench.submit(BindVm("web-0", Binding(address="127.0.0.77")))
    bound = bench.guest(source="127.0.0.77")
    assert bound.ask(plain).status == 200
    assert bound.ask(get("web")).status == 404  # no name in the path makes it another VM
    assert [scope for scope in ("vm/web", "vm/web-0") if _is_enabled(bench, scope)] == ["vm/web-0"]
    bench.submit(BindVm("web-0", Binding()))
    assert bench.guest(source="127.0.0.77").ask(plain).status == 404


@case
def a_scope_that_is_read_stays_enabled_and_one_that_is_not_goes_on_from_its_number(bench: FaceBench) -> None:
    bench.create("web")
    first = bench.get("web").incarnation()
    bench.advance(timedelta(hours=25))
    bench.until(lambda: not _is_enabled(bench, "vm/web"), "the end of its day")
    bench.until(lambda: bench.get("web").incarnation() > first, "a new enabling")
    assert _is_enabled(bench, "vm/web")


@case
def a_vm_that_is_somebody_elses_or_nobodys_is_not_found(bench: FaceBench) -> None:
    bench.create("web", *bench.strangers)
    assert [bench.get(name).status for name in ("nobody", *bench.strangers)] == [404] * (1 + len(bench.strangers))
    assert bench.get("web").status == 200


def _post(name: str, body: bytes) -> bytes:
    return request("POST", path_of(name), "Metadata: true", f"Content-Length: {len(body)}", body=body)


def _enables(fact: object) -> bool:
    return isinstance(fact, ScopeEnabled)


def _approves(fact: object) -> bool:
    return isinstance(fact, EventApproved)


def _is_enabled(bench: FaceBench, scope: str) -> bool:
    found = bench.do(lambda: bench.plane.region.scopes.get(scope))
    return found is not None and found.enabled_at is not None
