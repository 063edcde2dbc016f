"""What the agent counts, and that what others write can never make new series."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from forewarn import __version__
from forewarn.guest.agent.telling.metrics import Metrics
from forewarn.guest.system import this_machine
from forewarn.terms import ScheduledEvent

MACHINE = this_machine()

EVENT = ScheduledEvent("A1", "Scheduled", "Reboot", ("web-0",), None)
_LINE = re.compile(
    r'[a-z_]+(\{[a-z]+="[A-Za-z0-9._-]+"(,[a-z]+="[A-Za-z_-]+")*\})? (NaN|[+-]Inf|-?\d+(\.\d+)?(e-?\d+)?)'
)


def test_everything_is_counted_under_its_labels() -> None:
    metrics = Metrics(MACHINE.threads)
    metrics.read("good")
    metrics.read("good")
    metrics.read("fault")
    metrics.appeared(EVENT)
    metrics.decided("approve-now")
    metrics.step("command", "done", 1.5)
    metrics.step("command", "timed_out", 2.0)
    metrics.approval("confirmed")
    metrics.barrier("all_ready")
    metrics.told("webhook", "sent")
    lines = metrics.text().splitlines()

    for line in (
        f'forewarn_agent_info{{version="{__version__}"}} 1',
        'forewarn_agent_reads_total{outcome="good"} 2',
        'forewarn_agent_reads_total{outcome="fault"} 1',
        'forewarn_agent_events_seen_total{type="Reboot"} 1',
        'forewarn_agent_decisions_total{verdict="approve-now"} 1',
        'forewarn_agent_steps_total{kind="command",outcome="timed_out"} 1',
        'forewarn_agent_step_seconds_total{kind="command"} 3.5',
        'forewarn_agent_approvals_total{outcome="confirmed"} 1',
        'forewarn_agent_barrier_total{outcome="all_ready"} 1',
        'forewarn_agent_notifications_total{kind="webhook",outcome="sent"} 1',
    ):
        assert line in lines


def test_the_events_of_a_document_replace_those_of_the_one_before() -> None:
    metrics = Metrics(MACHINE.threads)
    metrics.document(7, [EVENT, EVENT, replace(EVENT, status="Started")])
    assert metrics.value("events", "Reboot", "Scheduled") == 2
    metrics.document(8, [replace(EVENT, status="Started")])

    assert metrics.value("events", "Reboot", "Scheduled") == 0
    assert metrics.value("events", "Reboot", "Started") == 1
    assert metrics.value("document_incarnation") == 8
    assert 'type="Reboot",status="Scheduled"' not in metrics.text()


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=30))
def test_words_from_outside_make_no_series_and_break_no_line(words: list[tuple[str, str]]) -> None:
    metrics = Metrics(MACHINE.threads)
    for kind, status in words:
        event = replace(EVENT, type=kind, status=status)
        metrics.appeared(event)
        metrics.document(1, [event])
        metrics.step(kind, status, 0.1)
        metrics.told(kind, status)
    samples = [line for line in metrics.text().splitlines() if not line.startswith("#")]

    assert len(samples) < 12
    assert all(_LINE.fullmatch(line) for line in samples), samples


def test_a_gauge_is_looked_at_when_somebody_asks() -> None:
    metrics, values = Metrics(MACHINE.threads), [1.25, float("nan"), float("inf")]
    metrics.measure("age_seconds", "Age.", lambda: values.pop(0))

    assert "forewarn_agent_age_seconds 1.25\n" in metrics.text()
    assert "forewarn_agent_age_seconds NaN\n" in metrics.text()
    assert "forewarn_agent_age_seconds +Inf\n" in metrics.text()


def test_every_series_is_explained_once() -> None:
    heads = [line for line in Metrics(MACHINE.threads).text().splitlines() if line.startswith("# TYPE")]

    assert len(heads) == len(set(heads)) >= 11
    assert all(line.endswith((" counter", " gauge")) for line in heads)
