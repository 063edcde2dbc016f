"""What relays ask of a node: news of their VMs, and what these do. A relay's token leads no further than here."""

from __future__ import annotations

from typing import TypeAlias

from fastapi import Request
from pydantic import Field

from forewarn.core.commands import Approve
from forewarn.core.looking.lookup import vm_named
from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import Vm, fold
from forewarn.plane.plane import Plane
from forewarn.plane.ports import Origin
from forewarn.web.access import EVERYTHING, Grant
from forewarn.web.operator.desk import Desk, TheDesk, ThePlane
from forewarn.web.operator.live.relays import RelayedVms
from forewarn.web.operator.routing import routes_below
from forewarn.web.operator.schema.answers import Answer
from forewarn.web.operator.schema.requests import Body, Instant, Name
from forewarn.web.operator.stream import EventStream, stream_responses

router = routes_below("/v1/relays", "relays")
_MOST_READS = 2_000  # ours: what a body may have of fields (MOST_FIELDS of the gate); a relay sends more in portions
_MOST_EVENTS = 1_000  # ours: an approval of 64 KiB, the most that the metadata face takes, names fewer
_EXAMPLE = '{"seq":57,"mark":"5f3a9c1e20b7","elapsed":10.5,"now":"2026-01-01T12:00:00Z","whole":true}\n'
_OTHER_HISTORY = (
    "The journal of this region does not hold the record {0} that the relay has seen: it was set back to an older "
    "state, or it is another region. Start the relay anew."
)

RequestId: TypeAlias = str


class PlaceBody(Body):
    """In which history the relay is."""

    after: int = Field(0, ge=0, lt=2**63, description="The last record that it knows of.", examples=[57])
    mark: str = Field("", max_length=64, description="Which one that is, as it was told.", examples=["5f3a9c1e20b7"])


class StreamBody(PlaceBody):
    vms: list[Name] = Field([], description="The VMs that it serves.", max_length=1000, examples=[["web-0"]])
    host: Name | None = Field(None, description="It serves the VMs on this host.", examples=["host-3"])


class FirstReadBody(PlaceBody):
    vm: Name = Field(description="The VM that has read.", examples=["web-0"])
    request_id: RequestId = Field("", max_length=64, description="Of its request.", examples=["5f3a9c1e"])


class RelayedApprovalBody(FirstReadBody):
    events: list[str] = Field(description="What it approves.", max_length=_MOST_EVENTS, examples=[["C7061BAC"]])
    ignore_unknown: bool = Field(False, description="An unknown event is no mistake.", examples=[False])


class ReadsBody(Body):
    reads: dict[str, Instant] = Field(
        description="When each VM last read.", max_length=_MOST_READS, examples=[{"web-0": "2026-01-01T12:00:00Z"}]
    )


class RelayedAnswer(Answer):
    seq: int = Field(description="The last record of the journal by now.", examples=[57])
    refused: str = Field("", description="Why it was refused, for the VM; empty where it was not.", examples=[""])


class NewsStream(EventStream):
    media_type = "application/x-ndjson"


@router.post(
    "/stream",
    summary="Follow what some VMs read",
    status_code=200,
    response_class=NewsStream,
    responses=stream_responses(_EXAMPLE, "Bulletins, one JSON object a line."),
)
async def stream(body: StreamBody, request: Request, desk: TheDesk, plane: ThePlane) -> NewsStream:
    """The first line has all that a relay needs to answer for these VMs, later ones what has changed. It never ends by
    itself within an hour."""
    grant = _grant_of(request)
    asked = RelayedVms(frozenset(fold(name) for name in body.vms), fold(body.host or ""))
    wanted = asked.within(_granted(grant))
    if not wanted.keys and not wanted.host:
        raise Refused(Hint.INVALID, "Say which VMs the relay serves: vms, or host.")
    await _check_history(body, desk, plane)
    return NewsStream(desk.newsroom.follow(wanted, desk.streams, lambda: _holds(desk, grant)))


async def _check_history(body: PlaceBody, desk: Desk, plane: Plane) -> None:
    """Refuse a relay that knows a record which this journal has not, after a look at the store.

    A relay that knows no record may be one that was killed: its writes are in the store, and known here after the look.
    """
    if not body.after or body.after > plane.seq:
        await plane.refresh()
    if body.after > plane.seq or (body.after and await desk.newsroom.mark(body.after) != body.mark):
        raise Refused(Hint.CONFLICT, _OTHER_HISTORY.format(body.after))


@router.post("/read", summary="A first read of a relay's VM")
async def read(body: FirstReadBody, request: Request, desk: TheDesk, plane: ThePlane) -> RelayedAnswer:
    """Enables its scope: from here on its events wait."""
    await _check_history(body, desk, plane)
    vm = _vm(body.vm, request, plane)
    await plane.enable(vm, _plain(body.request_id))
    desk.newsroom.touch(vm)
    return RelayedAnswer(seq=plane.seq, refused="")


@router.post("/approve", summary="An approval of a relay's VM")
async def approve(body: RelayedApprovalBody, request: Request, desk: TheDesk, plane: ThePlane) -> RelayedAnswer:
    """As if the VM had asked this node. What the region refuses is told in `refused`, for the VM to read."""
    await _check_history(body, desk, plane)
    vm = _vm(body.vm, request, plane)
    command = Approve(tuple(body.events), vm.resource_name, vm.scope, ignore_unknown=body.ignore_unknown)
    refusal = ""
    try:
        await plane.submit(command, Origin("vm", vm.name, _plain(body.request_id)))
    except Refused as refused:
        refusal = refused.message
    desk.newsroom.touch(vm)
    return RelayedAnswer(seq=plane.seq, refused=refusal)


@router.post("/reads", summary="Reads of a relay's VMs")
async def reads(body: ReadsBody, request: Request, plane: ThePlane) -> RelayedAnswer:
    """Signs of life. Nothing of the future is believed, and VMs that are not the relay's are left out."""
    granted, region, now = _granted(_grant_of(request)), plane.region, plane.now()
    for name, at in body.reads.items():
        vm = region.vms.get(fold(name))
        if vm is None or not granted.has(region, vm):
            continue
        known = plane.reads.last.get(vm.name)
        if known is None or known < at:
            plane.reads.last[vm.name] = min(at, now)
    return RelayedAnswer(seq=plane.seq, refused="")


def _grant_of(request: Request) -> Grant:
    found: Grant = getattr(request.state, "grant", EVERYTHING)
    return found


def _granted(grant: Grant) -> RelayedVms:
    """The VMs that a relay's token names. Tokens of other roles name none, and may ask for any VM."""
    return RelayedVms(frozenset(grant.vms), grant.host)


def _holds(desk: Desk, grant: Grant) -> bool:
    """Whether the token with which a stream began has not been revoked."""
    return desk.tokens.still(grant.token_id) is not None


def _vm(name: str, request: Request, plane: Plane) -> Vm:
    vm = vm_named(plane.region, name)
    if not _granted(_grant_of(request)).has(plane.region, vm):
        raise Refused(Hint.NOT_FOUND, f"This token is not for the VM '{vm.name}'.")
    return vm


def _plain(request_id: str) -> str:
    """A relay's request id, cut down to letters, digits and hyphens: it will stand in the journal."""
    return "".join(letter for letter in request_id if letter.isascii() and (letter.isalnum() or letter == "-"))
