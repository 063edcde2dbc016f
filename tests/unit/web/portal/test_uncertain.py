"""A write whose outcome nobody knows: the page does not call it impossible, and does not offer to do it again."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

from forewarn.plane.ports import Uncertain
from forewarn.stores.memory import MemoryJournal
from tests.unit.web.portal.conftest import OpenPortal, filled_by
from tests.unit.web.portal.regions import small
from tests.unit.web.portal.visitor import read

pytestmark = pytest.mark.anyio


class Doubtful(MemoryJournal):
    """Goes away while it is told to commit."""

    gone = False

    def write(self) -> AbstractContextManager[Any]:  # type: ignore[override]  # fails before it writes
        if self.gone:
            raise Uncertain("The connection was lost at port 5432 of db.example.")
        return super().write()


async def test_a_deed_of_which_nobody_knows_whether_it_happened_is_not_called_impossible(
    open_portal: OpenPortal,
) -> None:
    journal = Doubtful()
    async with open_portal(journal=journal) as browser:
        await small(browser)
        asked = await browser.page("/portal/do/restart?vm=web-2&back=/portal/vms/web-2")
        (form,) = (each for each in asked.all("form") if "/do/" in each.attributes["action"])
        journal.gone = True
        answer = await browser.send(form.attributes["action"], filled_by(form))
        journal.gone = False
    page = read(answer.text)
    (told,) = [each for each in page.walk() if each.attributes.get("role") == "alert"]
    assert answer.status_code == 502
    assert "It may have happened." in told.text
    assert "Look before you ask again" in told.text
    assert "Not possible" not in page.text
    assert "db.example" not in answer.text
    assert [link.attributes["href"] for link in told.all("a")] == ["/portal/vms/web-2"]
    assert [each.text for each in page.all("button") if each.text == "Restart"] == []  # nothing that repeats it
