"""Scale sets in a browser: the published steps for a new one, and the configuration of one that is there."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.program import ServerProgram
from tests.portal.browser import keep_shot
from tests.portal.conftest import Visit
from tests.portal.regions import look, tell
from tests.portal.ways import WAYS, hands_of


@pytest.mark.parametrize("way", WAYS)
def test_a_new_scale_set_gets_its_termination_notification_and_deleting_an_instance_then_waits_for_its_approval(
    visit: Visit, server: ServerProgram, way: str
) -> None:
    hands = hands_of(way)
    with visit(scripts=WAYS[way][0]) as visitor:
        page = visitor.open("/portal/scale-sets")
        hands.press(page.get_by_role("link", name="+ Add", exact=True))
        hands.fill(page.get_by_label("Scale set name"), "web")
        hands.press(page.get_by_role("button", name="Next: Management"))
        termination = page.get_by_role("region", name="Instance termination")  # in the words of the published steps
        notification = termination.get_by_role("group", name="Instance termination notification", exact=True)
        hands.choose(notification.get_by_role("radio", name="On", exact=True))
        hands.fill(termination.get_by_label("Termination delay (minutes)", exact=True), "10")
        hands.press(page.get_by_role("button", name="Review + create"))
        expect(page.get_by_text("Validation passed.")).to_be_visible()
        keep_shot(page, f"flow-review-{way}")
        hands.press(page.get_by_role("button", name="Create", exact=True))
        expect(page.get_by_role("link", name="web", exact=True)).to_be_visible()
        assert server.document("web_0")["Events"] == []  # somebody reads: from here on deletions are announced

        page.goto(f"{server.control}/portal/scale-sets/web")
        hands.choose(page.get_by_role("checkbox", name="Choose web_0"))
        hands.press(page.get_by_role("button", name="Delete", exact=True))
        hands.fill(page.get_by_label("Type 1, the number of VMs that this hits"), "1")
        hands.press(page.locator("#confirm").get_by_role("button", name="Delete"))
        expect(page.locator("#instance-web_0")).to_contain_text("waits for web_0")
        keep_shot(page, f"flow-waits-{way}")

        (event,) = server.document("web_0")["Events"]
        assert (event["EventType"], event["Resources"]) == ("Terminate", ["web_0"])
        assert server.approve("web_0", event["EventId"]).status == 200
        tell(server, "/v1/clock/advance", {"seconds": 60})
        page.reload()
        expect(page.locator("#instance-web_0")).to_have_count(0)
        expect(page.locator("#instance-web_1")).to_be_visible()


@pytest.mark.parametrize("way", WAYS)
def test_an_existing_set_gets_the_notification_and_it_counts_for_an_instance_once_that_is_upgraded(
    visit: Visit, server: ServerProgram, way: str
) -> None:
    hands = hands_of(way)
    tell(server, "/v1/scale-sets", {"name": "pool", "capacity": 3})
    server.document("pool_0")
    with visit(scripts=WAYS[way][0]) as visitor:
        page = visitor.open("/portal/scale-sets/pool")
        hands.press(page.get_by_role("link", name="Configuration"))
        termination = page.get_by_role("region", name="Instance termination")
        hands.choose(termination.get_by_role("radio", name="On", exact=True))
        hands.fill(termination.get_by_label("Termination delay (minutes)"), "7")
        hands.press(page.get_by_role("button", name="Save"))
        hands.press(page.locator("#confirm").get_by_role("button", name="Save"))
        expect(page.get_by_text("3 instances still have the old model.")).to_be_visible()
        hands.press(page.get_by_role("link", name="Instances"))
        expect(page.locator("#instance-pool_1")).to_contain_text("has no notice, the model says 7 min")
        keep_shot(page, f"flow-old-model-{way}")

        hands.choose(page.get_by_role("checkbox", name="Choose pool_1"))
        hands.press(page.get_by_role("button", name="Upgrade", exact=True))
        hands.press(page.locator("#confirm").get_by_role("button", name="Upgrade"))
        expect(page.locator("#instance-pool_1")).to_contain_text("yes")
        expect(page.get_by_text("2 instances still have the old model.")).to_be_visible()

    notices = {vm["name"]: vm["terminate_notice_seconds"] for vm in look(server, "/v1/scale-sets/pool")["instances"]}
    assert notices == {"pool_0": None, "pool_1": 420, "pool_2": None}
    told = tell(server, "/v1/scale-sets/pool/delete-instances", {"instances": ["1", "2"]})
    assert [event["vms"] for event in told["events"]] == [["pool_1"]]
    assert told["at_once"] == ["pool_2"]
