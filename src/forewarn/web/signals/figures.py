"""A server's metrics as the families of prometheus_client, which writes them as OpenMetrics.

Labels have values of fixed lists, so the number of series is bounded whatever the region holds and whatever is asked.
Loaded with the first page: most servers are never asked.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from forewarn import __version__
from forewarn.core.machines.values import ErrandKind
from forewarn.core.phases import ENDED, Phase
from forewarn.core.region import CampaignState, HostHealth
from forewarn.plane.plane import Plane
from forewarn.plane.tally.spread import Spread
from forewarn.terms import EventType
from forewarn.web.answers import Answers
from forewarn.web.signals.survey import Survey

_OPEN = tuple(phase for phase in Phase if phase not in ENDED)
CHANNEL_KINDS = ("webhook", "apprise")
CHANNEL_ENDS = ("sent", "failed", "dropped")
_READ_AS = {200: "document", 304: "unchanged"}


@dataclass(frozen=True)
class FiguresOf:
    """What the figures are of."""

    plane: Plane
    answers: Answers
    connections: Mapping[str, int]  # by face
    waiting: int  # GETs that are held
    reasons: Sequence[str]  # why requests should go elsewhere
    store: str  # the kind of the journal
    notified: Mapping[tuple[str, str], int]  # messages to people, by kind of channel and outcome
    readers: tuple[int, int] = (0, 0)  # how many answer VMs, and how many have ended that were not to
    relays: int = 0  # streams of relays


def families(server: FiguresOf, survey: Survey) -> Iterator[Metric]:
    """All of them, in any thread: what the loop changes meanwhile is copied first. docs/signals.md lists them."""
    yield from _of_the_process(server)
    yield from _of_answers(server)
    yield from _of_writes(server.plane)
    yield from _of_the_journal(server.plane)
    yield from _of_the_region(server.plane, survey)
    yield from _of_machines(server.plane, survey)


def _of_the_process(server: FiguresOf) -> Iterator[Metric]:
    about = {"version": __version__, "python": platform.python_version(), "store": server.store}
    yield InfoMetricFamily("forewarn_build", "The program, and where it keeps the region.", value=about)
    yield _gauge("ready", "1 where load balancers may send requests here.", not server.reasons)
    yield _gauge("draining", "1 while this node is about to end.", server.plane.standing.draining)
    yield _gauge("leads", "1 on the node that lets time pass for the region.", server.plane.standing.leads)
    yield _gauge("region_time_seconds", "The region's clock, as Unix time.", server.plane.now().timestamp())


def _of_answers(server: FiguresOf) -> Iterator[Metric]:
    reads = [((_READ_AS[status],), number) for status, number in server.answers.reads().items()]
    yield _counter("reads", "Documents that VMs read; unchanged is a 304.", ("result",), reads)
    told = [((face, method, str(status)), number) for face, method, status, number in server.answers.told()]
    yield _counter("answers", "HTTP answers.", ("face", "method", "status"), told)
    yield _gauge("waiting_reads", "GETs that are held until there is news.", server.waiting)
    connections = [((face,), number) for face, number in sorted(server.connections.items())]
    yield _gauges("connections", "Open connections.", ("face",), connections)
    answering, ended = server.readers
    yield _gauge("readers", "Processes that answer at the metadata port beside the server.", answering)
    yield _counter("readers_ended", "Of these, those that ended and were not to.", (), [((), ended)])
    yield _gauge("relays", "Relays that follow this node: each has one stream.", server.relays)
    notified = [((kind, end), server.notified.get((kind, end), 0)) for kind in CHANNEL_KINDS for end in CHANNEL_ENDS]
    yield _counter("notifications", "Messages to people.", ("kind", "outcome"), notified)


def _of_writes(plane: Plane) -> Iterator[Metric]:
    tally = plane.tally
    commands = ((key, number) for key, number in sorted(dict(tally.commands).items()))
    text = "Commands, by who asked and what came of them."
    yield _counter("commands", text, ("door", "outcome"), commands)
    yield _histogram("write_seconds", "From the asking of a command to its answer.", tally.write_seconds)
    yield _histogram("commit_seconds", "Of transactions: the head taken, stepped, on disk.", tally.commit_seconds)
    yield _counter("commits_failed", "Transactions that wrote nothing.", (), [((), tally.commits_failed)])
    facts = (((kind,), number) for kind, number in sorted(dict(tally.facts).items()))
    yield _counter("facts", "Facts that this node has shown, whoever wrote them.", ("fact",), facts)


def _of_the_journal(plane: Plane) -> Iterator[Metric]:
    yield _gauge("journal_head", "The last record that this node knows.", plane.seq)
    yield _gauge(
        "journal_lag_records",
        "Records that the store has and this node does not.",
        max(0, plane.standing.head - plane.seq),
    )
    yield _gauge("journal_silence_seconds", "How long ago the store last answered; 0 alone.", plane.standing.silence)
    kept = plane.snapshots
    yield _gauge("snapshot_lag_records", "Records that a start would have to read.", plane.seq - kept.seq)
    if kept.age_seconds is not None:
        yield _gauge("snapshot_age_seconds", "Since this node last kept a snapshot.", kept.age_seconds)


def _of_the_region(plane: Plane, survey: Survey) -> Iterator[Metric]:
    yield _gauge("vms", "VMs of the region.", len(plane.region.vms))
    events = [((kind.value, phase.value), survey.events.get((kind, phase), 0)) for kind in EventType for phase in _OPEN]
    yield _gauges("events", "Open events that documents show.", ("type", "phase"), events)
    yield _gauge("events_overdue", "Of these, past their NotBefore by a minute and not started.", survey.overdue)
    missed = [((kind.value,), plane.tally.missed.get(kind, 0)) for kind in EventType]
    text = "Events that this node has seen start by their deadline, unapproved."
    yield _counter("deadlines_missed", text, ("type",), missed)
    yield _gauge("scopes_enabled", "Scopes whose VMs read.", survey.enabled)
    yield _gauge("scopes_unread", "Of these, unread for long.", survey.unread)
    campaigns = [((state.value,), survey.campaigns.get(state, 0)) for state in CampaignState]
    yield _gauges("campaigns", "Campaigns.", ("state",), campaigns)
    yield _gauge("campaigns_still", "Running campaigns that nothing has moved for half an hour.", survey.still)


def _of_machines(plane: Plane, survey: Survey) -> Iterator[Metric]:
    hosts = [((health.value,), survey.hosts.get(health, 0)) for health in HostHealth]
    yield _gauges("machine_hosts", "Hosts of real machines.", ("health",), hosts)
    errands = [((kind.value,), survey.errands.get(kind, 0)) for kind in ErrandKind]
    yield _gauges("errands_open", "What is wanted of real machines and not done yet.", ("kind",), errands)
    given_up = plane.tally.facts.get("ErrandGivenUp", 0)
    yield _counter("errands_given_up", "Errands that were given up, as this node saw it.", (), [((), given_up)])


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"forewarn_{name}", text, value=float(value))


_Samples = Iterable[tuple[tuple[str, ...], float]]


def _labelled(
    family: type[GaugeMetricFamily] | type[CounterMetricFamily],
    name: str,
    text: str,
    labels: tuple[str, ...],
    samples: _Samples,
) -> Metric:
    made = family(f"forewarn_{name}", text, labels=labels)
    for values, number in samples:
        made.add_metric(values, number)
    return made


_gauges = partial(_labelled, GaugeMetricFamily)
_counter = partial(_labelled, CounterMetricFamily)


def _histogram(name: str, text: str, spread: Spread) -> Metric:
    made = HistogramMetricFamily(f"forewarn_{name}", text)
    buckets = [("+Inf" if bound == float("inf") else str(bound), number) for bound, number in spread.cumulative()]
    made.add_metric([], buckets, spread.sum)
    return made
