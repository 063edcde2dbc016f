"""Lists as files: the rows that the page's filter chooses, all of them, and nothing that a sheet would run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

import pytest

from forewarn.web.operator.schema.answers import Answer
from forewarn.web.portal.pages.export import LISTS
from forewarn.web.portal.sheets import MOST_ROWS, CsvSheet, JsonSheet, Sheet, written
from tests.unit.web.portal.conftest import OpenPortal

pytestmark = pytest.mark.anyio

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"]


class Row(Answer):
    name: str
    size: int = 3
    host: str | None = None
    tags: list[str] = []
    policy: dict[str, bool] = {}


def rows(*names: str) -> list[Row]:
    return [Row(name=name) for name in names]


async def file_of(sheet: Sheet, found: Sequence[Row], most: int = MOST_ROWS) -> str:
    """Two rows at a time, of which none comes twice."""

    async def rows_after(after: str, limit: int) -> tuple[Sequence[Row], str | None]:
        start = int(after or 0)
        end = min(start + min(limit, 2), len(found))
        return found[start:end], str(end) if end < len(found) else None

    return "".join([piece async for piece in written(sheet, rows_after, most)])


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


async def test_every_row_is_there_once_and_the_end_says_that_nothing_is_missing() -> None:
    found = rows("a", "b", "c", "d", "e")
    assert [line[0] for line in table(await file_of(CsvSheet("vms", Row), found))] == ["name", *"abcde"]
    told = json.loads(await file_of(JsonSheet("vms", Row), found))
    assert ([row["name"] for row in told["vms"]], told["rows"], told["cut"]) == (list("abcde"), 5, None)


@pytest.mark.parametrize("count", [0, 1, 2])
async def test_a_short_list_is_a_whole_file(count: int) -> None:
    found = rows(*"ab"[:count])
    assert len(table(await file_of(CsvSheet("vms", Row), found))) == 1 + count
    assert json.loads(await file_of(JsonSheet("vms", Row), found)) == {
        "vms": [row.model_dump() for row in found],
        "rows": count,
        "cut": None,
    }


async def test_a_list_that_is_too_long_is_cut_and_says_so() -> None:
    found = rows(*"abcde")
    *_, last, end = table(await file_of(CsvSheet("vms", Row), found, most=3))
    told = json.loads(await file_of(JsonSheet("vms", Row), found, most=3))
    assert (last[0], end) == ("c", ["cut after 3 rows: choose fewer by a filter"])
    assert (len(told["vms"]), told["cut"]) == (3, "cut after 3 rows: choose fewer by a filter")
    assert MOST_ROWS == 100_000


async def test_a_list_that_just_fits_is_not_called_cut() -> None:
    assert len(table(await file_of(CsvSheet("vms", Row), rows(*"abc"), most=3))) == 4
    assert json.loads(await file_of(JsonSheet("vms", Row), rows(*"abc"), most=3))["cut"] is None


@pytest.mark.parametrize("text", FORMULAS, ids=repr)
async def test_what_begins_like_a_formula_is_text_in_a_sheet(text: str) -> None:
    found = [Row(name=text, size=-1, tags=[text, "b"])]
    _, line = table(await file_of(CsvSheet("vms", Row), found))
    assert line == [f"'{text}", "-1", "", f"'{text} b", "{}"]
    assert json.loads(await file_of(JsonSheet("vms", Row), found))["vms"][0]["name"] == text


async def test_a_file_holds_what_the_filter_of_the_page_chooses(open_portal: OpenPortal) -> None:
    async with open_portal() as browser:
        await browser.ask("/v1/vms", {"name": "web", "count": 120, "availability_set": "front", "read": True}, 201)
        await browser.ask("/v1/vms", {"name": "db", "size": "=cmd|' /C calc'!A0"}, 201)
        await browser.ask("/v1/vms/restart", {"names": ["web-0"]})
        await browser.ask("/v1/scale-sets", {"name": "pool", "capacity": 0}, 201)
        await browser.ask("/v1/campaigns", {"kind": "freeze", "hosts": ["host-0"]}, 201)
        links = [each.attributes["href"] for each in (await browser.page("/portal/vms?q=web+ud:1")).all("a")]
        address = next(each for each in links if "/export/" in each)
        file = await browser.client.get(address)
        api = await browser.api("/v1/vms", name="web", ud=1)
        whole = json.loads((await browser.client.get("/portal/export/vms.json")).text)
        everything = (await browser.client.get("/portal/export/vms.csv")).text
        counts = {
            name: json.loads((await browser.client.get(f"/portal/export/{name}.json")).text)["rows"] for name in LISTS
        }

    assert [line[0] for line in table(file.text)][1:] == [vm["name"] for vm in api["vms"]]
    assert len(api["vms"]) == 24
    assert file.headers["Content-Disposition"] == 'attachment; filename="vms.csv"'
    assert file.headers["X-Content-Type-Options"] == "nosniff"
    assert (whole["rows"], len(whole["vms"])) == (121, 121)
    assert "'=cmd|" in everything
    assert counts == {
        "vms": 121,
        "events": 2,
        "hosts": 31,
        "availability-sets": 1,
        "cloud-services": 0,
        "scale-sets": 1,
        "campaigns": 1,
        "activity": 5,
    }


@pytest.mark.parametrize(
    ("address", "status", "sentence"),
    [
        ("vms.csv?q=power:purple", 400, "power"),
        ("hosts.json?health=purple", 400, "health"),
        ("activity.json?door=purple", 400, "door"),
        ("vms.xls", 404, "no such list to export"),
        ("secrets.csv", 404, "no such list to export"),
    ],
)
async def test_what_cannot_be_exported_is_refused_as_a_page(
    open_portal: OpenPortal, address: str, status: int, sentence: str
) -> None:
    async with open_portal() as browser:
        page = await browser.page(f"/portal/export/{address}", status=status)
        assert sentence in page.text
