"""Each case of the metadata face's contract finds a bug of the relay that is planted for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from forewarn.core.region import Region, Vm, replace
from forewarn.core.specs import ScopeKind
from forewarn.plane.ports import JournalFault
from forewarn.server.relaying.ground import RelayAnswer, RelayGround
from forewarn.web.metadata.face import MetadataFace
from forewarn.web.operator.live.relays import RelayedVms
from forewarn.web.slices import cutting
from forewarn.web.slices.holding import Holding
from tests.contract.metadata.bench import HastyRelayBench
from tests.contract.metadata.cases import CASES
from tests.e2e.metadata_region import region_of

Plant = Callable[[pytest.MonkeyPatch], None]
PLANTS: dict[str, Plant] = {}


def plant(case: str) -> Callable[[Plant], Plant]:
    def put(bug: Plant) -> Plant:
        PLANTS[case] = bug
        return bug

    return put


@plant("the_first_read_enables_the_scope_and_is_in_the_journal_before_its_answer")
def first_reads_are_forwarded_without_the_id_of_their_request(patch: pytest.MonkeyPatch) -> None:
    true = RelayGround._enable
    patch.setattr(RelayGround, "_enable", lambda self, vm, _id: true(self, vm, ""))


@plant("first_reads_of_one_scope_at_the_same_moment_enable_it_once")
def who_comes_while_a_first_read_is_under_way_is_turned_away(patch: pytest.MonkeyPatch) -> None:
    true, forward = RelayGround.enable, RelayGround._enable

    async def enable(self: RelayGround, vm: Vm, request_id: str = "") -> None:
        if vm.scope in self._enablings:
            raise JournalFault("Somebody else is at it.")
        await true(self, vm, request_id)

    async def take_a_while(self: RelayGround, vm: Vm, request_id: str) -> None:
        await asyncio.sleep(0.5)  # the others come meanwhile, on a busy machine too
        await forward(self, vm, request_id)

    patch.setattr(RelayGround, "enable", enable)
    patch.setattr(RelayGround, "_enable", take_a_while)


@plant("an_incarnation_has_the_bytes_that_the_node_itself_gives_in_every_version")
def the_kind_of_a_scope_gets_lost(patch: pytest.MonkeyPatch) -> None:
    true = cutting.scope_slice
    patch.setattr(cutting, "scope_slice", lambda *args: _other(true(*args), kind=ScopeKind.VM))


@plant("what_a_vm_is_told_of_itself_is_what_the_node_tells")
def a_vm_comes_without_what_was_asked_for_it(patch: pytest.MonkeyPatch) -> None:
    true = cutting.vm_slice

    def bare(region: Region, vm: Any) -> Any:
        found = true(region, vm)
        return _other(found, vm=replace(found.vm, spec=type(found.vm.spec)()))

    patch.setattr(cutting, "vm_slice", bare)


@plant("an_approval_is_in_the_journal_and_in_the_next_document_once_it_is_answered")
def an_approval_is_answered_before_its_news_have_come(patch: pytest.MonkeyPatch) -> None:
    async def lost(_self: RelayGround, *_values: object) -> None:
        """Answers with success, and forwards nothing."""

    patch.setattr(RelayGround, "submit", lost)


@plant("a_refused_approval_says_what_the_node_says_and_changes_nothing")
def a_refusal_is_taken_for_success(patch: pytest.MonkeyPatch) -> None:
    true = RelayGround._forward

    async def forward(self: RelayGround, what: str, body: object) -> RelayAnswer:
        return RelayAnswer((await true(self, what, body)).seq)

    patch.setattr(RelayGround, "_forward", forward)


@plant("a_held_get_is_answered_by_the_next_change_of_its_scope")
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
    true = cutting._is_same_scope

    def same(before: Region, after: Region, key: str) -> bool:
        found = after.scopes.get(key)
        return true(before, after, key) or (found is not None and found.enabled_at is None)

    patch.setattr(cutting, "_is_same_scope", same)


@plant("a_vm_that_is_somebody_elses_or_nobodys_is_not_found")
def a_relay_is_told_of_all_vms(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RelayedVms, "of", lambda _self, region: tuple(region.vms))


def _other(value: Any, **fields: Any) -> Any:
    return replace(value, **fields)


def test_every_case_has_a_bug_that_it_finds() -> None:
    assert PLANTS.keys() == CASES.keys()


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS[name](monkeypatch)
    with (
        pytest.raises((AssertionError, KeyError, OSError)),
        region_of(HastyRelayBench) as bench,
    ):
        CASES[name](bench)
