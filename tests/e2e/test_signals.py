"""What a running server tells of itself: figures, and its log."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.program import EVENTS, ServerProgram, ask
from tests.figures import figures

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def looked(url: str) -> dict[tuple[str, ...], float]:
    answer = ask(url, "/metrics")
    assert answer.status == 200, answer.body
    return figures(answer.body.decode())


def test_every_answer_of_the_metadata_face_is_counted_however_it_was_found(tmp_path: Path) -> None:
    (tmp_path / "region.toml").write_text('[[vm]]\nname = "web"\n')
    with ServerProgram.start(
        tmp_path / "data", "--config", tmp_path / "region.toml", "--health", "127.0.0.1:0"
    ) as server:
        for _ in range(7):  # the first is understood, the others are known by their bytes
            assert ask(server.metadata, f"/vm/web{EVENTS}").status == 200
        tag = ask(server.metadata, f"/vm/web{EVENTS}").headers["etag"]
        for _ in range(3):
            unless = {"Metadata": "true", "If-None-Match": tag}
            assert ask(server.metadata, f"/vm/web{EVENTS}", unless).status == 304
        assert ask(server.metadata, f"/vm/web{EVENTS}", {}).status == 400
        assert ask(server.metadata, f"/vm/nobody{EVENTS}").status == 404
        told = looked(server.health)
        assert told == {**looked(server.control), **told}  # the same page, but for what the looks themselves count
    assert told["forewarn_reads_total", "document"] == 8
    assert told["forewarn_reads_total", "unchanged"] == 3
    counted = {key[3]: value for key, value in told.items() if key[:3] == ("forewarn_answers_total", "metadata", "GET")}
    assert counted == {"200": 8, "304": 3, "400": 1, "404": 1}
    assert told["forewarn_connections", "metadata"] <= 1
    assert told["process_resident_memory_bytes",] > 0


def test_a_json_log_with_requests_has_an_object_a_line_with_the_callers_trace(tmp_path: Path) -> None:
    options = ("--log-format", "json", "--request-log", "on", "--log-level", "warning", "--metrics", "off")
    (tmp_path / "region.toml").write_text('[[vm]]\nname = "web"\n')
    with ServerProgram.start(tmp_path / "data", "--config", tmp_path / "region.toml", *options) as server:
        fields = {"Metadata": "true", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
        answers = [ask(server.metadata, f"/vm/web{EVENTS}", fields) for _ in range(2)]
        seen = ask(server.control, "/v1/vms/web%0aforged", fields)
        assert ask(server.control, "/metrics").status == 404
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    told = [line for line in lines if line["logger"] == "forewarn.requests"]
    assert [(line["face"], line["status"]) for line in told] == [
        ("metadata", 200),
        ("metadata", 200),
        ("operator", 404),
        ("operator", 404),
    ]
    assert [line["request_id"] for line in told[:2]] == [each.headers["x-ms-request-id"] for each in answers]
    assert told[2]["request_id"] == seen.headers["x-request-id"]
    assert [line.get("trace_id") for line in told] == [TRACE, TRACE, TRACE, None]
    assert told[2]["target"] == "/v1/vms/web\nforged"  # inside its string; no line of its own
