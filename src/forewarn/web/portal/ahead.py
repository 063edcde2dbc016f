"""What a dry run tells, in words for what has yet to come: the operator API tells of a dry run as if it were done."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forewarn.web.operator.schema.fleet_answers import EventAnswer

# The sentences of the operator's outcomes, and what they are before they are true.
_SENTENCES = tuple(
    (re.compile(pattern), future)
    for pattern, future in (
        (r"(\d+) events? scheduled, not before", r"{events:\1} will be scheduled, not before"),
        (r"(\d+) events? started at once\.", r"{events:\1} will start at once."),
        (r"(\d+ events?) approved, (\d+) started\.", r"\1 will be approved, \2 will start."),
        (r"(\d+ events?) waiting until", r"\1 will wait until"),
        (r"(\d+ events?) still waiting for", r"\1 will still wait for"),
        (r"(\d+ events?) canceled\.", r"\1 will be taken back."),
        (
            r"(\S+) (?:was|VMs were) ([^.:]*) at once, without an event",
            r"{vms:\1} will be \2 at once, without an event",
        ),
        (r"Joined (an event|events) that will do the same", r"This joins \1 that will do the same"),
        (r"(\d+ VMs?) to be ", r"\1 will be "),
        (r"Careful: work is open in", r"Careful: work will be open in"),
        (r"Nothing had to be done\.", "Nothing has to be done."),
        (r"No VM lives there, so there was nothing to do", "No VM lives there, so there is nothing to do"),
        (r"No VM lived there, so nobody was hit\.", "No VM lives there, so nobody will be hit."),
        (r"(Scale set '[^']*') (created|changed)\.", r"\1 will be \2."),
        (r"(Scale set '[^']*') is gone\.", r"\1 will be gone."),
        (r"(Scale set '[^']*') goes with", r"\1 will go with"),
        (r"The model has version (\d+) now; instances that have it:", r"The model will have version \1; on:"),
        (r"The capacity is (\d+) now\.", r"The capacity will be \1."),
        (r"(\d+ (?:VM|instance)s?) created", r"\1 will be created"),
    )
)
_EVENTS = re.compile(r"\{events:(\d+)\}")
_VMS = re.compile(r"\{vms:([^}]*)\}")


def ahead(message: str, events: Sequence[EventAnswer] = ()) -> str:
    """The operator's sentences about a dry run, in the future tense, with the type of the events where it is one."""
    for pattern, future in _SENTENCES:
        message = pattern.sub(future, message)
    types = {event.type for event in events}
    kind = f"{types.pop()} " if len(types) == 1 else ""
    message = _EVENTS.sub(lambda found: f"{found[1]} {kind}event{'' if found[1] == '1' else 's'}", message)
    return _VMS.sub(lambda found: f"{found[1]} VMs" if found[1].isdigit() else found[1], message)
