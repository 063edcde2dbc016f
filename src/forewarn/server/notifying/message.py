"""What a region tells people: one message for all that a look has found of one occasion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

_NAMED_MOST = 20  # ours: a sentence that somebody still reads; ``count`` has the number

_STANDS = {
    "campaign-still": ("a campaign stands still", "campaigns stand still"),
    "deadline-missed": ("an event started unapproved", "events started unapproved"),
    "scope-silent": ("a scope has fallen silent", "scopes have fallen silent"),
    "node-lags": ("a node lags", "nodes lag"),
}
_OVER = {
    "campaign-still": ("a campaign moves again, or is over", "campaigns move again, or are over"),
    "scope-silent": ("a scope is read again, or is disabled", "scopes are read again, or are disabled"),
    "node-lags": ("a node is back, or is gone for good", "nodes are back, or are gone for good"),
}


@dataclass(frozen=True, slots=True)
class RegionMessage:
    """Told to every channel that wants to hear of its occasion. ``over``: it stands no longer."""

    region: str
    node: str
    occasion: str
    names: Sequence[str]
    at: datetime  # by the region's clock
    over: bool = False

    @property
    def title(self) -> str:
        what = (_OVER if self.over else _STANDS)[self.occasion]
        count = len(self.names)
        return f"{self._where}: {what[0] if count == 1 else f'{count} {what[1]}'}"

    @property
    def text(self) -> str:
        named = ", ".join(self.names[:_NAMED_MOST])
        rest = len(self.names) - _NAMED_MOST
        return f"{self.title}: {named}{f' and {rest} more' if rest > 0 else ''}"

    @property
    def _where(self) -> str:
        return f"region {self.region}" if self.region else "the region"

    def as_json(self) -> bytes:
        """With ``text`` on top, where the chat systems that take webhooks look for it."""
        told = {
            "text": self.text,
            "occasion": self.occasion,
            "over": self.over,
            "region": self.region,
            "node": self.node,
            "at": self.at.isoformat().replace("+00:00", "Z"),
            "count": len(self.names),
            "about": list(self.names[:_NAMED_MOST]),
        }
        return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
