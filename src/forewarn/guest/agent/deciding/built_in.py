"""What an agent does that was told nothing: the rules behind those of a file, and how early each type is announced."""

from __future__ import annotations

from forewarn.guest.agent.values import Rule, Verdict
from forewarn.terms import EventSource, EventType

# The shortest warning of each type, as documented. A VM sees less of it: the document takes its time.
NOTICES_SECONDS = {
    EventType.FREEZE: 900.0,
    EventType.REBOOT: 900.0,
    EventType.REDEPLOY: 600.0,
    EventType.PREEMPT: 30.0,
    EventType.TERMINATE: 300.0,
}

SHORT_FREEZE_SECONDS = 30.0  # Azure: most Freezes for maintenance pause a VM for less than 30 s

# A Terminate is a user's doing too, so it stands before the rule for what users do.
DEFAULT_RULES = (
    Rule(
        name="eviction and deletion",
        verdict=Verdict.PREPARE_THEN_APPROVE,
        types=(EventType.PREEMPT, EventType.TERMINATE),
    ),
    Rule(name="user operations", verdict=Verdict.APPROVE_NOW, sources=(EventSource.USER,)),
    Rule(
        name="short freezes",
        verdict=Verdict.APPROVE_NOW,
        types=(EventType.FREEZE,),
        shorter_than_seconds=SHORT_FREEZE_SECONDS,
    ),
    Rule(name="everything else", verdict=Verdict.PREPARE_THEN_APPROVE),
)

# Instead of them, where a file says nothing of what is to be done. Its VM has prepared nothing, so the agent must
# not approve, which would give away the time until NotBefore.
NO_STEPS_RULE = Rule(name="no steps", verdict=Verdict.NOTIFY)
