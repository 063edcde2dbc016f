"""The families of ``web.signals.figures`` as OpenTelemetry's exporter takes them.

Its own instruments would count everything a second time, on the way of every GET; what is exported is what the page
``/metrics`` shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from forewarn import __version__

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

SCOPE = InstrumentationScope("forewarn", __version__)


def metrics_data(families: Iterable[Family], resource: Resource, since: int, now: int) -> MetricsData:
    """All of them. Counts run from ``since``, the start of this server; instants are nanoseconds of Unix time."""
    metrics = [metric for family in families for metric in _metric(family, since, now)]
    told = ScopeMetrics(scope=SCOPE, metrics=metrics, schema_url="")
    return MetricsData(resource_metrics=[ResourceMetrics(resource=resource, scope_metrics=[told], schema_url="")])


def _metric(family: Family, since: int, now: int) -> Iterator[Metric]:
    """One, under the name that it has on the page without the endings that its kind gives it there."""
    if family.type == "histogram":
        data = Histogram([_spread(family, since, now)], AggregationTemporality.CUMULATIVE)
        yield Metric(family.name, family.documentation, "", data)
        return
    grows = family.type == "counter"
    wanted = f"{family.name}_total" if grows else family.name if family.type == "gauge" else f"{family.name}_info"
    points = [
        NumberDataPoint(dict(sample.labels), since, now, sample.value)
        for sample in family.samples
        if sample.name == wanted
    ]
    if grows:
        yield Metric(family.name, family.documentation, "", Sum(points, AggregationTemporality.CUMULATIVE, True))
    elif points:
        yield Metric(wanted, family.documentation, "", Gauge(points))


def _spread(family: Family, since: int, now: int) -> HistogramDataPoint:
    """Counts for each bucket alone, where the page has them summed up; ours have no labels."""
    within: dict[float, int] = {}
    total = 0.0
    for sample in family.samples:
        if sample.name.endswith("_bucket"):
            within[float(sample.labels["le"])] = int(sample.value)
        elif sample.name.endswith("_sum"):
            total = sample.value
    bounds = sorted(within)
    summed = [within[bound] for bound in bounds]
    alone = [number - before for number, before in zip(summed, [0, *summed], strict=False)]
    finite = [bound for bound in bounds if bound != float("inf")]
    return HistogramDataPoint({}, since, now, summed[-1], total, alone, finite, None, None)  # least and most: not kept
