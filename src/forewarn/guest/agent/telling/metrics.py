"""The agent's metrics in Prometheus' format. Labels have fixed values, so the number of series is bounded.

A value that is not in the lists below is counted as ``other``: a document full of odd types, or a step with an odd
name, cannot flood a monitoring system with series (label cardinality).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from forewarn import __version__
from forewarn.guest.agent.deciding.state import StepOutcome
from forewarn.guest.agent.steps import KINDS
from forewarn.guest.agent.values import Verdict
from forewarn.guest.system.parts import Threads
from forewarn.terms import EventStatus, EventType, ScheduledEvent

OTHER = "other"
_TYPES = tuple(each.value for each in EventType)
_STATUSES = tuple(each.value for each in EventStatus)

READS = ("good", "empty", "fault")
STEP_OUTCOMES = (*(each.value for each in StepOutcome), "undone", "undo_failed")
APPROVALS = ("sent", "confirmed", "refused", "fault")
BARRIERS = ("all_ready", "patience_over", "told", "heard", "rejected")
TOLD = ("sent", "failed", "dropped")


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One metric: its name, what it is, and the words that each of its labels may have. Known by identity."""

    name: str
    kind: str  # counter or gauge
    help: str
    labels: Mapping[str, tuple[str, ...]]


def _series(name: str, kind: str, text: str, /, **labels: Iterable[str]) -> Series:
    return Series(f"forewarn_agent_{name}", kind, text, {key: tuple(words) for key, words in labels.items()})


_READS = _series("reads_total", "counter", "Reads of the document.", outcome=READS)
_SEEN = _series("events_seen_total", "counter", "Events of this VM that appeared.", type=_TYPES)
_EVENTS = _series("events", "gauge", "Events of this VM in the document.", type=_TYPES, status=_STATUSES)
_INCARNATION = _series("document_incarnation", "gauge", "Incarnation of the last document.")
_DECISIONS = _series("decisions_total", "counter", "Decisions of the policy.", verdict=(each.value for each in Verdict))
_STEPS = _series("steps_total", "counter", "Ends of steps.", kind=KINDS, outcome=STEP_OUTCOMES)
_STEP_SECONDS = _series("step_seconds_total", "counter", "Time spent in steps.", kind=KINDS)
_APPROVALS = _series("approvals_total", "counter", "Approvals by what became of them.", outcome=APPROVALS)
_BARRIERS = _series("barrier_total", "counter", "What happened at the barrier.", outcome=BARRIERS)
_TOLD = _series("notifications_total", "counter", "Notifications.", kind=("webhook", "apprise"), outcome=TOLD)
SERIES = (
    _READS,
    _SEEN,
    _EVENTS,
    _INCARNATION,
    _DECISIONS,
    _STEPS,
    _STEP_SECONDS,
    _APPROVALS,
    _BARRIERS,
    _TOLD,
)

Key = tuple[Series, tuple[str, ...]]


class Metrics:
    """Counters and gauges. Every method may be called from any thread."""

    def __init__(self, threads: Threads) -> None:
        self._lock = threads.lock()
        self._values: dict[Key, float] = {}
        self._measured: list[tuple[Series, Callable[[], float]]] = []

    def read(self, outcome: str) -> None:
        """A read of the document: good, empty, or a fault."""
        self._add(_READS, outcome)

    def appeared(self, event: ScheduledEvent) -> None:
        self._add(_SEEN, event.type)

    def document(self, incarnation: int, mine: Iterable[ScheduledEvent]) -> None:
        """What the document shows now."""
        with self._lock:
            self._values = {key: value for key, value in self._values.items() if key[0] is not _EVENTS}
            self._values[_INCARNATION, ()] = incarnation
            for event in mine:
                key = _key(_EVENTS, (event.type, event.status))
                self._values[key] = self._values.get(key, 0) + 1

    def decided(self, verdict: str) -> None:
        self._add(_DECISIONS, verdict)

    def step(self, kind: str, outcome: str, seconds: float) -> None:
        """The end of one run of a step or of its reverse."""
        self._add(_STEPS, kind, outcome)
        self._add(_STEP_SECONDS, kind, amount=max(0.0, seconds))

    def approval(self, outcome: str) -> None:
        self._add(_APPROVALS, outcome)

    def barrier(self, outcome: str) -> None:
        self._add(_BARRIERS, outcome)

    def told(self, kind: str, outcome: str) -> None:
        """A notification that was sent, given up, or dropped because too many were waiting."""
        self._add(_TOLD, kind, outcome)

    def measure(self, name: str, text: str, value: Callable[[], float]) -> None:
        """A gauge whose value is computed for each scrape."""
        with self._lock:
            self._measured.append((_series(name, "gauge", text), value))

    def value(self, name: str, *labels: str) -> float:
        """One number, by the name of its series without our prefix."""
        series = next(each for each in SERIES if each.name == f"forewarn_agent_{name}")
        with self._lock:
            return self._values.get(_key(series, labels), 0.0)

    def text(self) -> str:
        """Everything, in the text format of Prometheus."""
        with self._lock:
            values, measured = dict(self._values), list(self._measured)
        return "".join(f"{line}\n" for line in _lines(values, measured))

    def _add(self, series: Series, *labels: str, amount: float = 1.0) -> None:
        key = _key(series, labels)
        with self._lock:
            self._values[key] = self._values.get(key, 0.0) + amount


def _key(series: Series, labels: Iterable[str]) -> Key:
    known = zip(labels, series.labels.values(), strict=True)
    return series, tuple(label if label in words else OTHER for label, words in known)


def _lines(values: Mapping[Key, float], measured: Iterable[tuple[Series, Callable[[], float]]]) -> Iterator[str]:
    yield from _head(_series("info", "gauge", "The agent that answers."))
    yield f'forewarn_agent_info{{version="{__version__}"}} 1'
    for series in SERIES:
        yield from _head(series)
        for (each, labels), value in sorted(values.items(), key=lambda item: item[0][1]):
            if each is series:
                yield f"{series.name}{_labels(series, labels)} {_number(value)}"
    for series, look in measured:
        yield from _head(series)
        yield f"{series.name} {_number(look())}"


def _head(series: Series) -> Iterator[str]:
    yield f"# HELP {series.name} {series.help}"
    yield f"# TYPE {series.name} {series.kind}"


def _labels(series: Series, words: tuple[str, ...]) -> str:
    pairs = ",".join(f'{label}="{word}"' for label, word in zip(series.labels, words, strict=True))
    return f"{{{pairs}}}" if pairs else ""


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(value)
