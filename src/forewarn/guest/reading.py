"""What one look at the document gave."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from forewarn.guest.faults import Fault
from forewarn.terms import Document


@dataclass(frozen=True, slots=True)
class Reading:
    """Exactly one of these: a document, a ``fault``, or neither, when the service answered and told nothing.

    ``at`` is the service's own time where the answer had a Date. Set it against ``NotBefore``: it is right however
    wrong the VM's clock is, and in a region whose clock is turned by hand.
    """

    at: datetime
    document: Document | None = None
    unchanged: bool = False  # the document is the one of the reading before
    fault: Fault | None = None
    retry_seconds: float = 0.0  # after a fault: when the next try will be
    api_version: str = ""  # that the document was read with: an older one does not show everything
