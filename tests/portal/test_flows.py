"""What people come for, from the first click to what the VM sees: by mouse, by keyboard alone, and without scripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.program import EVENTS, ServerProgram, ask
from tests.portal.conftest import Visit
from tests.portal.regions import FRONT, look, tell

LONE = {"name": "lone"}


def _restart_by_mouse(page: Page) -> None:
    page.get_by_role("link", name="web-0", exact=True).click()
    page.get_by_role("link", name="Restart").click()
    dialog = page.get_by_role("dialog", name="Restart web-0?")
    expect(dialog.locator(".outlook")).to_contain_text("Reboot")
    dialog.get_by_role("button", name="Restart").click()


def _restart_by_keyboard(page: Page) -> None:
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="web-0", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("web-0")
    page.keyboard.press(".")
    expect(page.get_by_role("link", name="Restart")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="Restart")).to_be_focused()
    page.keyboard.press("Enter")


def _restart_without_scripts(page: Page) -> None:
    page.get_by_role("link", name="web-0", exact=True).click()
    page.get_by_role("link", name="Restart").click()
    expect(page.locator(".outlook")).to_contain_text("Reboot")
    page.get_by_role("button", name="Restart").click()


_WAYS = {"mouse": _restart_by_mouse, "keyboard": _restart_by_keyboard, "no scripts": _restart_without_scripts}


@pytest.mark.parametrize("way", _WAYS)
def test_a_restart_becomes_a_reboot_that_the_vm_reads_approves_and_sees_gone(
    visit: Visit, server: ServerProgram, way: str
) -> None:
    tell(server, "/v1/vms", FRONT)
    with visit(scripts=way != "no scripts") as visitor:
        page = visitor.open("/portal/vms")
        _WAYS[way](page)
        expect(page.locator(".notice.good")).to_contain_text("Done:")
        [event] = server.document("web-0")["Events"]
        assert (event["EventType"], event["EventStatus"], event["Resources"]) == ("Reboot", "Scheduled", ["web-0"])
        assert server.approve("web-0", event["EventId"]).status == 200
        tell(server, "/v1/clock/advance", {"seconds": 3600})
        assert server.document("web-0")["Events"] == []
        if way == "no scripts":
            page.reload()
        expect(page.locator("#part-vm-tab")).to_contain_text("Nothing is coming to web-0.")
        page.goto(f"{server.control}/portal/activity")
        expect(page.locator("tbody tr", has_text="restart VMs")).to_contain_text("portal")


def test_looking_at_what_a_vm_sees_enables_nothing_and_reading_once_as_the_vm_does(
    visit: Visit, server: ServerProgram
) -> None:
    tell(server, "/v1/vms", LONE)
    with visit() as visitor:
        for tab in ("sees", "instance", "events", "activity", "faults"):
            page = visitor.open(f"/portal/vms/lone?tab={tab}")
            expect(page.locator(".notice.info")).to_contain_text("Nobody has read for this scope")
        assert look(server, "/v1/scopes")["scopes"] == []  # only those that were read are told of
        page.get_by_role("link", name="Read once as lone").click()
        page.get_by_role("dialog").get_by_role("button", name="Read").click()
        expect(page.locator(".notice.good")).to_contain_text("Done:")
        expect(page.locator(".notice.info")).to_have_count(0)
        assert len(look(server, "/v1/scopes")["scopes"]) == 1


def test_what_a_vm_sees_is_byte_for_byte_what_the_metadata_face_sends(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", FRONT)
    tell(server, "/v1/vms/restart", {"names": ["web-0"]})
    with visit() as visitor:
        page = visitor.open("/portal/vms/web-0?tab=sees")
        versions = page.locator("#field-version option").all_text_contents()
        assert len(versions) == 7
        for version in versions:
            page.goto(f"{server.control}/portal/vms/web-0?tab=sees&api-version={version}")
            target = f"/vm/web-0{EVENTS.partition('?')[0]}?api-version={version}"
            assert str(page.locator("#seen-raw").text_content()).encode() == ask(server.metadata, target).body


def test_a_read_is_told_on_the_open_tab_of_its_vm_without_a_reload(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", LONE)
    ask(server.metadata, f"/vm/lone{EVENTS}")
    with visit() as visitor:
        page = visitor.open("/portal/vms/lone?tab=sees")
        reads = page.locator("#part-vm-reads")
        expect(reads).to_contain_text("lone has not read since this page is open.")
        for read in (
            1,
            2,
        ):  # the first may be told by what a page asks once it is connected; of the second nothing hints
            ask(server.metadata, f"/vm/lone{EVENTS}")
            expect(reads.locator("p")).to_have_count(read, timeout=15_000)
            expect(reads.locator("p").first).to_contain_text(
                "lone read incarnation 1 with 2020-07-01, ", timeout=15_000
            )


def test_a_range_of_rows_is_chosen_with_shift_and_done_to_all_at_once(visit: Visit, server: ServerProgram) -> None:
    tell(server, "/v1/vms", FRONT)
    with visit() as visitor:
        page = visitor.open("/portal/vms")
        expect(page.locator(".bulk button").first).to_be_disabled()
        page.get_by_role("checkbox", name="Choose web-1").click()
        page.get_by_role("checkbox", name="Choose web-4").click(modifiers=["Shift"])
        expect(page.locator("[data-selected]")).to_have_text("4 selected")
        page.get_by_role("button", name="Redeploy").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.locator(".outlook tbody tr")).to_have_count(4)
        dialog.get_by_role("button", name="Redeploy").click()
        expect(page.locator(".notice.good")).to_contain_text("Done:")
    assert sorted(vm for event in look(server, "/v1/events")["events"] for vm in event["vms"]) == [
        "web-1",
        "web-2",
        "web-3",
        "web-4",
    ]


def test_a_link_with_filters_opens_the_same_page_elsewhere_and_back_loses_nothing(
    visit: Visit, server: ServerProgram
) -> None:
    tell(server, "/v1/vms", FRONT)
    tell(server, "/v1/vms", {"name": "db", "count": 3})
    with visit() as somebody, visit() as another:
        page = somebody.open("/portal/vms")
        page.keyboard.press("/")
        page.keyboard.type("db")
        page.keyboard.press("Enter")
        expect(page.locator("tbody tr")).to_have_count(3)
        seen = page.locator("tbody").inner_text()
        assert another.open(page.url.removeprefix(server.control)).locator("tbody").inner_text() == seen
        page.get_by_role("link", name="db-1", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("db-1")
        page.go_back()
        expect(page.locator("tbody")).to_have_text(seen, use_inner_text=True)
        page.reload()
        expect(page.get_by_role("textbox", name="Filter")).to_have_value("db")
