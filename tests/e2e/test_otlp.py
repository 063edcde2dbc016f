"""A server that tells a collector by OTLP: a real receiver on loopback decodes what comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.collecting import Collector, attributes, collecting
from tests.e2e.program import EVENTS, ServerProgram, ask, clean_environment
from tests.figures import figures
from tests.waiting import until

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def started(tmp_path: Path, collector: Collector, *words: str, **variables: str) -> Any:
    (tmp_path / "region.toml").write_text('[[vm]]\nname = "web"\n')
    options: list[str | Path] = ["--config", tmp_path / "region.toml", "--otlp", collector.url, "--otlp-every", "1s"]
    return ServerProgram.start(tmp_path / "data", *options, *words, env=clean_environment(**variables))


def test_the_collector_has_the_figures_of_the_page(tmp_path: Path) -> None:
    with collecting() as collector, started(tmp_path, collector) as server:
        for _ in range(7):
            assert ask(server.metadata, f"/vm/web{EVENTS}").status == 200
        ask(server.metadata, f"/vm/web{EVENTS}", {})  # a 400
        until(lambda: collector.heard and reads(collector) == 7, "the reads are told")
        page = figures(ask(server.control, "/metrics").body.decode())
        told = collector.figures()
        resource = collector.heard[-1][1].resource_metrics[0].resource

    assert attributes(resource)["service.name"] == "forewarn"
    names = {name.removesuffix("_total").removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
             for name, *_ in page}  # fmt: skip
    assert names == set(told)
    counted = {tuple(attributes(each).values()): value(each) for each in told["forewarn_answers"].sum.data_points}
    assert counted["metadata", "GET", "200"] == 7
    assert counted["metadata", "GET", "400"] == 1
    assert told["forewarn_answers"].sum.is_monotonic
    (spread,) = told["forewarn_commit_seconds"].histogram.data_points
    assert spread.count == sum(spread.bucket_counts) == page["forewarn_commit_seconds_count",]
    assert len(spread.bucket_counts) == len(spread.explicit_bounds) + 1
    inside = {bound: page["forewarn_commit_seconds_bucket", str(bound)] for bound in spread.explicit_bounds}
    summed = [sum(spread.bucket_counts[: number + 1]) for number in range(len(spread.explicit_bounds))]
    assert summed == list(inside.values())


def reads(collector: Collector) -> float:
    points = collector.figures()["forewarn_reads"].sum.data_points
    return float(sum(value(point) for point in points))


def value(point: Any) -> float:
    return float(getattr(point, point.WhichOneof("value")))


def test_a_span_is_of_its_callers_trace_and_what_waits_is_sent_at_the_end(tmp_path: Path) -> None:
    with collecting() as collector:
        with started(tmp_path, collector, "--otlp-traces", "on") as server:
            kept = {"Metadata": "true", "traceparent": f"00-{TRACE}-{CALLER}-01"}
            for _ in range(3):  # the second and third are not found by their bytes
                assert ask(server.metadata, f"/vm/web{EVENTS}", kept).status == 200
            left_out = {"traceparent": f"00-{'a' * 32}-{CALLER}-00"}
            assert ask(server.control, "/v1/vms/nobody?secret=1", left_out).status == 404
            assert ask(server.control, "/v1/vms/nobody?secret=1", {"traceparent": "of nobody"}).status == 404
            assert server.stop() == 0
        spans = collector.spans()
        log = server.log.read_text()

    of_trace = [span for span in spans if span.trace_id.hex() == TRACE]
    assert [span.parent_span_id.hex() for span in of_trace] == [CALLER] * 3
    assert [span.name for span in of_trace] == ["GET metadata"] * 3
    assert {attributes(span)["url.path"] for span in of_trace} == {"/vm/web/metadata/scheduledevents"}
    alone = [span for span in spans if span not in of_trace and attributes(span).get("url.path") == "/v1/vms/nobody"]
    assert [span.parent_span_id for span in alone] == [b""]
    assert attributes(alone[0])["http.response.status_code"] == 404
    assert all(span.kind == span.SPAN_KIND_SERVER for span in spans)
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in spans)
    assert not [span for span in spans if "secret" in str(span)]
    assert "a" * 32 not in [span.trace_id.hex() for span in spans], "its caller said that nobody keeps it"
    assert "/v1/vms/nobody" not in log, "nobody asked for a request log"


def test_a_collector_that_refuses_or_never_answers_holds_up_nobody(tmp_path: Path) -> None:
    with collecting(silent=True) as collector, started(tmp_path, collector, "--otlp-traces", "on") as server:
        until(lambda: collector.asked > 0, "the collector is asked")
        for _ in range(20):
            assert ask(server.metadata, f"/vm/web{EVENTS}").status == 200
        assert server.stop() == 0


def test_after_a_refusal_the_next_message_has_everything_and_the_secret_stays_one(tmp_path: Path) -> None:
    """The collector's secret comes by the library's own variable, as docs/signals.md says."""
    with collecting() as collector:
        collector.answers = [400, 400]
        with started(tmp_path, collector, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20hidden") as server:
            assert ask(server.metadata, f"/vm/web{EVENTS}").status == 200
            until(lambda: collector.heard and reads(collector) == 1, "told in the end")
            log = server.log.read_text()
            shown = ask(server.control, "/v1/settings").body.decode()
    assert collector.secrets == {"Bearer hidden"}
    assert "400" in log
    assert "hidden" not in log + shown
