"""What the operator API answers about the clock, the past and what is ahead; compared as ``shapes`` are."""

from __future__ import annotations

from typing import Any, TypedDict


class Clock(TypedDict):
    now: str
    kind: str
    speed: float
    next_deadline: str | None


class Happened(TypedDict):
    at: str
    text: str
    about: list[str]
    about_total: int


class Turned(Clock):
    """The clock after a turn."""

    happened: list[Happened]
    happened_left_out: int


class ForecastFact(TypedDict):
    at: str
    fact: str
    text: str
    event: str | None
    type: str | None
    announced: bool | None
    scope: str | None
    vms: list[str]
    vms_total: int
    host: str | None
    campaign: str | None
    estimated: bool


class Forecast(TypedDict):
    """What will happen if nobody acts."""

    now: str
    until: str
    seq: int
    facts: list[ForecastFact]
    cut_at: str | None


class Record(TypedDict):
    """One fact of the journal. ``body`` is the fact itself, as it is kept."""

    seq: int
    at: str
    fact: str
    subject: str
    command: str
    door: str
    who: str
    request_id: str
    body: dict[str, Any]


class Activity(TypedDict):
    """One request: who asked for what, and what came of it."""

    seq: int
    first_seq: int
    at: str
    until: str
    times: int
    door: str
    who: str
    request_id: str
    command: str
    text: str
    about: list[str]
    about_total: int
    outcome: str


class Activities(TypedDict):
    activity: list[Activity]
    next: int | None
    head: int


class Verdict(TypedDict):
    faults: list[str]
    records: int
