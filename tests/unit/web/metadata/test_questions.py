"""The order of checks, and how a target is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.core.region import Vm
from forewarn.web.metadata.asking import questions
from forewarn.web.metadata.asking.questions import (
    ApproveEvents,
    Question,
    ReadDocument,
    ReadInstance,
    ReadVersions,
    Target,
    question_of,
    read_target,
)
from forewarn.web.metadata.asking.request import NEVER, Request, Unless, read_unless, read_wait
from forewarn.wire import errors
from forewarn.wire.errors import ErrorReply
from forewarn.wire.versions import NEWEST
from tests.unit.web.metadata.story import Story

_HOST = (b"host", b"169.254.169.254")
_TRUE = (b"metadata", b"true")
_EVENTS = b"/metadata/scheduledevents?api-version=2020-07-01"


def _vm() -> Vm:
    story = Story()
    story.create("web")
    return story.vm("web")


def _ask(verb: bytes, target: bytes, *fields: tuple[bytes, bytes], body: bytes = b"") -> Question | ErrorReply:
    vm = _vm()
    return question_of(
        Request(verb, target, [_HOST, *fields], body), lambda named: vm if named in (None, "web") else None, 120
    )


def test_a_read_is_a_question_about_the_document() -> None:
    question = _ask(b"GET", b"/vm/web" + _EVENTS, _TRUE, (b"if-none-match", b"3"), (b"prefer", b"wait=7"))
    assert question == ReadDocument(_vm(), "web", NEWEST, Unless(frozenset({3})), 7)


def test_a_wait_without_a_document_to_go_by_is_no_wait() -> None:
    assert _ask(b"GET", _EVENTS, _TRUE, (b"prefer", b"wait=7")) == ReadDocument(_vm(), None, NEWEST)


def test_an_approval_keeps_its_body_for_later() -> None:
    assert _ask(b"POST", _EVENTS, _TRUE, body=b"anything") == ApproveEvents(_vm(), b"anything")


def test_instance_and_versions_are_questions_of_their_own() -> None:
    instance = _ask(b"GET", b"/metadata/instance/compute/name/?api-version=2021-12-13&format=text", _TRUE)
    assert instance == ReadInstance(_vm(), "2021-12-13", ("compute", "name"), "text")
    assert _ask(b"GET", b"/metadata/versions", _TRUE) == ReadVersions(_vm())


def test_an_unknown_path_is_refused_before_the_caller_is_identified() -> None:
    def who(_: str | None) -> Vm | None:
        raise AssertionError("nobody needs to know")

    assert question_of(Request(b"GET", b"/nowhere", [_HOST, _TRUE]), who, 120) is errors.NOT_FOUND


@pytest.mark.parametrize(
    ("verb", "target", "fields", "answer"),
    [
        (b"PUT", b"/x", [(b"x-forwarded-for", b"")], errors.FORWARDED),
        (b"PUT", b"/x", [], errors.MISSING_HEADER),
        (b"PUT", b"/x", [_TRUE], errors.NOT_FOUND),
        (b"PUT", b"/vm/other/metadata/versions", [_TRUE], errors.NOT_FOUND),
        (b"PUT", b"/metadata/versions?a&a", [_TRUE], errors.method_not_allowed("GET")),
        (b"GET", b"/metadata/scheduledevents?a=1&A=2", [_TRUE], errors.duplicate_parameter("a")),
        (b"GET", b"/metadata/scheduledevents", [_TRUE], errors.BAD_VERSION),
        (b"GET", b"/metadata/instance?api-version=2020-07-01", [_TRUE], errors.BAD_VERSION),
        (b"POST", b"/metadata/scheduledevents?api-version=2017-03-01&a&a", [], errors.MISSING_HEADER),
    ],
)
def test_the_first_check_that_fails_answers(
    verb: bytes, target: bytes, fields: list[tuple[bytes, bytes]], answer: ErrorReply
) -> None:
    assert _ask(verb, target, *fields) == answer


def test_only_the_oldest_approval_may_lack_the_header() -> None:
    old = b"/metadata/scheduledevents?api-version=2017-03-01"
    assert isinstance(_ask(b"POST", old), ApproveEvents)
    assert _ask(b"GET", old) is errors.MISSING_HEADER
    assert _ask(b"POST", b"/metadata/versions?api-version=2017-03-01") is errors.MISSING_HEADER


@pytest.mark.parametrize(
    ("raw", "target"),
    [
        (b"/vm/a%20b/metadata/versions", Target("a b", "versions", (), ())),
        (b"/vm/a%2Fb/metadata/versions", Target("a/b", "versions", (), ())),
        (b"/vm/a/b/metadata/versions", Target("a", None, (), ())),
        (b"HTTP://h:1/metadata/instance/a?q=1+2&r=%26", Target(None, "instance", ("a",), (("q", "1 2"), ("r", "&")))),
        (b"https://h?x", Target(None, None, (), ())),
        (b"metadata/versions", Target(None, None, (), ())),
        (b"/metadata/instance//a", Target(None, "instance", ("", "a"), ())),
        (b"", Target(None, None, (), ())),
    ],
)
def test_a_target_is_taken_apart_before_it_is_decoded(raw: bytes, target: Target) -> None:
    assert read_target(raw) == target


@given(st.binary(max_size=200))
def test_any_target_can_be_taken_apart(raw: bytes) -> None:
    assert read_target(b"/" + raw).service in {None, "scheduledevents", "instance", "versions"}


@pytest.mark.parametrize(
    ("values", "unless"),
    [
        ([], NEVER),
        ([b"5"], Unless(frozenset({5}))),
        ([b'"5", W/"6"', b"7"], Unless(frozenset({5, 6, 7}))),
        ([b"*"], Unless(everything=True)),
        ([b"abc"], Unless(frozenset())),
        ([b"-5, 5.0, 0x5"], Unless(frozenset())),
        ([b"9" * 5000], Unless(frozenset())),
    ],
)
def test_the_tags_of_if_none_match_are_read_leniently(values: list[bytes], unless: Unless) -> None:
    assert read_unless(values) == unless


def test_a_reader_with_the_current_tag_needs_no_document() -> None:
    assert Unless(everything=True).covers(7)
    assert not NEVER.covers(0)


@pytest.mark.parametrize(
    ("values", "wait"),
    [
        ([], None),
        ([b"wait=10"], 10),
        ([b"respond-async", b"WAIT = 10 ; strict"], 10),
        ([b'wait="10"'], 10),
        ([b"wait=10, wait=20"], 10),
        ([b"wait=500"], 120),
        ([b"wait=" + b"9" * 4000], None),
        ([b"wait=1.5"], None),
    ],
)
def test_a_wish_to_wait_is_granted_up_to_the_limit(values: list[bytes], wait: int | None) -> None:
    assert read_wait(values, 120) == wait


def test_what_is_remembered_of_targets_is_bounded() -> None:
    most = questions._read_again.cache_info().maxsize
    assert most is not None
    long = b"/metadata/versions?" + b"x" * questions._LONGEST_REMEMBERED
    before = questions._read_again.cache_info().currsize
    assert read_target(long).service == "versions"
    assert questions._read_again.cache_info().currsize == before
    for number in range(most + 10):
        read_target(b"/vm/a-%d/metadata/versions" % number)
    assert questions._read_again.cache_info().currsize == most
