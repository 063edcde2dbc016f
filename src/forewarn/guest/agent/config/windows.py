"""``[[window]]`` of an ``agent.toml``."""

from __future__ import annotations

from forewarn.guest.agent.config.section import Section
from forewarn.guest.agent.deciding.windows import minute_of, zone_of
from forewarn.guest.agent.values import DAYS, ApprovalWindow


def read_window(section: Section, number: int) -> ApprovalWindow:
    name = section.text("name", f"window {number + 1}").strip()
    days = section.choices("days", DAYS)
    begins, ends = _minute(section, "from", '"22:00"'), _minute(section, "to", '"04:00"')
    window = ApprovalWindow(
        name=name,
        days=frozenset(DAYS.index(day) for day in days) if days else frozenset(range(7)),
        begins=begins,
        ends=ends,
        zone=_zone(section),
        line=section.line,
    )
    section.refuse_rest()
    if section.sound and begins == ends:
        section.complain("to", "is the same as from", 'a whole day is from = "00:00" and to = "24:00"')
    elif section.sound and begins == 24 * 60:
        section.complain("from", 'is "24:00"', 'write "00:00"; of the day after, see days')
    return window


def _minute(section: Section, key: str, example: str) -> int:
    text = section.text(key, required=True, example=example)
    found = minute_of(text) if text else 0
    if found is None:
        section.complain(key, f"is {text!r}, which is no time of day", f"write {key} = {example}")
    return found or 0


def _zone(section: Section) -> str:
    name = section.text("zone", "UTC", example='"Europe/Berlin"')
    try:
        zone_of(name)
    except (LookupError, ValueError, OSError):
        section.complain(
            "zone", f"is {name!r}, which this machine does not know", 'such as "Europe/Berlin"; "UTC" is always known'
        )
        return "UTC"
    return name
