"""Which api-version to ask for. A host that does not know the newest is asked for older ones."""

from __future__ import annotations

from collections.abc import Sequence

from forewarn.guest.http1 import OutgoingRequest, Response

PREFER_AGAIN_SECONDS = 3600.0  # ours: a VM may have moved to a host that knows newer versions, which is rare


class Ladder:
    """The versions of one endpoint, newest first, and the rung that its host was last found to know."""

    def __init__(self, preferred: str, known: Sequence[str]) -> None:
        older = sorted((date for date in known if date < preferred), reverse=True)
        self._rungs = (preferred, *older)
        self._place = 0
        self._left_top_at = 0.0

    @property
    def current(self) -> str:
        return self._rungs[self._place]

    @property
    def is_preferred(self) -> bool:
        return self._place == 0

    def downwards(self, now: float) -> tuple[str, ...]:
        """What to try, in this order: from the one in use down, and once an hour from the top again."""
        if self._place and now - self._left_top_at >= PREFER_AGAIN_SECONDS:
            self._place = 0
        return self._rungs[self._place :]

    def stand_on(self, version: str, now: float) -> bool:
        """Remember what the host knows. Whether that is another than before."""
        before, self._place = self._place, self._rungs.index(version)
        if self._place and not before:
            self._left_top_at = now
        return self._place != before


def refuses_version(request: OutgoingRequest, response: Response) -> bool:
    """Whether an older version might be answered.

    The body of such a 400 was never recorded for Scheduled Events, so a read takes any 400 for one unless it names
    what else is wrong. A POST has more ways to be bad, so there it must speak of versions. Hosts of 2017 to 2019 said
    404 and ``Invalid version requested``.
    """
    text = response.body[:2000].lower()
    if b"version" in text:
        return response.status in (400, 404)
    return response.status == 400 and request.verb == "GET" and not any(word in text for word in _OTHER_REASONS)


_OTHER_REASONS = (b"header", b"forwarded", b"parameter")
