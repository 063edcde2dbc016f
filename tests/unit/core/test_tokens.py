"""Tokens of a region: made once, known by a digest, revoked for good."""

from __future__ import annotations

import pytest

from forewarn.core.refusal import Hint, Refused
from forewarn.core.tokens.facts import TokenMade, TokenRevoked
from forewarn.core.tokens.values import MakeToken, RevokeToken, Role
from tests.unit.web.metadata.story import Story


def made(story: Story, name: str, token_id: str = "1f", role: Role = Role.READ) -> None:
    story.tell(MakeToken(token_id, name, role, f"digest of {name}"))


def test_each_role_may_do_what_the_ones_before_it_may() -> None:
    allowed = {role: [each for each in Role if role.may(each)] for role in Role}
    assert allowed == {
        Role.READ: [Role.READ],
        Role.OPERATE: [Role.READ, Role.OPERATE, Role.RELAY],
        Role.ADMIN: [Role.READ, Role.OPERATE, Role.ADMIN, Role.RELAY],
        Role.RELAY: [Role.RELAY],
    }


def test_a_token_is_in_the_region_until_it_is_revoked_by_name_or_id() -> None:
    story = Story()
    (fact,) = story.tell(MakeToken("1f", "Anna", Role.OPERATE, "abc"))
    assert fact == TokenMade(story.now, "1f", "Anna", Role.OPERATE, "abc")
    assert story.region.tokens["1f"].role is Role.OPERATE
    assert story.tell(RevokeToken("ANNA")) == (TokenRevoked(story.now, "1f", "Anna"),)
    assert not story.region.tokens
    made(story, "anna", "2a")
    story.tell(RevokeToken("2A"))
    assert not story.region.tokens


@pytest.mark.parametrize(
    ("name", "hint"),
    [("ANNA", Hint.CONFLICT), *((name, Hint.INVALID) for name in ("", "a b", "a\n", "a" * 41))],
)
def test_a_name_that_is_taken_or_is_none_is_refused_and_nothing_changes(name: str, hint: Hint) -> None:
    story = Story()
    made(story, "anna")
    before = story.region
    with pytest.raises(Refused) as refused:
        made(story, name, "2b")
    assert refused.value.hint is hint
    assert story.region is before


def test_revoking_what_is_not_there_is_refused() -> None:
    with pytest.raises(Refused, match="There is no token named 'bert'"):
        Story().tell(RevokeToken("bert"))
