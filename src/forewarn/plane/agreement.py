"""Whether all nodes of a region have the same rules: an event's notice must not depend on the node that was asked."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

from forewarn.plane.ports import Node

_log = logging.getLogger(__name__)
_SILENT_AFTER = timedelta(seconds=10)  # three announcements missed (Pace.announce_seconds)
_REMEDY = "Give all nodes the same settings; docs/nodes.md lists which."


class Agreement:
    """What one node has seen of the others' rules.

    Nodes of another version are left out: there may be rules that only one of the two knows, and upgrading node by node
    is not a disagreement.
    """

    def __init__(self) -> None:
        self._told: frozenset[str] = frozenset()

    def look(self, nodes: Sequence[Node], this: Node) -> str:
        """Why this node decides nothing, as a sentence; empty as long as it may.

        The leader's rules count; while no node leads, every node may decide by its own.
        """
        newest = max((node.seen_at for node in nodes), default=this.seen_at)
        others = [node for node in nodes if node.id != this.id and newest - node.seen_at <= _SILENT_AFTER]
        differing = [node for node in others if node.version == this.version and node.rules != this.rules]
        self._tell(differing)
        leaders = [] if this.leads else [node.name for node in differing if node.leads]
        return (
            f"This node goes by other rules than {leaders[0]}, which leads the region, and decides nothing. {_REMEDY}"
            if leaders
            else ""
        )

    def _tell(self, differing: Sequence[Node]) -> None:
        """Log a disagreement once."""
        names = frozenset(node.name for node in differing)
        if names - self._told:
            _log.warning("Other nodes go by other rules than this one: %s. %s", ", ".join(sorted(names)), _REMEDY)
        elif self._told and not names:
            _log.info("All nodes go by the same rules again.")
        self._told = names
