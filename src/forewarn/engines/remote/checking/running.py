"""All checks, one after the other; one that fails keeps no other from being tried."""

from __future__ import annotations

from collections.abc import Callable

from forewarn.engines.remote.checking.doing import DOING
from forewarn.engines.remote.checking.ground import Broken, CheckedRule, CheckGround, NotTried, RuleVerdict
from forewarn.engines.remote.checking.reading import READING
from forewarn.plane.hands.engine import EngineFault

RULES = (*READING, *DOING)


def check_engine(ground: CheckGround, tell: Callable[[CheckedRule], None]) -> list[CheckedRule]:
    """What holds and what does not; each is told as soon as it is known. An engine that does not answer is asked no
    more."""
    found: list[CheckedRule] = []
    for rule, check in RULES:
        try:
            check(ground)
            result = CheckedRule(rule, RuleVerdict.HOLDS)
        except NotTried as why:
            result = CheckedRule(rule, RuleVerdict.NOT_TRIED, str(why))
        except (Broken, EngineFault) as why:
            result = CheckedRule(rule, RuleVerdict.BROKEN, str(why))
        found.append(result)
        tell(result)
        if rule == RULES[0][0] and result.verdict is RuleVerdict.BROKEN:
            break
    return found


def ending(*, by_itself: bool) -> CheckedRule:
    """The last rule of a program that was started for the checks: how it ended when they were over."""
    why = "" if by_itself else "it went on, and was ended by a signal"
    return CheckedRule("It ends when its stdin does", RuleVerdict.HOLDS if by_itself else RuleVerdict.BROKEN, why)
