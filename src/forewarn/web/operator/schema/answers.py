"""What the operator face answers about itself: the service, its settings, clock, fault rules and journal.

The things of the region (VMs, hosts, events, …) are in ``fleet_answers``, what callers send is in ``requests``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

ErrorKind = Literal[
    "invalid", "not_found", "conflict", "unauthorized", "forbidden", "uncertain", "unavailable", "internal"
]


@dataclass(frozen=True, slots=True)
class SettingView:
    """One setting, what it is now, and where that came from."""

    name: str
    value: str
    source: str  # flag, environment, file, profile NAME or default
    help: str


class Answer(BaseModel):
    """What every answer shares: it is a value, and values do not change."""

    model_config = ConfigDict(frozen=True)


class CommandAnswer(Answer):
    """What every answer to a request shares that becomes a command of the region."""

    dry_run: bool = Field(
        default=False,
        description="True where this only tells what the request would do: nothing has changed, and what would be new "
        "has no id.",
        examples=[False],
    )


class ErrorDetail(Answer):
    kind: ErrorKind = Field(description="What kind of no it is; one for each status code.", examples=["not_found"])
    message: str = Field(
        description="A sentence that a person can act on.", examples=["There is no VM named 'web-9' in this region."]
    )
    request_id: str = Field(
        description="The name of this request in the log and in the journal.",
        examples=["0c5f4f61-6a8f-4d6a-9b7e-3f1f6f0f9f10"],
    )


class ErrorAnswer(Answer):
    """The envelope of every answer that is not a success. Nothing has changed then, except perhaps by `uncertain`."""

    error: ErrorDetail


class ClockAnswer(Answer):
    """The clock of the region, which drives every timed rule."""

    now: datetime = Field(description="The time of the region.", examples=["2026-01-01T12:00:00Z"])
    kind: str = Field(
        description="`real`, `fast` (N times faster) or `virtual` (stands still until it is moved).",
        examples=["virtual"],
    )
    speed: float = Field(description="Region seconds in one real second; 0 stands still.", examples=[0.0])
    next_deadline: datetime | None = Field(
        description="When something is next due by itself; null if nothing is.", examples=["2026-01-01T12:15:00Z"]
    )


class ChangeHint(Answer):
    """That something has changed, and what to look at again; never what it has become."""

    seq: int = Field(description="The number of the last record in the journal.", examples=[57])
    at: datetime | None = Field(
        description="The instant of that record, in the time of the region; null before the first.",
        examples=["2026-01-01T12:00:00Z"],
    )
    clock: ClockAnswer = Field(description="The clock of the region.")
    subjects: list[str] = Field(
        description="What has changed, at most 50: `vm/NAME`, `availability-set/NAME`, `cloud-service/NAME`, "
        "`scale-set/NAME`, `placement-group/NAME`, `host/NAME`, `event/ID`, `campaign/ID`, `clock`, `faults`. Names "
        "are in lower case.",
        examples=[["vm/web-0", "availability-set/front"]],
    )
    more: bool = Field(description="Whether others have changed too, which may be any.", examples=[False])
    faults: int = Field(description="How many fault rules are in force at this node.", examples=[0])
    events: int = Field(description="How many events have not ended, told of or not.", examples=[4])
    portal: str = Field(
        description="A digest of the portal's files at this node; empty where it has no portal.", examples=["9f86d081"]
    )


class Happened(Answer):
    """What happened at one instant, while the clock was turned."""

    at: datetime = Field(description="When, in the time of the region.", examples=["2026-01-01T12:15:00Z"])
    text: str = Field(description="What, counted.", examples=["1 Reboot event started"])
    about: list[str] = Field(
        description="To whom, as the journal names subjects; the first few.", examples=[["vm/web-0"]]
    )
    about_total: int = Field(description="How many it was about in all.", examples=[1])


class ClockTurned(ClockAnswer):
    """The clock after a turn, and what happened on the way."""

    happened: list[Happened] = Field(description="What happened on the way: the first 50 lines and the last 50.")
    happened_left_out: int = Field(description="How many between these are not listed.", examples=[0])


class ClockTurnedToNext(ClockTurned):
    moved: bool = Field(description="False where nothing was due, so that there was nowhere to go.", examples=[True])


class PingAnswer(Answer):
    """That the service is there, and which one it is."""

    name: Literal["forewarn"] = Field(default="forewarn", description="Always `forewarn`.", examples=["forewarn"])
    version: str = Field(description="The version of the program.", examples=["0.2.0"])
    region: str = Field(description="The name that the region was given with --name, or nothing.", examples=["shop"])
    data: str = Field(
        description="Where the region is kept: a directory, a database, or `in memory`.",
        examples=["/var/lib/forewarn"],
    )
    now: datetime = Field(description="The time of the region.", examples=["2026-01-01T12:00:00Z"])
    clock: ClockAnswer = Field(description="The clock of the region.")
    vms: int = Field(description="How many VMs there are.", examples=[12])
    seq: int = Field(description="The number of the last record in the journal.", examples=[57])
    metadata: str = Field(
        description="Where the metadata face of this node listens; empty where it has none.",
        examples=["http://127.0.0.1:16925"],
    )


class SettingAnswer(Answer):
    name: str = Field(description="As it is written in the region file.", examples=["vms_per_host"])
    value: str = Field(description="What it is now. A secret is never shown.", examples=["20"])
    source: str = Field(
        description="Where the value came from: flag, environment, file, a profile or default.", examples=["default"]
    )
    help: str = Field(description="What the setting does.", examples=["How many VMs fit on one host."])


class FaultAnswer(Answer):
    """One fault rule. Rules live in memory and end with the server."""

    id: str = Field(description="The name of the rule, for clearing it.", examples=["1"])
    kind: str = Field(description="What becomes of an answer.", examples=["throttled"])
    vms: list[str] = Field(description="Whose answers; an empty list means everybody's.", examples=[["web-0"]])
    times: int | None = Field(description="How many answers in all; null means no limit.", examples=[3])
    share: float | None = Field(description="Which share of the answers; null means every one.", examples=[0.25])
    delay_seconds: float = Field(description="How long an answer is held back.", examples=[0.0])
    answered: int = Field(description="How many answers the rule has changed so far.", examples=[1])


class FaultsAnswer(Answer):
    faults: list[FaultAnswer] = Field(description="The rules in force, oldest first.")


class FaultsCleared(Answer):
    cleared: int = Field(description="How many rules were taken back.", examples=[1])


class RecordAnswer(Answer):
    """One fact in its place in the journal."""

    seq: int = Field(description="Its number. Numbers start at 1 and have no gaps.", examples=[57])
    at: datetime = Field(description="When it happened, in the time of the region.", examples=["2026-01-01T12:00:00Z"])
    fact: str = Field(description="What happened.", examples=["EventApproved"])
    subject: str = Field(description="What it is about.", examples=["4CAEA225-A741-474D-A72E-428C86FCD853"])
    command: str = Field(description="The kind of command that it followed from.", examples=["Approve"])
    door: str = Field(description="The way in by which the command came.", examples=["vm"])
    who: str = Field(description="Who asked: the VM, or what the caller says of itself.", examples=["web-0"])
    request_id: str = Field(description="The request that it belongs to.", examples=["0c5f4f61-6a8f-4d6a-9b7e"])
    body: dict[str, Any] = Field(
        description="The fact's own fields, as the journal keeps them.",
        examples=[{"event_id": "4CAEA225-A741-474D-A72E-428C86FCD853", "by": "web-0"}],
    )


class RecordsAnswer(Answer):
    records: list[RecordAnswer] = Field(description="At most as many as asked for, in order.")
    head: int = Field(
        description="The number of the journal's last record: all is read when you have that one.", examples=[57]
    )


class ActivityAnswer(Answer):
    """One request and what came of it: the records that the journal has of it, told in a line."""

    seq: int = Field(description="The number of its last record: go on after this one.", examples=[57])
    first_seq: int = Field(description="The number of its first record.", examples=[55])
    at: datetime = Field(description="When, in the time of the region.", examples=["2026-01-01T12:00:00Z"])
    door: str = Field(
        description="The way in: `portal`, `operator`, `resource-manager`, `vm`; `clock` and `driver` are the region's "
        "own doing.",
        examples=["resource-manager"],
    )
    until: datetime = Field(
        description="When the last of them was, where several are told as one; else the same.",
        examples=["2026-01-01T12:00:00Z"],
    )
    times: int = Field(description="How many requests are told here: 1, unless they were folded.", examples=[1])
    who: str = Field(description="Who asked: the VM, or what the caller says of itself.", examples=["az vm restart"])
    request_id: str = Field(description="The request, as its answer named it.", examples=["0c5f4f61-6a8f-4d6a-9b7e"])
    command: str = Field(description="The kind of command, as the journal calls it.", examples=["RestartVms"])
    text: str = Field(description="The same in words.", examples=["restart VMs"])
    about: list[str] = Field(
        description="What it was about, as the journal names subjects; the first few.", examples=[["vm/web-0"]]
    )
    about_total: int = Field(description="How many things it was about in all.", examples=[1])
    outcome: str = Field(
        description="What came of it.", examples=["1 Reboot event scheduled, not before 2026-01-01T12:15:00Z"]
    )


class ActivitiesAnswer(Answer):
    activity: list[ActivityAnswer] = Field(description="Oldest first.")
    next: int | None = Field(
        description="Pass this as `after` to go on; null where nothing is left. A page may be short.", examples=[57]
    )
    head: int = Field(
        description="The number of the journal's last record: all is told when you have that one.", examples=[57]
    )


class VerifyAnswer(Answer):
    faults: list[str] = Field(description="A sentence for each thing that is wrong; empty is good.", examples=[[]])
    records: int = Field(description="How many records were read.", examples=[57])
