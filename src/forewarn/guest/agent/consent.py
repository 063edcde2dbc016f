"""From being ready to an event that has started: the barrier for those that are shared, and the approval itself."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from forewarn.guest.agent.barrier import members as barrier
from forewarn.guest.agent.barrier.lines import BarrierLine, StanceOf
from forewarn.guest.agent.barrier.members import Gathering, Ruling
from forewarn.guest.agent.deciding.handling import may_approve
from forewarn.guest.agent.deciding.policy import decide
from forewarn.guest.agent.deciding.state import AgentState, Approval, Approving, Care
from forewarn.guest.agent.deciding.windows import when_words
from forewarn.guest.agent.doing.approval import Approvals, Approver, post
from forewarn.guest.agent.inbox import Inbox
from forewarn.guest.agent.telling.logs import about
from forewarn.guest.agent.telling.occasions import Occasion
from forewarn.guest.agent.telling.reporting import LOG, Reporter
from forewarn.guest.agent.values import AgentConfig, Sharing
from forewarn.guest.faults import Fault
from forewarn.guest.system.parts import System
from forewarn.guest.watch import Change, Ended, Ending, Started, is_started

_OVERDUE = timedelta(minutes=1)  # a document takes its time to show a start


class Consent:
    """Belongs to the deciding thread. ``write`` puts a record on disk."""

    def __init__(
        self,
        system: System,
        config: AgentConfig,
        approver: Approver,
        inbox: Inbox,
        report: Reporter,
        write: Callable[[Approving], object],
        *,
        dry_run: bool,
    ) -> None:
        self._system = system
        self._config = config
        self._settings = config.barrier
        self._approver = approver
        self._inbox = inbox
        self._report = report
        self._write = write
        self._dry_run = dry_run
        self._clock = system.clock
        self._name = ""
        self._line: BarrierLine | None = None
        self._approvals = Approvals()
        self._gatherings: dict[str, Gathering] = {}

    def open(self, name: str, stance_of: StanceOf) -> None:
        """From here on the others can ask us. A dry run is not ready and says nothing."""
        self._name = name
        settings = self._settings
        if settings.sharing is Sharing.TOGETHER and settings.listen and settings.secret_file and not self._dry_run:
            secret = self._system.files.read(Path(settings.secret_file)).strip()
            self._line = BarrierLine(self._system, secret, settings.address, self._inbox, self._report.metrics)
            where = self._line.open(settings.listen, name, stance_of)
            LOG.info("listening for the others at %s", where)

    def close(self) -> None:
        if self._line is not None:
            self._line.close()

    @property
    def under_way(self) -> bool:
        return self._approvals.under_way

    def wake_seconds(self) -> float | None:
        return self._approvals.wake_seconds(self._clock.monotonic())

    def is_to_come(self, state: AgentState, held: frozenset[str]) -> bool:
        """Whether this VM may still approve and has not. What is held back until a window opens is not waited for."""
        cares = (care for care in state.cares.values() if care.key not in held)
        return any(may_approve(state, care) and self._can_come(care) for care in cares)

    def _can_come(self, care: Care) -> bool:
        """Whether a first approval of ours may still come, so that it is worth waiting for."""
        if self._dry_run or care.approval is Approval.SENT:
            return False
        alone = not barrier.is_shared(care.event, self._name) or self._settings.sharing is Sharing.ALONE
        return alone or self._line is not None

    def forget(self, key: str) -> None:
        """Forget the approval: there is nothing left to approve."""
        self._approvals.forget(key)
        self._gatherings.pop(key, None)

    # Approving

    def consider(self, care: Care, now: datetime) -> None:
        """This VM is ready: approve, if it is time and our part."""
        if care.approval is Approval.SENT:
            self._remember(care, now)
        if barrier.is_shared(care.event, self._name) and not self._all_ready(care):
            return
        if not self._approvals.is_due(care.key, self._clock.monotonic()):
            return
        if self._dry_run:
            self._report.tell(Occasion.APPROVED, care.event, f"{care.event.type} would be approved now")
            return
        if care.approval is Approval.NONE:
            self._write(Approving(care.key, Approval.INTENDED))
        LOG.info("approving %s%s", care.event.type, " again" if care.sent else "", extra=about(care.event))
        self._approvals.begin(care.key)
        post(self._system.threads, self._approver, care.key, care.event.event_id, self._inbox)

    def hold(self, care: Care, now: datetime) -> None:
        """It must not be approved now; said once for each event."""
        if not is_started(care.event):
            rule = decide(self._config, care.event, self._name).rule
            told = when_words(self._config, rule, now, care.event.not_before)
            self._report.say(care.event, f"to be approved only {told}")

    def posted(self, care: Care | None, key: str, fault: Fault | None) -> None:
        """What the service said. That it was heard is only known from the document."""
        self._approvals.ended(key, self._clock.monotonic(), taken=fault is None)
        if care is None:
            self._approvals.forget(key)
        elif fault is None:
            self._taken(care)
        elif care.approval is Approval.CONFIRMED:
            pass  # the first one was heard and only its answer lost; by now there is nothing left to approve
        elif fault.lasting:
            self._report.metrics.approval("refused")
            self._write(Approving(key, Approval.REFUSED))
            self._report.failed(care.event, f"the approval was refused: {fault.reason}")
        else:
            self._report.metrics.approval("fault")
            LOG.warning("the approval did not get through: %s", fault.reason, extra=about(care.event))

    def confirm(self, care: Care, change: Change) -> None:
        """A start, or an end that is no cancellation, confirms an approval that was answered. One whose answer never
        came was heard if the start came before NotBefore; after that, events start without any."""
        not_before, begins = care.event.not_before, isinstance(change, Started)
        is_early = begins and (not_before is None or change.at < not_before)
        is_over = isinstance(change, Ended) and change.how is not Ending.CANCELED
        sent = care.approval is Approval.SENT and (begins or is_over)
        if sent or (care.approval is Approval.INTENDED and is_early):
            self._write(Approving(care.key, Approval.CONFIRMED))
            self._report.metrics.approval("confirmed")
            self._report.tell(Occasion.APPROVED, care.event, f"the approval of {care.event.type} was heard")

    def _taken(self, care: Care) -> None:
        self._report.metrics.approval("sent")
        if care.approval not in (Approval.INTENDED, Approval.SENT):
            return  # the document was quicker than this answer, and it was told already that the approval was heard
        self._write(Approving(care.key, Approval.SENT, self._clock.now()))
        text = f"the service has taken the approval of {care.event.type}, which starts when nobody else's is awaited"
        self._report.say(care.event, text)

    def _remember(self, care: Care, now: datetime) -> None:
        """Take up an approval that an earlier agent sent.

        That it still waits is worth a warning only after ``_OVERDUE``.
        """
        if care.sent_at is not None:
            ago = (self._clock.now() - care.sent_at).total_seconds()
            self._approvals.resume(care.key, care.sent, ago, self._clock.monotonic())
        not_before = care.event.not_before
        if not_before is not None and now > not_before + _OVERDUE:
            text = f"{care.event.type} was approved, its NotBefore is over, and the document still shows it Scheduled"
            self._report.say(care.event, text, level=logging.WARNING)

    # The barrier

    def answered(self, key: str, name: str, said: str | None) -> None:
        if said is not None and key in self._gatherings:
            self._gatherings[key] = self._gatherings[key].with_answer(name, said, self._clock.monotonic())

    def spoken(self, key: str, name: str) -> None:
        if key in self._gatherings:
            self._gatherings[key] = self._gatherings[key].with_hint(name, self._clock.monotonic())

    def _all_ready(self, care: Care) -> bool:
        if self._settings.sharing is Sharing.ALONE:
            return True
        if self._settings.sharing is Sharing.NEVER or self._line is None:
            others = ", ".join(barrier.others(care.event, self._name))
            self._report.say(care.event, f"left to its NotBefore, since it is shared with {others}")
            return False
        tick = self._clock.monotonic()
        gathering = self._ask(self._line, care, tick)
        ruling, why = barrier.rule(care.event, self._name, gathering, tick, self._settings.patience_seconds)
        if self._report.say(care.event, f"barrier: {ruling}: {why}") and ruling is Ruling.APPROVE:
            self._report.metrics.barrier("all_ready" if why == "all are ready" else "patience_over")
        return ruling is Ruling.APPROVE

    def _ask(self, line: BarrierLine, care: Care, tick: float) -> Gathering:
        gathering = self._gatherings.get(care.key) or Gathering()
        for name in gathering.to_ask(barrier.others(care.event, self._name), tick):
            if not line.ask(care.key, name, "ready"):
                break  # the rest have their turn when these have answered
            gathering = gathering.with_question(name, tick)
        self._gatherings[care.key] = gathering
        return gathering
