"""Sends figures and spans to a collector, until the server ends. The library's exporter speaks HTTP and protobuf.

A collector that is away or slow costs a line in the log for each try, and nobody waits for it: figures are sent from
one thread of its own, spans from the library's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from forewarn import __version__
from forewarn.server.otlp.figures import metrics_data
from forewarn.server.otlp.spans import SpanTeller
from forewarn.web.signals import request_log

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

_log = logging.getLogger(__name__)
_TRY_SECONDS = 5.0  # ours: one export with its repetitions; the next one tells the same and more
_NANOSECONDS = 1_000_000_000  # of a second: OTLP counts in them
Look = Callable[[], Awaitable["list[Family] | None"]]


class OtlpSender:
    """One server's. ``look`` gives its figures, or None while it starts."""

    def __init__(
        self, url: str, look: Look, wall: Callable[[], datetime], *, node: str, every: timedelta, spans: bool
    ) -> None:
        self._look, self._wall, self._every = look, wall, every
        about = {"service.name": "forewarn", "service.version": __version__, "service.instance.id": node}
        self._resource = Resource.create(about)
        self._since = self._now()
        self._thread = ThreadPoolExecutor(1, "otlp")
        self._figures = OTLPMetricExporter(f"{url}/v1/metrics", timeout=_TRY_SECONDS)
        self._traces: TracerProvider | None = None
        if spans:
            exporter = OTLPSpanExporter(f"{url}/v1/traces", timeout=_TRY_SECONDS)
            self._traces = TracerProvider(resource=self._resource, shutdown_on_exit=False)
            self._traces.add_span_processor(BatchSpanProcessor(exporter))
            self._teller = SpanTeller(self._traces)
            request_log.hear(self._teller)

    async def send_on(self) -> None:
        """Figures, now and again."""
        while True:
            await asyncio.sleep(self._every.total_seconds())
            await self.send()

    async def send(self) -> None:
        """Figures as they are now. What the collector does not take is logged by the library."""
        try:
            families = await self._look()
            if families is not None:
                data = metrics_data(families, self._resource, self._since, self._now())
                await asyncio.get_running_loop().run_in_executor(self._thread, self._figures.export, data)
        except Exception:
            _log.exception("The collector was told no figures this time.")  # the server goes on, or goes on ending

    async def close(self) -> None:
        """The last figures and what waits of spans still go out, where the collector takes them at once."""
        await self.send()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._shut)
        self._thread.shutdown(wait=False)

    def _shut(self) -> None:
        if self._traces is not None:
            request_log.hear_no_more(self._teller)
            self._traces.shutdown()
        self._figures.shutdown()

    def _now(self) -> int:
        return int(self._wall().timestamp() * _NANOSECONDS)
