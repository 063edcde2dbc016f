"""Each promise of the metadata face finds a bug of readers that is planted for it, and so does each of their own."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from forewarn.core.region import Region, replace
from forewarn.core.specs import ScopeKind
from forewarn.server.readers import telling
from forewarn.server.readers.answering import HandedOn
from forewarn.server.readers.ground import ReaderGround, ReaderStanding
from forewarn.server.readers.messages import Beat, Edition, HandedAnswer, HandedRequest, encode
from forewarn.server.readers.seats import Seat
from forewarn.server.readers.service import ReaderService
from forewarn.server.readers.shared_number import SharedNumber
from forewarn.server.readers.telling import Telling
from forewarn.web.metadata.answering.cache import reply_to
from forewarn.web.metadata.answering.serving import STALE
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.metadata.service import Service
from forewarn.web.slices.holding import Holding
from forewarn.web.watched import WatchedVms
from forewarn.wire.errors import JSON, ErrorReply
from tests.contract.metadata.cases import CASES
from tests.contract.metadata.reader_cases import READER_CASES
from tests.contract.metadata.readers_bench import HastyReadersBench
from tests.e2e.metadata_region import region_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="readers share memory as Linux has it")

Plant = Callable[[pytest.MonkeyPatch], None]
PLANTS: list[tuple[str, Plant]] = []
_EMPTY = reply_to(ErrorReply(200, JSON, b""))


def plant(case: str) -> Callable[[Plant], Plant]:
    def put(bug: Plant) -> Plant:
        PLANTS.append((case, bug))
        return bug

    return put


# What every face promises


@plant("the_first_read_enables_the_scope_and_is_in_the_journal_before_its_answer")
def the_id_of_a_request_gets_lost_on_its_way_back(patch: pytest.MonkeyPatch) -> None:
    true = ReaderGround.answered
    patch.setattr(ReaderGround, "answered", lambda self, answer: true(self, replace(answer, request_id="")))


@plant("first_reads_of_one_scope_at_the_same_moment_enable_it_once")
@plant("first_reads_at_all_readers_at_once_are_one")
def who_comes_while_another_is_asking_is_turned_away(patch: pytest.MonkeyPatch) -> None:
    true = HandedOn.ask

    def ask(self: HandedOn, asked: HandedRequest) -> None:
        if len(self) or "busy" in vars(self._service):
            self._answer(HandedAnswer(asked.number, *STALE))
            return
        vars(self._service)["busy"] = True
        asyncio.get_running_loop().call_later(0.5, lambda: true(self, asked))  # the others come meanwhile
        asyncio.get_running_loop().call_later(0.6, lambda: vars(self._service).pop("busy"))

    patch.setattr(HandedOn, "ask", ask)


@plant("an_incarnation_has_the_bytes_that_the_node_itself_gives_in_every_version")
def the_kind_of_a_scope_gets_lost(patch: pytest.MonkeyPatch) -> None:
    true = telling.scope_slice
    patch.setattr(telling, "scope_slice", lambda *values: replace(true(*values), kind=ScopeKind.VM))


@plant("what_a_vm_is_told_of_itself_is_what_the_node_tells")
def a_reader_tells_vms_of_themselves_without_knowing_much(patch: pytest.MonkeyPatch) -> None:
    true = ReaderService._respond_now

    def respond(self: ReaderService, request: Any, caller: Any) -> Any:
        own = b"/instance?" in request.target
        return Service._respond(self, request, caller) if own else true(self, request, caller)

    patch.setattr(ReaderService, "_respond_now", respond)


@plant("an_approval_is_in_the_journal_and_in_the_next_document_once_it_is_answered")
def approvals_are_answered_and_not_handed_on(patch: pytest.MonkeyPatch) -> None:
    true = ReaderService._respond_now
    patch.setattr(
        ReaderService,
        "_respond_now",
        lambda self, request, caller: _EMPTY if request.verb == b"POST" else true(self, request, caller),
    )


@plant("a_refused_approval_says_what_the_node_says_and_changes_nothing")
def a_refusal_is_taken_for_success(patch: pytest.MonkeyPatch) -> None:
    true = ReaderGround.answered

    def answered(self: ReaderGround, answer: HandedAnswer) -> None:
        verb = self._asking[answer.number][0]
        true(self, replace(answer, before=_EMPTY.before, after=_EMPTY.after) if verb == b"POST" else answer)

    patch.setattr(ReaderGround, "answered", answered)


@plant("a_held_get_is_answered_by_the_next_change_of_its_scope")
@plant("a_held_get_wakes_at_every_reader")
def readers_that_wait_are_not_woken(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MetadataFace, "renew", lambda *_: None)


@plant("documents_never_go_back_while_events_come_and_go")
def an_event_that_was_canceled_stays(patch: pytest.MonkeyPatch) -> None:
    true = Holding._know

    def know(self: Holding, told: Any) -> None:
        true(self, [each for each in told if each.events or not each.incarnation > 2])

    patch.setattr(Holding, "_know", know)


@plant("a_vm_that_is_deleted_is_not_known_any_more_and_a_held_get_of_it_ends")
def what_is_gone_is_kept(patch: pytest.MonkeyPatch) -> None:
    true = Holding._take
    patch.setattr(Holding, "_take", lambda self, _gone, slices: true(self, (), slices))


@plant("a_vm_is_known_by_its_binding_from_when_it_has_one_until_it_has_none")
def an_old_binding_goes_on(patch: pytest.MonkeyPatch) -> None:
    true = Holding._take

    def take(self: Holding, gone: Any, slices: Any) -> None:
        before = self.region.addresses
        true(self, gone, slices)
        self.region = replace(self.region, addresses=before.update(self.region.addresses))

    patch.setattr(Holding, "_take", take)


@plant("a_scope_that_is_read_stays_enabled_and_one_that_is_not_goes_on_from_its_number")
def scopes_that_were_disabled_are_not_told_of(patch: pytest.MonkeyPatch) -> None:
    true = telling._is_same_scope

    def same(before: Region, after: Region, scope: Any) -> bool:
        return scope.enabled_at is None or true(before, after, scope)

    patch.setattr(telling, "_is_same_scope", same)


@plant("a_vm_that_is_somebody_elses_or_nobodys_is_not_found")
def what_the_server_does_not_find_is_taken_for_nothing_new(patch: pytest.MonkeyPatch) -> None:
    true = ReaderGround.answered

    def answered(self: ReaderGround, answer: HandedAnswer) -> None:
        is_missing = answer.before.startswith(b"HTTP/1.1 404")
        true(self, replace(answer, before=_EMPTY.before, after=_EMPTY.after) if is_missing else answer)

    patch.setattr(ReaderGround, "answered", answered)


# What readers promise


@plant("what_one_reader_has_shown_another_does_not_take_back")
def the_number_is_raised_after_readers_were_told(patch: pytest.MonkeyPatch) -> None:
    true = SharedNumber.raise_to

    def late(self: SharedNumber, number: int) -> None:
        if number == 1:
            true(self, number)
        else:
            asyncio.get_running_loop().call_later(1.0, lambda: true(self, number))

    patch.setattr(SharedNumber, "raise_to", late)


@plant("what_one_reader_has_shown_another_does_not_take_back")
def answers_from_memory_do_not_look_at_the_number(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReaderStanding, "current_until", property(lambda self: self.until))


@plant("a_reader_that_is_behind_holds_a_request_in_other_words_too")
def other_answers_do_not_look_at_the_number(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReaderService, "_respond", ReaderService._respond_now)


@plant("a_reader_without_its_server_answers_for_as_long_as_what_it_knows_is_good")
def a_reader_that_lost_its_server_goes_on(patch: pytest.MonkeyPatch) -> None:
    true = ReaderGround.hear

    def hear(self: ReaderGround, beat: Beat) -> None:
        true(self, beat)
        self.standing.until = math.inf

    patch.setattr(ReaderGround, "hear", hear)


@plant("a_reader_without_its_server_answers_for_as_long_as_what_it_knows_is_good")
def a_reader_waits_for_a_server_that_is_silent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReaderGround, "is_silent", property(lambda _self: False))


@plant("a_fault_rule_counts_for_all_readers_together")
def readers_are_not_told_of_fault_rules(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Telling, "_rules_changed", lambda _self: None)


@plant("reads_of_a_vm_that_somebody_watches_are_noted_whichever_reader_has_them")
@plant("a_held_get_of_a_vm_that_is_watched_meanwhile_goes_on_waiting")
def readers_do_not_care_who_is_watched(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(WatchedVms, "show", lambda *_: None)


@plant("what_is_published_while_a_reader_is_told_the_rest_reaches_it_too")
def what_is_told_during_a_beginning_is_lost(patch: pytest.MonkeyPatch) -> None:
    true = Seat.tell
    patch.setattr(Seat, "tell", lambda self, said: None if self._later is not None else true(self, said))


@plant("what_is_published_while_a_reader_is_told_the_rest_reaches_it_too")
def what_is_told_during_a_beginning_comes_in_between(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Seat, "tell", lambda self, said: self._channel and self._channel.send(said))


@plant("what_waits_for_a_reader_that_begins_is_answered_before_the_server_ends")
def who_is_not_ready_at_the_end_is_killed(patch: pytest.MonkeyPatch) -> None:
    true = Seat.finish
    patch.setattr(Seat, "finish", lambda self: true(self) if self.ready.is_set() else self.kill())


@plant("a_reader_that_was_killed_comes_back_and_its_neighbour_is_not_touched")
def the_next_reader_is_taken_to_know_what_the_last_one_did(patch: pytest.MonkeyPatch) -> None:
    true = Telling.beginning

    def beginning(self: Telling) -> Any:
        if self.edition == 1:
            yield from true(self)
        else:
            yield encode(Edition(self.edition, self.beat()))

    patch.setattr(Telling, "beginning", beginning)


@plant("a_reader_that_was_killed_comes_back_and_its_neighbour_is_not_touched")
def all_readers_go_when_one_is_killed(patch: pytest.MonkeyPatch) -> None:
    true = Seat._leave

    def leave(self: Seat) -> None:
        true(self)
        for each in seats:
            each.kill()

    seats: list[Seat] = []
    serve = Seat.serve

    async def noted(self: Seat, telling: Telling) -> int:
        seats.append(self)
        return await serve(self, telling)

    patch.setattr(Seat, "serve", noted)
    patch.setattr(Seat, "_leave", leave)


@plant("a_reader_is_told_the_reads_of_nobody_and_the_server_those_of_all")
def reads_are_not_reported(patch: pytest.MonkeyPatch) -> None:
    true = Seat._note
    patch.setattr(Seat, "_note", lambda self, said: true(self, replace(said, reads={})))


def test_every_case_has_a_bug_that_it_finds() -> None:
    assert {case for case, _ in PLANTS} == CASES.keys() | READER_CASES.keys()


@pytest.mark.parametrize(("case", "bug"), PLANTS, ids=[bug.__name__ for _, bug in PLANTS])
def test_a_planted_bug_is_found(case: str, bug: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    check: Any = CASES.get(case) or READER_CASES[case]
    staleness = timedelta(seconds=1 if "without_its_server" in case else 10)
    with (
        pytest.raises((AssertionError, KeyError, OSError)),
        region_of(HastyReadersBench, staleness=staleness) as bench,
    ):
        check(bench)
