"""With which seed each planted bug is found, and by which rule. ``python -m tests.sim.search --write`` writes this."""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    """A seed for the plant's plan, and the rule that the first violation breaks."""

    seed: int
    rule: str


FOUND: dict[str, Found] = {
    "start_early": Found(1, "law"),
    "approve_unprepared": Found(1, "agent"),
    "ask_nobody": Found(1, "agent"),
    "forget_to_restore": Found(1, "liveness"),
    "show_another_scope": Found(1, "wire"),
    "answer_before_it_is_on_disk": Found(1, "acknowledged"),
    "guess_how_it_ended": Found(1, "watcher"),
    "answer_when_cut_off": Found(1, "stale"),
    "co_tenants_are_not_waited_for": Found(1, "law"),
    "terminate_shown_to_2017": Found(1, "wire"),
    "other_scopes_may_approve": Found(1, "forbidden"),
    "disabled_after_23_hours": Found(1, "law"),
    "recovery_is_forgotten": Found(1, "law"),
    "notice_is_halved": Found(1, "law"),
    "an_impact_is_begun_twice": Found(55, "law"),
    "resources_lose_a_name": Found(1, "wire"),
    "started_with_its_old_time": Found(1, "wire"),
    "one_user_operation_too_many": Found(4, "law"),
    "the_same_words_get_the_same_answer": Found(1, "wire"),
    "a_disabled_scope_is_still_answered": Found(2, "stale"),
    "reads_are_not_noted": Found(1, "law"),
    "reads_of_deleted_vms_are_lost": Found(5, "law"),
    "an_enabling_announces_nothing": Found(2, "wire"),
    "a_lag_hides_a_new_enabling": Found(4, "stale"),
    "skipping_reaches_the_neighbours": Found(2, "stale"),
    "reads_through_followers_are_lost": Found(1, "law"),
    "the_date_stands_still": Found(1, "date"),
    "followers_wake_nobody": Found(1, "agent"),
    "an_etag_matches_whatever_is_newer": Found(1, "wire"),
    "campaigns_see_campaigns_only": Found(2, "law"),
    "the_next_wave_does_not_wait": Found(1, "invariant"),
    "a_cancellation_frees_nobody": Found(8, "law"),
    "one_that_is_down_speaks_for_all": Found(10, "law"),
    "nobody_waits_for_its_turn": Found(4, "invariant"),
    "the_end_of_an_impact_calls_nobody": Found(4, "law"),
    "a_vm_that_has_moved_is_still_hit": Found(1, "law"),
    "a_failed_commit_is_published": Found(2, "wire"),
    "owed_impacts_are_forgotten": Found(9, "law"),
    "snapshots_forget_retired_numbers": Found(1, "wire"),
    "snapshots_forget_what_is_due": Found(1, "invariant"),
    "a_leap_of_the_clock_is_believed": Found(1, "clock"),
    "a_killed_agent_forgets_its_steps": Found(1, "liveness"),
    "a_silent_member_is_ready": Found(1, "agent"),
    "nobody_listens_for_who_came_later": Found(1, "late"),
    "an_unknown_outcome_is_a_yes": Found(4, "forbidden"),
    "the_silence_of_the_nodes_store_does_not_count": Found(2, "stale"),
    "a_relay_believes_for_ever": Found(1, "stale"),
    "what_has_gone_is_not_told": Found(2, "relays"),
    "a_lag_hides_what_a_relay_was_told_of_an_enabling": Found(4, "inner fault"),
}
