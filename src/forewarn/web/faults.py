"""What an operator wants to go wrong between the face and its callers. Rules live in memory and end with the server."""

from __future__ import annotations

import random
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from enum import StrEnum

from forewarn.core.refusal import Hint, Refused
from forewarn.core.region import fold

LONGEST_DELAY_SECONDS = 3600.0  # ours: every client gives up sooner, and each answer held back keeps a connection
MOST_RULES = 1000  # ours: each request is compared with all of them


class FaultKind(StrEnum):
    """What becomes of an answer."""

    GONE = "gone"
    THROTTLED = "throttled"
    ERROR = "error"
    EMPTY = "empty"
    DELAY = "delay"
    DROP = "drop"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class FaultRule:
    """For these VMs (none named means all), the next ``times`` answers, or a ``share`` of them, go wrong.

    ``answered`` counts how often it has struck; a rule that has struck ``times`` times is gone.
    """

    kind: FaultKind | str
    vms: tuple[str, ...] = ()
    times: int | None = None
    share: float | None = None
    delay_seconds: float = 0.0  # of real time: it is the network that is slow, not the region
    id: str = ""
    answered: int = 0

    @property
    def spent(self) -> bool:
        return self.times is not None and self.answered >= self.times


class FaultRules:
    """The rules in force, oldest first; the first that fits a request decides about it."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()  # noqa: S311 - a die, not a secret
        self._rules: dict[str, FaultRule] = {}
        self._keys: dict[str, frozenset[str]] = {}
        self._numbered = 0
        self._watchers: list[Callable[[], None]] = []
        self.active = False  # read on every request, so it is a plain attribute
        self.latest = ""  # the kind of the rule that struck last; who wants to know of one request empties it before

    def add(self, rule: FaultRule) -> FaultRule:
        """Put a rule in force; it comes back with its id. A rule that makes no sense is refused."""
        checked = replace(rule, kind=_check(rule), id=str(self._numbered + 1), answered=0)
        if len(self._rules) >= MOST_RULES:
            raise Refused(Hint.CONFLICT, f"There are {MOST_RULES} fault rules already; clear some first.")
        self._numbered += 1
        self._rules[checked.id] = checked
        self._keys[checked.id] = frozenset(fold(name) for name in checked.vms)
        self._changed()
        return checked

    def list(self) -> tuple[FaultRule, ...]:
        return tuple(self._rules.values())

    def clear(self, rule_id: str | None = None) -> int:
        """Take back one rule, or all. How many went."""
        gone = list(self._rules) if rule_id is None else [rule_id] if rule_id in self._rules else []
        for found in gone:
            self._remove(found)
        self._changed()
        return len(gone)

    def watch(self, watcher: Callable[[], None]) -> None:
        """Be called after rules came or went."""
        self._watchers.append(watcher)

    def strike(self, vm: str, kinds: Container[FaultKind | str]) -> FaultRule | None:
        """The rule that decides about this answer, if one does. Asking counts."""
        for rule in self._rules.values():
            if rule.kind in kinds and self.names(rule, vm) and self.falls(rule):
                return self.count(rule)
        return None

    def names(self, rule: FaultRule, vm: str) -> bool:
        """Whether the rule is about this VM."""
        keys = self._keys[rule.id]
        return not keys or vm in keys

    def falls(self, rule: FaultRule) -> bool:
        """Throw the die of a rule that only wants a share."""
        return rule.share is None or self._chance.random() < rule.share

    def count(self, rule: FaultRule) -> FaultRule:
        """The rule has struck once more."""
        self.latest = str(rule.kind)
        rule = replace(rule, answered=rule.answered + 1)
        self._rules[rule.id] = rule
        if rule.spent:
            self._remove(rule.id)
            self._changed()
        return rule

    def _remove(self, rule_id: str) -> None:
        del self._rules[rule_id], self._keys[rule_id]

    def _changed(self) -> None:
        self.active = bool(self._rules)
        for watcher in self._watchers:
            watcher()


def _check(rule: FaultRule) -> FaultKind:
    """The rule's kind, once the whole rule makes sense."""
    try:
        kind = FaultKind(rule.kind)
    except ValueError:
        known = ", ".join(FaultKind)
        raise Refused(Hint.INVALID, f"There is no fault '{rule.kind[:40]}'; there are {known}.") from None
    if rule.times is not None and rule.times < 1:
        raise Refused(Hint.INVALID, "A fault happens at least once: times must be 1 or more.")
    if rule.share is not None and not 0 < rule.share <= 1:
        raise Refused(Hint.INVALID, "The share of answers must be above 0 and at most 1.")
    if (kind is FaultKind.DELAY) != bool(rule.delay_seconds):
        raise Refused(Hint.INVALID, "A delay needs delay_seconds above 0, and no other fault has any.")
    if not 0 <= rule.delay_seconds <= LONGEST_DELAY_SECONDS:
        raise Refused(Hint.INVALID, f"delay_seconds must be above 0 and at most {LONGEST_DELAY_SECONDS:.0f}.")
    return kind
