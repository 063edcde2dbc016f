"""Whether a rule can ever decide anything, given the ones before it."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import product

from forewarn.guest.agent.values import Rule
from forewarn.terms import EventSource, EventStatus, EventType

# Documents may show words of later versions, so every list of known words has one more that stands for them.
_OTHER = ""
_TYPES = (*(each.value for each in EventType), _OTHER)
_SOURCES = (*(each.value for each in EventSource), _OTHER)
_STATUSES = (*(each.value for each in EventStatus), _OTHER)


def shadows(rules: Sequence[Rule], number: int) -> list[Rule]:
    """The earlier rules that together leave nothing to this one; empty where it has something to say."""
    rule = rules[number]
    wider = [earlier for earlier in rules[:number] if _names_cover(earlier, rule) and _durations_cover(earlier, rule)]
    used: list[Rule] = []
    for cell in _cells(rule):
        first = next((earlier for earlier in wider if _has(earlier, cell)), None)
        if first is None:
            return []
        if first not in used:
            used.append(first)
    return used


def _cells(rule: Rule) -> list[tuple[str, str, str]]:
    return list(product(rule.types or _TYPES, rule.sources or _SOURCES, rule.statuses or _STATUSES))


def _has(rule: Rule, cell: tuple[str, str, str]) -> bool:
    asked = (rule.types, rule.sources, rule.statuses)
    return all(not words or value in words for words, value in zip(asked, cell, strict=True))


def _names_cover(earlier: Rule, rule: Rule) -> bool:
    """Certain only where the narrower one is a plain name or the same pattern; else the rule gets the doubt."""
    wide = [name.casefold() for name in earlier.names]
    return not wide or (
        bool(rule.names) and all(any(_covers(each, name.casefold()) for each in wide) for name in rule.names)
    )


def _covers(wide: str, narrow: str) -> bool:
    return wide == narrow or (_literal(narrow) and fnmatchcase(narrow, wide))


def _literal(pattern: str) -> bool:
    return not any(letter in pattern for letter in "*?[")


def _durations_cover(earlier: Rule, rule: Rule) -> bool:
    if earlier.shorter_than_seconds is None:
        return True
    return rule.shorter_than_seconds is not None and rule.shorter_than_seconds <= earlier.shorter_than_seconds
