"""Maintenance windows: when they are open, on days when clocks change too, and what that holds back."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from forewarn.guest.agent.config.reading import check_text
from forewarn.guest.agent.deciding.handling import owed, stance
from forewarn.guest.agent.deciding.state import AgentState, Approval, Approving, fold
from forewarn.guest.agent.deciding.windows import held_back, is_open, next_change, window_words
from forewarn.guest.agent.tools.explain import explain
from forewarn.guest.agent.values import AgentConfig, ApprovalWindow, Rule, Verdict
from forewarn.terms import Document
from tests.unit.guest.agent.handling_bench import ALL, NOON, STEPS, done, event, moment, seen

BERLIN = "Europe/Berlin"
NIGHT = ApprovalWindow("nights", 22 * 60, 4 * 60, frozenset({4, 5}), BERLIN)  # Friday and Saturday
QUARTER = ApprovalWindow("quarter", 2 * 60 + 15, 2 * 60 + 45, frozenset({6}), BERLIN)  # Sundays, 02:15 to 02:45
EARLY = ApprovalWindow("early", 2 * 60 + 15, 4 * 60, frozenset({6}), BERLIN)
LUNCH = ApprovalWindow("lunch", 12 * 60, 13 * 60)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


# In 2026 Berlin's clocks go forward on 29 March at 01:00 UTC and back on 25 October at 01:00 UTC (IANA, zone file
# europe: rule EU, last Sundays, 1:00u). The right column is reckoned by hand from that.
@pytest.mark.parametrize(
    ("begins", "ends", "days", "when", "open_"),
    [
        # An ordinary day, both edges
        ("12:00", "13:00", "0123456", "2026-01-01T10:59:59+00:00", False),
        ("12:00", "13:00", "0123456", "2026-01-01T11:00:00+00:00", True),
        ("12:00", "13:00", "0123456", "2026-01-01T11:59:59+00:00", True),
        ("12:00", "13:00", "0123456", "2026-01-01T12:00:00+00:00", False),
        # Weekdays are those of the zone: 23:30 UTC on Thursday is Friday in Berlin
        ("00:00", "24:00", "4", "2026-01-01T22:59:00+00:00", False),
        ("00:00", "24:00", "4", "2026-01-01T23:00:00+00:00", True),
        ("00:00", "24:00", "4", "2026-01-02T22:59:00+00:00", True),
        ("00:00", "24:00", "4", "2026-01-02T23:00:00+00:00", False),
        # A night belongs to the day on which it begins: Saturday's ends on Sunday, and there is none of Sunday
        ("22:00", "04:00", "5", "2026-01-03T20:59:00+00:00", False),
        ("22:00", "04:00", "5", "2026-01-03T21:00:00+00:00", True),
        ("22:00", "04:00", "5", "2026-01-04T02:59:00+00:00", True),
        ("22:00", "04:00", "5", "2026-01-04T03:00:00+00:00", False),
        ("22:00", "04:00", "5", "2026-01-03T02:30:00+00:00", False),
        ("22:00", "04:00", "6", "2026-01-05T02:30:00+00:00", True),  # Sunday's ends on Monday
        # Clocks go forward: 02:00 to 03:00 is left out, so the night is an hour shorter, and 02:15 never comes
        ("02:15", "02:45", "6", "2026-03-29T00:30:00+00:00", False),
        ("02:15", "02:45", "6", "2026-03-29T01:30:00+00:00", False),
        ("01:30", "03:30", "6", "2026-03-29T00:29:00+00:00", False),
        ("01:30", "03:30", "6", "2026-03-29T00:30:00+00:00", True),
        ("01:30", "03:30", "6", "2026-03-29T01:29:00+00:00", True),
        ("01:30", "03:30", "6", "2026-03-29T01:30:00+00:00", False),
        ("02:15", "04:00", "6", "2026-03-29T00:59:00+00:00", False),
        ("02:15", "04:00", "6", "2026-03-29T01:00:00+00:00", True),
        # Clocks go back: 02:00 to 03:00 comes twice, and so does what lies in it
        ("02:15", "02:45", "6", "2026-10-25T00:14:00+00:00", False),
        ("02:15", "02:45", "6", "2026-10-25T00:15:00+00:00", True),
        ("02:15", "02:45", "6", "2026-10-25T00:45:00+00:00", False),
        ("02:15", "02:45", "6", "2026-10-25T01:15:00+00:00", True),
        ("02:15", "02:45", "6", "2026-10-25T01:45:00+00:00", False),
        ("22:00", "04:00", "5", "2026-10-25T02:59:00+00:00", True),  # 03:59, after seven hours
        ("22:00", "04:00", "5", "2026-10-25T03:00:00+00:00", False),
    ],
)
def test_a_window_is_open_by_the_wall_time_of_its_zone(
    begins: str, ends: str, days: str, when: str, open_: bool
) -> None:
    hours = [60 * int(text[:2]) + int(text[3:]) for text in (begins, ends)]
    window = ApprovalWindow("w", hours[0], hours[1], frozenset(map(int, days)), BERLIN)
    assert is_open(window, at(when)) is open_


@pytest.mark.parametrize(
    ("window", "now", "change"),
    [
        (NIGHT, "2026-01-01T12:00:30+00:00", "2026-01-02T21:00:00+00:00"),
        (NIGHT, "2026-01-02T22:00:00+00:00", "2026-01-03T03:00:00+00:00"),
        # The only one of this week is left out by the clocks: it is the next week's
        (
            QUARTER,
            "2026-03-28T12:00:00+00:00",
            "2026-04-05T00:15:00+00:00",
        ),
        # The hour that is left out holds its beginning: it opens when the clocks have gone forward
        (
            EARLY,
            "2026-03-28T12:00:00+00:00",
            "2026-03-29T01:00:00+00:00",
        ),
        (
            QUARTER,
            "2026-10-25T00:50:00+00:00",
            "2026-10-25T01:15:00+00:00",
        ),
        (ApprovalWindow("always", 0, 1440), "2026-01-01T12:00:00+00:00", None),
    ],
)
def test_when_the_next_one_opens_or_this_one_closes(window: ApprovalWindow, now: str, change: str | None) -> None:
    assert next_change((window,), at(now)) == (at(change) if change else None)


def with_windows(*windows: ApprovalWindow, any_time: bool = False) -> AgentConfig:
    rule = Rule("all", Verdict.PREPARE_THEN_APPROVE, any_time=any_time)
    return replace(ALL, rules=(rule,), windows=windows)


def held(config: AgentConfig, state: AgentState, minutes: float) -> frozenset[str]:
    return held_back(config, "web-0", state, NOON + timedelta(minutes=minutes))


def test_outside_of_every_window_steps_are_done_and_nothing_is_approved() -> None:
    config = with_windows(ApprovalWindow("later", 12 * 60 + 10, 12 * 60 + 20))
    state = seen(AgentState(), event(), config=config)
    assert owed(replace(moment(state), held=held(config, state, 0))).begin is not None

    state = done(state, *STEPS)
    assert owed(replace(moment(state), held=held(config, state, 9))).approve == ()
    assert owed(replace(moment(state), held=held(config, state, 10))).approve == ("A",)
    assert stance(state, state.cares["A"], held=True) == "preparing"
    assert stance(state, state.cares["A"], held=False) == "ready"


def test_no_window_holds_nothing_and_a_rule_may_be_for_any_time() -> None:
    for config in (with_windows(), with_windows(NIGHT, any_time=True)):
        assert held(config, seen(AgentState(), event(), config=config), 0) == frozenset()


def test_what_was_sent_while_a_window_was_open_is_not_held_back_after_it() -> None:
    config = with_windows(NIGHT)
    state = done(seen(AgentState(), event(), config=config), *STEPS)
    assert held(config, state, 0) == {"A"}
    assert held(config, fold(state, Approving("A", Approval.INTENDED)), 0) == {"A"}
    sent = fold(fold(state, Approving("A", Approval.INTENDED)), Approving("A", Approval.SENT, NOON))
    assert held(config, sent, 0) == frozenset()


@pytest.mark.parametrize(
    ("windows", "told"),
    [
        (
            (LUNCH,),
            "as now: 'lunch' is open until 2026-01-01T13:00:00Z",
        ),
        (
            (ApprovalWindow("soon", 12 * 60 + 5, 12 * 60 + 6), NIGHT),
            "and none is open: 'soon' opens at 2026-01-01T12:05:00Z",
        ),
        (
            (NIGHT,),
            "and 'nights' opens at 2026-01-02T21:00:00Z, after its NotBefore: it starts without an approval",
        ),
    ],
)
def test_explain_tells_when_it_would_be_approved(windows: tuple[ApprovalWindow, ...], told: str) -> None:
    (found,) = explain(with_windows(*windows), Document(1, (event(),)), "web-0", NOON)
    always = (
        "by this agent, when every step is done; after a failed step not at all; only within a maintenance window, "
    )
    assert found.approval == always + told


def test_windows_are_read_from_the_file() -> None:
    text = '[[window]]\nname = "nights"\ndays = ["fri", "sat"]\nfrom = "22:00"\nto = "04:00"\nzone = "Europe/Berlin"\n'
    checked = check_text(text + '[[window]]\nfrom = "12:00"\nto = "24:00"\n')
    assert checked.complaints == ()
    assert checked.config is not None
    first, second = checked.config.windows
    assert first == replace(NIGHT, line=1)
    assert (second.name, second.zone, second.days) == ("window 2", "UTC", frozenset(range(7)))
    assert window_words(first) == "'nights', Fri Sat 22:00 to 04:00 Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('from = "22:00"', "has no to"),
        ('from = "9:00"\nto = "10:00"', "is '9:00', which is no time of day"),
        ('from = "09:60"\nto = "10:00"', "is '09:60', which is no time of day"),
        ('from = "24:01"\nto = "10:00"', "is '24:01', which is no time of day"),
        ('from = "24:00"\nto = "10:00"', 'from of window 1 is "24:00"'),
        ('from = "10:00"\nto = "10:00"', "is the same as from"),
        ('from = "10:00"\nto = "11:00"\nzone = "Europe/Berlim"', "which this machine does not know"),
        ('from = "10:00"\nto = "11:00"\nzone = "../../etc/passwd"', "which this machine does not know"),
        ('from = "10:00"\nto = "11:00"\ndays = ["satturday"]', "cannot have 'satturday'"),
        ('from = "10:00"\nto = "11:00"\nform = "1"', "has no key 'form'"),
        (
            'from = "10:00"\nto = "11:00"\nname = "a"\n[[window]]\nname = "a"\nfrom = "1:00"\nto = "02:00"',
            "another window",
        ),
    ],
)
def test_a_window_that_cannot_be_meant_is_refused_with_its_line(text: str, complaint: str) -> None:
    checked = check_text(f"[[window]]\n{text}\n")
    assert checked.config is None
    assert any(complaint in str(each) for each in checked.complaints), checked.complaints
    assert all(each.line for each in checked.complaints)
