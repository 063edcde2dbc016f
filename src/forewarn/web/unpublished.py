"""What Azure would publish of events elsewhere, and this region does not yet: Event Grid and Resource Graph.

The switch is ``eventGridAndResourceGraph`` of a scheduledEventsPolicy. It is kept and told back, because ``az`` sends
back what it was told; whoever turns it on is warned, in the answer and in activity.
"""

from __future__ import annotations

import re

WARNING = "eventGridAndResourceGraph is kept, and nothing is published to Event Grid or Resource Graph yet"
_TURNED_ON = re.compile(r'"eventGridAndResourceGraph"\s*:\s*\{[^{}]*"enable"\s*:\s*true', re.IGNORECASE)


def asks_to_publish(json_text: str) -> bool:
    """Whether a resource, or a template of several, turns the switch on."""
    return _TURNED_ON.search(json_text) is not None
