"""Every form of every page leads somewhere: sent as it stands, it is answered by a page, and never by a missing one."""

from __future__ import annotations

import pytest

from tests.unit.web.portal.conftest import OpenPortal, filled_by
from tests.unit.web.portal.regions import small
from tests.unit.web.portal.test_every_page import _crawl
from tests.unit.web.portal.visitor import Element

pytestmark = pytest.mark.anyio


def _targets(form: Element) -> list[tuple[str, str]]:
    """Method and address of each way to send it: its own, and those of buttons that lead elsewhere."""
    own = form.attributes.get("method", "get"), form.attributes["action"]
    buttons = [each.attributes for each in form.all("button")]
    return [own, *((each.get("formmethod", own[0]), each.get("formaction", own[1])) for each in buttons)]


async def test_every_form_is_taken_where_it_is_sent(open_portal: OpenPortal) -> None:
    sent = set[tuple[str, str]]()
    async with open_portal() as browser:
        await small(browser)
        pages = await _crawl(browser)
        forms = [
            (path, form, target)
            for path, page in pages.items()
            for form in page.all("form")
            for target in _targets(form)
        ]
        for path, form, (method, action) in sorted(
            forms, key=lambda each: each[2][0]
        ):  # what changes something is last
            if (method, action) in sent:
                continue
            sent.add((method, action))
            if method == "get":
                answer = await browser.client.get(action, params=filled_by(form))
            else:
                answer = await browser.send(action, filled_by(form))
            assert answer.status_code in (200, 303, 400, 409), f"{path}: {method} {action}: {answer.text[:300]}"
            if answer.status_code == 303:
                assert (await browser.client.get(answer.headers["Location"])).status_code == 200, action
    assert {method for method, _ in sent} == {"get", "post"}
    assert len(sent) > 3
