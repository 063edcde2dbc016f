"""A region of two nodes and a browser: the node that serves it is killed, and another takes its place."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, expect

from tests.e2e.program import ServerProgram, clean_environment
from tests.portal.browser import visitor
from tests.portal.regions import FRONT, look, tell
from tests.postgres import Server


def test_a_node_that_is_killed_is_replaced_and_no_change_is_missed(browser: Browser, tmp_path: Path) -> None:
    """Its address goes to a node that was not there before, as behind a balancer; one stream serves all tabs."""
    with Server(fsync=False) as postgres:
        env = clean_environment(FOREWARN_STORE=postgres.region())
        with (
            ServerProgram.start(tmp_path / "alpha", "--node-name", "alpha", env=env) as alpha,
            ServerProgram.start(tmp_path / "beta", "--node-name", "beta", env=env) as beta,
            visitor(browser, alpha.control) as somebody,
        ):
            tell(alpha, "/v1/vms", {**FRONT, "read": False})
            pages = [somebody.open("/portal/vms") for _ in range(2)]
            for page in pages:
                expect(page.locator("[data-contact]")).to_have_text("live")
            before = look(beta, "/v1/activity")["activity"]

            alpha.kill()
            expect(pages[-1].locator("[data-contact]")).to_contain_text("no contact since")
            for name in ("web-1", "web-4"):
                tell(beta, "/v1/vms/deallocate", {"names": [name]})  # nobody tells the browser
            address = f"127.0.0.1:{urlsplit(alpha.control).port}"
            with ServerProgram.start(
                tmp_path / "gamma", "--node-name", "gamma", "--control", address, env=env
            ) as gamma:
                for page in pages:
                    page.bring_to_front()
                    expect(page.locator("[data-contact]")).to_have_text("live")
                    for name in ("web-1", "web-4"):
                        expect(page.locator(f"#vm-{name} .state")).to_have_text("deallocated")
                tell(beta, "/v1/vms/start", {"names": ["web-1"]})
                expect(pages[-1].locator("#vm-web-1 .state")).to_have_text("running")
                assert len(look(gamma, "/v1/activity")["activity"]) == len(before) + 3
                somebody.expect_complaint("ERR_")  # the node was away, as the browser says on its console
                somebody.assert_nothing_amiss()
