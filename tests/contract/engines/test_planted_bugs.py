"""Each case of the contract can fail: a twin with a bug in it, and the case that finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest

from forewarn.core.machines.values import Errand, ErrandKind, Listing, MachinePower, SeenWhy, Sighting
from forewarn.engines.twin.engine import Next, Step, TwinEngine
from forewarn.engines.twin.hosts import CallLost, CallRefused, TwinCall, TwinMachine
from forewarn.plane.hands.engine import EngineFault, ErrandResult, Failed, NotYet, Unknown, Warrant
from tests.contract.engines.bench import Permit
from tests.contract.engines.cases import CASES
from tests.contract.engines.twin_bench import TwinBench

OFF, PAUSED, RUNNING = MachinePower.OFF, MachinePower.PAUSED, MachinePower.RUNNING

PLANTS: dict[str, type[TwinEngine]] = {}  # by the case that finds it


def finds(*cases: str) -> Callable[[type[TwinEngine]], type[TwinEngine]]:
    """The cases that must fail with this engine."""

    def keep(engine: type[TwinEngine]) -> type[TwinEngine]:
        for name in cases:
            assert name not in PLANTS, name
            PLANTS[name] = engine
        return engine

    return keep


@finds("a_machine_is_made_and_runs_where_it_is_to_be", "a_machine_that_is_off_runs_nowhere_and_can_be_started_again")
class MadeIsDone(TwinEngine):
    """A machine that exists counts as one that runs."""

    def _running(self, machine: TwinMachine, errand: Errand) -> Sighting | Step:
        return Sighting(machine.ref, machine.host, RUNNING, machine.mark)


@finds("a_machine_is_stopped_and_started_at_its_host")
class StopRemoves(TwinEngine):
    def _stop(self, errand: Errand, warrant: Warrant) -> Next:
        return self._switch_off(errand, warrant)


@finds("a_machine_that_is_deleted_is_gone_and_deleting_it_again_is_fine")
class DeletesOnce(TwinEngine):
    """What is gone already is an error."""

    def _delete(self, errand: Errand, warrant: Warrant) -> Next:
        return self._do(TwinCall.REMOVE, errand) if not warrant.again else super()._delete(errand, warrant)


@finds("a_restart_gives_another_boot_mark")
class RunningIsRestarted(TwinEngine):
    def _restart(self, errand: Errand, warrant: Warrant) -> Next:
        return super()._restart(msgspec.structs.replace(errand, boot_mark="never"), warrant)


@finds("a_restart_of_a_machine_that_is_off_starts_it")
class OffIsAnotherMark(TwinEngine):
    """Only the mark is looked at."""

    def _restart(self, errand: Errand, warrant: Warrant) -> Next:
        machine = self._find(errand.host, errand.ref)
        if machine is not None and machine.power is OFF:
            return Sighting(machine.ref, machine.host, OFF, machine.mark)
        return super()._restart(errand, warrant)


@finds("a_pause_begins_at_once_lasts_until_its_end_and_keeps_the_memory")
class PauseEndsAtOnce(TwinEngine):
    def _pause(self, errand: Errand, warrant: Warrant) -> Next:
        machine = self._find(errand.host, errand.ref)
        if machine is not None and machine.power is PAUSED:
            return self._do(TwinCall.RESUME, errand)
        return super()._pause(errand, warrant)


@finds("a_migration_moves_a_machine_and_keeps_its_memory")
class MigratesByRedeploying(TwinEngine):
    def _migrate(self, errand: Errand, warrant: Warrant) -> Next:
        return self._redeploy(errand, warrant)


@finds(
    "a_redeployed_machine_runs_where_it_is_to_be_and_only_there",
    "a_machine_on_a_silent_host_is_started_nowhere_else",
    "no_machine_runs_twice_wherever_a_redeployment_is_interrupted",
)
class StartsBesideTheFirst(TwinEngine):
    """A second copy is started before the first is known to be off."""

    def _redeploy(self, errand: Errand, warrant: Warrant) -> Next:
        return self._create(errand, warrant)


@finds(
    "what_somebody_has_moved_to_another_host_is_not_started_beside_itself",
    "what_is_not_where_it_was_is_started_nowhere_while_a_host_that_may_have_it_is_silent",
)
class LooksNowhereElse(TwinEngine):
    """What is not where it should be counts as gone."""

    def _elsewhere(self, errand: Errand, *looked_at: str) -> Failed | Unknown | None:
        return None


@finds("what_is_gone_can_be_made_again_where_it_was")
class RestartsWhatIsToStay(TwinEngine):
    """A redeployment that stays where it is is a restart."""

    def _redeploy(self, errand: Errand, warrant: Warrant) -> Next:
        return self._restart(errand, warrant) if errand.to == errand.host else super()._redeploy(errand, warrant)


@finds("a_machine_with_a_new_system_has_another_boot_mark")
class ReimagesNothing(TwinEngine):
    def _reimage(self, errand: Errand, warrant: Warrant) -> Next:
        return self._create(msgspec.structs.replace(errand, to=errand.host), warrant)


@finds(
    "an_errand_that_is_done_and_asked_for_again_changes_nothing", "a_restart_whose_answer_was_lost_is_not_done_twice"
)
class RestartsByTheCall(TwinEngine):
    """Each asking is one restart: done is what the call says, not what is there."""

    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        if errand.kind is ErrandKind.RESTART:
            listed = self.listing(errand.host).machines
            errand = msgspec.structs.replace(errand, boot_mark=next(each.boot_mark for each in listed))
        return super().carry_out(errand, warrant)


@finds("a_pause_that_was_tried_before_is_only_ever_ended")
class PausesAgain(TwinEngine):
    def _pause(self, errand: Errand, warrant: Warrant) -> Next:
        return super()._pause(errand, Permit(seconds_left=warrant.left()))


@finds("a_pause_whose_end_has_passed_is_not_begun")
class PausesTooLate(TwinEngine):
    def _pause(self, errand: Errand, warrant: Warrant) -> Next:
        machine = self._find(errand.host, errand.ref)
        begun = machine is not None and (machine.errand == errand.id or machine.power is PAUSED)
        return super()._pause(errand, warrant) if begun else self._do(TwinCall.PAUSE, errand)


@finds("without_leave_nothing_is_touched")
class AsksNobody(TwinEngine):
    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        return super().carry_out(errand, Permit(again=warrant.again, seconds_left=warrant.left()))


@finds("leave_is_asked_for_before_each_change")
class AsksOnce(TwinEngine):
    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        return super().carry_out(errand, Permit(again=warrant.again, allowed=warrant.may()))


@finds("a_boot_mark_changes_when_the_memory_is_lost", "a_boot_mark_stays_as_long_as_the_memory_does")
class PowerIsTheMark(TwinEngine):
    """The mark is made from what the machine does, not from its memory."""

    def listing(self, host: str) -> Listing:
        found = super().listing(host)
        marked = tuple(msgspec.structs.replace(each, boot_mark=f"{each.power}") for each in found.machines)
        if all(each.power is RUNNING for each in found.machines) and len(marked) == 1:
            marked = tuple(msgspec.structs.replace(each, boot_mark=f"{each.ref}#1") for each in marked)
        return msgspec.structs.replace(found, machines=marked)


@finds("a_listing_is_complete_and_what_is_not_in_it_is_gone")
class ListsWhatItOnceSaw(TwinEngine):
    def listing(self, host: str) -> Listing:
        found = super().listing(host)
        seen = {each.ref: each for each in (*vars(self).get("seen", ()), *found.machines)}
        vars(self)["seen"] = (*seen.values(),)
        return msgspec.structs.replace(found, machines=(*seen.values(),))


@finds("a_machine_that_nobody_adopted_is_listed_and_left_alone")
class DeletesAllThere(TwinEngine):
    def _delete(self, errand: Errand, warrant: Warrant) -> Next:
        for other in self.listing(errand.host).machines:
            self._hosts.drop(other.ref, errand.host)
        return super()._delete(errand, warrant)


@finds(
    "a_crash_is_told_from_a_machine_that_was_stopped",
    "a_guest_that_shuts_itself_down_has_not_crashed",
)
class OffIsOff(TwinEngine):
    def listing(self, host: str) -> Listing:
        found = super().listing(host)
        told = tuple(msgspec.structs.replace(each, why=SeenWhy.UNKNOWN) for each in found.machines)
        return msgspec.structs.replace(found, machines=told)


@finds("a_hint_follows_a_change")
class NeverHints(TwinEngine):
    def changes(self, host: str, cursor: str) -> Iterator[str]:
        yield ""


@finds("a_refusal_is_passed_on_word_for_word_and_nothing_was_changed")
class OwnWords(TwinEngine):
    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        result = super().carry_out(errand, warrant)
        return Failed("That did not work.", lasting=result.lasting) if isinstance(result, Failed) else result


@finds("nothing_is_left_of_a_machine_that_could_not_be_made_and_its_name_is_free")
class LeavesTheHalfMade(TwinEngine):
    """What cannot be started stays as it was made."""

    def _undo(self, errand: Errand) -> Next:
        return Failed(self._refused.pop(errand.id), lasting=True)


@finds("what_cannot_be_done_to_a_machine_that_is_gone_is_refused_for_good")
class WaitsForWhatIsGone(TwinEngine):
    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        result = super().carry_out(errand, warrant)
        return NotYet(result.why, 60.0) if isinstance(result, Failed) else result


@finds(
    "a_call_that_hangs_is_given_up_and_not_taken_for_a_failure",
    "of_a_host_that_is_silent_nothing_is_said",
)
class SilenceIsAnAnswer(TwinEngine):
    def carry_out(self, errand: Errand, warrant: Warrant) -> ErrandResult:
        result = super().carry_out(errand, warrant)
        return Failed(result.why, lasting=True) if isinstance(result, Unknown) else result

    def listing(self, host: str) -> Listing:
        try:
            return super().listing(host)
        except EngineFault:
            return Listing(host, complete=True, machines=())


@finds(
    "a_pause_that_is_abandoned_is_over",
    "a_migration_that_is_abandoned_leaves_the_machine_where_it_was",
)
class AbandonsNothing(TwinEngine):
    def abandon(self, errand: Errand) -> None:
        """Forgets it."""


@finds("adopting_and_releasing_leave_a_machine_as_it_is")
class AdoptsByRestarting(TwinEngine):
    def adopt(self, host: str, ref: str, vm: str, vm_id: str) -> None:
        try:
            self._hosts.change(TwinCall.RESTART, host, ref, "")
        except (CallLost, CallRefused):
            return


@finds("no_machine_ends_with_the_engine")
class TakesThemAlong(TwinEngine):
    def close(self) -> None:
        for host in self._hosts.names:
            self._hosts.fence(host)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_twin_with_a_bug_breaks_the_promise_that(name: str) -> None:
    assert name in PLANTS, f"plant a bug that the case {name} finds"
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        CASES[name].check(TwinBench(PLANTS[name]))
