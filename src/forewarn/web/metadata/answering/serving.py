"""Documents for readers: at once where there is one, later where a scope must first be enabled or a reader waits."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from forewarn.core.facts import ScopeEnabled
from forewarn.core.region import Region, Scope, Vm
from forewarn.plane.ports import Record
from forewarn.web.answers import Answers
from forewarn.web.faults import FaultRules
from forewarn.web.metadata.answering.cache import STATUS, DocumentCache, Reply, Served, Signer, reply_to
from forewarn.web.metadata.answering.outcomes import Later, Outcome, RememberedAnswer
from forewarn.web.metadata.answering.skips import Skips
from forewarn.web.metadata.answering.visibility import Lag
from forewarn.web.metadata.answering.waiting import Patience, Waiters, changed_scopes
from forewarn.web.metadata.asking.callers import Caller, identify
from forewarn.web.metadata.asking.questions import ReadDocument
from forewarn.web.metadata.ground import Ground
from forewarn.web.metadata.settings import MetadataSettings
from forewarn.web.watched import WatchedVms
from forewarn.wire import errors

STALE = reply_to(errors.STALE)
_NOT_FOUND = reply_to(errors.NOT_FOUND)
_MOST_ENABLINGS = 3  # a scope may be disabled between its enabling and the answer, once; three times is a fault of ours


class Serving:
    """Serves the published region, or what a lag or a fault rule lets a VM see of it."""

    def __init__(
        self,
        plane: Ground,
        faults: FaultRules,
        watched: WatchedVms,
        settings: MetadataSettings,
        signer: Signer,
        answers: Answers,
    ) -> None:
        self._plane = plane
        self._published = plane.published
        self._standing = plane.standing
        self._elapsed = plane.system.elapsed
        self._faults = faults
        self._watched = watched.names
        self._signer = signer
        self._answers = answers
        self._first_read_delay = settings.first_read_delay
        self._documents = DocumentCache(settings.not_before_format)
        self._waiters = Waiters()
        self._lag = Lag(settings.visibility_lag, plane.now, plane.region) if settings.visibility_lag else None
        self._remembers = self._lag is None and not settings.throttle_per_second and not settings.request_log
        self._skips = Skips(faults)
        self._before = plane.region
        self._tasks: set[asyncio.Task[None]] = set()
        faults.watch(self._follow_faults)
        self._follow_faults()

    def begin(self) -> None:
        """Start from this region; every later one comes by ``publish``."""
        self._before = self._published.region
        if self._lag is not None:
            self._lag.begin(self._published.region)

    def publish(self, region: Region, records: Sequence[Record]) -> None:
        """The plane has a new region: wake the readers that wait for it, as soon as it may show."""
        if not records:
            return
        before, self._before = self._before, region
        if self._lag is None and not self._waiters.anybody:
            return
        enabled = [record.fact.scope for record in records if isinstance(record.fact, ScopeEnabled)]
        self.renew(region, records[-1].fact.at, changed_scopes(before, region, records), enabled)

    def renew(self, region: Region, at: datetime, changed: Collection[str], enabled: Collection[str]) -> None:
        """There is a region as of ``at``, with other documents in these scopes, of which some were enabled."""
        if self._lag is None:
            self._waiters.wake(changed)
            return
        visible_at = self._lag.publish(at, region, enabled)
        self._waiters.wake(enabled)
        if changed:
            self._start(self._wake_at(visible_at, changed))

    @property
    def waiting(self) -> int:
        """How many readers are held until there is news."""
        return len(self._waiters)

    async def close(self) -> None:
        """Cancel the timers that would still wake readers."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # The same words again

    def again(self, known: RememberedAnswer) -> bytes | None:
        """The answer to a question already understood, or None where it must be looked at anew."""
        if self._faults.active or self._elapsed() >= self._standing.current_until:
            return None
        if self._watched and known.vm in self._watched:
            return None
        if known.seq != self._published.seq and not self._renew(known):
            return None
        known.cell.n += 1
        now = self._plane.read_by(known.vm)
        return self._signer.sign(known.reply, now)

    def _renew(self, known: RememberedAnswer) -> bool:
        """The answer after a publication, which most often changed something else."""
        region, question = self._published.region, known.question
        vm = identify(region, known.caller, question.named)
        if vm is None or vm.key != question.vm.key:
            return False
        scope = region.scope_of(vm)
        if not self._is_ready(scope):
            return False
        known.say(_pick(self._documents.served(region, scope, question.version), question))
        known.cell = self._answers.memorable[known.reply.before[STATUS]]
        known.seq = self._published.seq
        return True

    # A question

    def read(self, question: ReadDocument, caller: Caller) -> Outcome:
        """The document, or a ``Later`` that gets it."""
        scope = self._published.region.scope_of(question.vm)
        if self._is_ready(scope):
            served = self._served(question.vm, scope, question)
            if not question.wait_seconds or not question.unless.covers(served.incarnation):
                reply = _pick(served, question)
                memorable = self._remembers and question.wait_seconds is None and not self._faults.active
                cell = (self._answers.memorable if memorable else self._answers.documents)[reply.before[STATUS]]
                if memorable:
                    return RememberedAnswer(question, question.vm.name, caller, self._published.seq, reply, cell)
                cell.n += 1
                return reply
        patience = Patience(question.wait_seconds or 0)
        return Later(partial(self._read_later, question, caller, patience), patience)

    async def _read_later(self, question: ReadDocument, caller: Caller, patience: Patience) -> Outcome:
        """Enable, hold back the first answers, wait for news: until there is an answer to give."""
        enablings, request_id = 0, ""
        while (vm := identify(self._published.region, caller, question.named)) is not None:
            scope = self._published.region.scope_of(vm)
            if scope.enabled_at is None:
                enablings += 1
                if enablings > _MOST_ENABLINGS:
                    raise RuntimeError(f"{scope.key} was enabled and is not")
                request_id = request_id or self._signer.mint()
                await self._plane.enable(vm, request_id)
            elif not self._is_ready(scope):
                await self._plane.clock.sleep_until(scope.enabled_at + self._first_read_delay)
            else:
                if self._standing.stale:
                    return STALE._replace(request_id=request_id)
                reply = self.news(vm, question, patience)
                if reply is not None:
                    return reply._replace(request_id=request_id)
                await self.until_news(scope, patience)
        return STALE if self._standing.stale else _NOT_FOUND

    def news(self, vm: Vm, question: ReadDocument, patience: Patience) -> Reply | None:
        """The answer for one who waits, whose scope has a document; None where there is nothing new to tell yet."""
        served = self._served(vm, self._published.region.scope_of(vm), question)
        if not patience.over and question.unless.covers(served.incarnation):
            return None
        reply = _pick(served, question)
        self._answers.documents[reply.before[STATUS]].n += 1
        return reply

    async def until_news(self, scope: Scope, patience: Patience) -> None:
        """Come back when the scope may have changed, or when patience is over."""
        await patience.until_news(self._waiters, scope.key)

    def has_document(self, vm: Vm) -> bool:
        """Whether a reader of this VM need not wait for its scope's first document."""
        return self._is_ready(self._published.region.scope_of(vm))

    def _is_ready(self, scope: Scope) -> bool:
        """Whether the scope has a document. A region's owner may have first answers delayed, as Azure's are."""
        if scope.enabled_at is None:
            return False
        return not self._first_read_delay or scope.enabled_at + self._first_read_delay <= self._plane.now()

    def _served(self, vm: Vm, scope: Scope, question: ReadDocument) -> Served:
        """The document that this VM sees now; notes the read as a sign of life."""
        self._plane.read_by(vm.name)
        shown = self._skips.shown(vm, self.visible(scope.key))
        return self._documents.served(shown, shown.scopes[scope.key], question.version)

    # What shows

    def visible(self, scope: str = "") -> Region:
        """The newest region that the guests of a scope may see."""
        return self._published.region if self._lag is None else self._lag.region(scope)

    def _follow_faults(self) -> None:
        self._skips.follow(self.visible())

    async def _wake_at(self, at: datetime, scopes: Iterable[str]) -> None:
        await self._plane.clock.sleep_until(at)
        self._waiters.wake(scopes)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _pick(served: Served, question: ReadDocument) -> Reply:
    """The whole document, or a 304 for a reader that has it."""
    reply = served.unchanged if question.unless.covers(served.incarnation) else served.whole
    if question.wait_seconds is None:
        return reply
    return reply.with_field("Preference-Applied", f"wait={question.wait_seconds}")
