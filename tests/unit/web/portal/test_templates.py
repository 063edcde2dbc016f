"""What no template may say, because a policy or an escape would be lost by it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forewarn.web.portal.rendering import FOLDER

_TEMPLATES = sorted(FOLDER.rglob("*.html"))
_FORBIDDEN = {
    "a filter or block that turns escaping off": re.compile(r"\|\s*safe\b|\bautoescape\b|\bMarkup\b"),
    "a style attribute": re.compile(r"\sstyle\s*=", re.I),
    "a handler attribute": re.compile(r"\son[a-z]+\s*=", re.I),
    "an absolute address": re.compile(r"""(?:href|src|action|formaction)\s*=\s*["']?\s*(?:[a-z]+:|//)""", re.I),
    "a link that was not made from a page": re.compile(
        r"""\b(?:href|src|action|formaction)=(?!"(?:\{\{ |#[a-z{]))""", re.I
    ),
    "a script of its own": re.compile(r"<script(?![^>]*\ssrc=)|<style", re.I),
}


@pytest.mark.parametrize("template", _TEMPLATES, ids=lambda path: str(path.relative_to(FOLDER)))
@pytest.mark.parametrize("what", _FORBIDDEN)
def test_no_template_has_a_forbidden_construct(template: Path, what: str) -> None:
    assert not _FORBIDDEN[what].search(template.read_text()), f"{template}: {what}"


@pytest.mark.parametrize(
    ("what", "example"),
    [
        ("a filter or block that turns escaping off", "{{ name|safe }}"),
        ("a style attribute", '<p style="x">'),
        ("a handler attribute", '<p onclick="x()">'),
        ("an absolute address", '<a href="https://example.com">'),
        ("a link that was not made from a page", '<a href="/portal/vms">'),
        ("a script of its own", "<script>1</script>"),
    ],
)
def test_a_template_with_a_forbidden_construct_is_found(what: str, example: str) -> None:
    assert _FORBIDDEN[what].search(example)
