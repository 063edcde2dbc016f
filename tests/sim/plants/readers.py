"""What readers are told: memories, lags, skipped documents, wakings, and the reads that keep a scope enabled."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest

from forewarn.core.commands import Pulse
from forewarn.core.deciding import approvals
from forewarn.plane.plane import Plane
from forewarn.plane.reads import ReadBook
from forewarn.plane.writer import Writer, Written
from forewarn.plane.writing import Writing
from forewarn.sim.plan import Misfortune
from forewarn.web.faults import FaultKind, FaultRules
from forewarn.web.metadata.answering import serving as reading
from forewarn.web.metadata.answering.cache import Reply, Signer
from forewarn.web.metadata.answering.serving import Serving
from forewarn.web.metadata.answering.visibility import Lag
from tests.sim.plants.plant import Plant


def the_same_words_get_the_same_answer(patch: pytest.MonkeyPatch) -> None:
    def renew(self: Serving, known: Any) -> bool:
        scope = self._plane.region.scope_of(known.question.vm)
        known.seq = self._plane.seq
        return scope.enabled_at is not None

    patch.setattr(Serving, "_renew", renew)


def a_disabled_scope_is_still_answered(patch: pytest.MonkeyPatch) -> None:
    honest = Serving._is_ready

    def renew(self: Serving, known: Any) -> bool:
        self._is_ready = lambda scope: True  # type: ignore[method-assign]  # planted
        try:
            return renewed(self, known)
        finally:
            self._is_ready = honest.__get__(self)  # type: ignore[method-assign]  # planted

    renewed = Serving._renew
    patch.setattr(Serving, "_renew", renew)


def reads_are_not_noted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Plane, "read_by", lambda self, name: self.clock.now())


def reads_of_deleted_vms_are_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReadBook, "deleted", lambda self, region, key: None)


def an_enabling_announces_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(approvals, "announce_pending", lambda draft, scope: [])


def a_lag_hides_a_new_enabling(patch: pytest.MonkeyPatch) -> None:
    honest = Lag.publish

    def publish(self: Lag, at: datetime, region: Any, enabled: Iterable[str]) -> datetime:
        past = self._past[0][1].scopes
        return honest(self, at, region, [scope for scope in enabled if scope not in past])

    patch.setattr(Lag, "publish", publish)


def skipping_reaches_the_neighbours(patch: pytest.MonkeyPatch) -> None:
    honest = FaultRules.names
    patch.setattr(FaultRules, "names", lambda self, rule, vm: rule.kind is FaultKind.SKIP or honest(self, rule, vm))


def reads_through_followers_are_lost(patch: pytest.MonkeyPatch) -> None:
    honest = Writing.submit_ours

    async def submit_ours(self: Writing, command: Any, origin: Any) -> None:
        if not isinstance(command, Pulse) or self._standing.leads:
            await honest(self, command, origin)

    patch.setattr(Writing, "submit_ours", submit_ours)


def the_date_stands_still(patch: pytest.MonkeyPatch) -> None:
    def set_date(self: Signer, now: datetime) -> None:
        if now >= self._second_ends:
            honest(self, now)
            self._second_ends = now + timedelta(minutes=20)

    honest = Signer._set_date
    patch.setattr(Signer, "_set_date", set_date)


def followers_wake_nobody(patch: pytest.MonkeyPatch) -> None:
    honest = Writer.catch_up

    def catch_up(self: Writer) -> Written:
        written = honest(self)
        return Written(written.region, written.seq, (), written.answers)

    patch.setattr(Writer, "catch_up", catch_up)


def an_etag_matches_whatever_is_newer(patch: pytest.MonkeyPatch) -> None:
    def pick(served: Any, question: Any) -> Reply:
        seen = question.unless.incarnations
        newer = bool(seen) and question.wait_seconds is None and served.incarnation - max(seen) == 1
        return served.unchanged if newer else honest(served, question)

    honest = reading._pick
    patch.setattr(reading, "_pick", pick)


READERS = (
    Plant(
        "the same words over a connection get the same answer, whatever has changed",
        "web.metadata.answering.serving.Serving._renew",
        the_same_words_get_the_same_answer,
        seam=True,
    ),
    Plant(
        "a request that is remembered is answered although its scope has been disabled",
        "web.metadata.answering.serving.Serving._renew",
        a_disabled_scope_is_still_answered,
        seam=True,
    ),
    Plant("reads do not keep a scope enabled", "plane.plane.Plane.read_by", reads_are_not_noted),
    Plant(
        "what a VM has read within the hour counts no more once it is deleted",
        "plane.reads.ReadBook.deleted",
        reads_of_deleted_vms_are_lost,
        vms=24,
        days=0.5,
        pace=100.0,  # it takes a set of which only one VM reads, and that one to be deleted
        seam=True,
    ),
    Plant(
        "a scope that begins to read is not told what is ahead of it",
        "core.deciding.events.announce_pending",
        an_enabling_announces_nothing,
        vms=40,
        days=3.0,  # it takes a scope that falls silent for a day while work is ordered for its host, and reads again
        pace=3.0,
        seam=True,
    ),
    Plant(
        "behind a lag, a scope that is enabled again shows its last document of before",
        "web.metadata.answering.visibility.Lag.publish",
        a_lag_hides_a_new_enabling,
        seam=True,
    ),
    Plant(
        "a rule that skips documents of some VMs skips them for all",
        "web.faults.FaultRules.names",
        skipping_reaches_the_neighbours,
        faults=(Misfortune.THROTTLE,),
        seam=True,
    ),
    Plant(
        "reads through a node that does not lead are lost",
        "plane.writing.Writing.submit_ours",
        reads_through_followers_are_lost,
        nodes=2,
        seam=True,
    ),
    Plant(
        "the date of answers is renewed every 20 minutes", "web.metadata.answering.cache.Signer", the_date_stands_still
    ),
    Plant(
        "what other nodes write wakes nobody who waits at this one",
        "plane.writer.Writer.catch_up",
        followers_wake_nobody,
        nodes=2,
        seam=True,
    ),
    Plant(
        "who has the document before this one is told that nothing has changed",
        "web.metadata.answering.serving._pick",
        an_etag_matches_whatever_is_newer,
    ),
)
