"""A node of a shared region that has lost its store: what it still answers, and for how long."""

from __future__ import annotations

import json
from datetime import timedelta

from forewarn.plane.clock import RealClock, wall_time
from forewarn.stores.shared_memory import SharedMemory
from tests.e2e.metadata_region import get, metadata_region, request
from tests.waiting import until

METADATA = "Metadata: true"


def test_a_node_that_may_not_be_current_gives_no_documents_until_it_is() -> None:
    store = SharedMemory(wall_time)
    journal = store.join()
    with metadata_region(journal=journal, clock=RealClock(), staleness=timedelta(seconds=0.4)) as region:
        region.create("web")
        guest, instance = region.guest(), request("GET", "/vm/web/metadata/instance?api-version=2021-02-01", METADATA)
        assert [guest.ask(get("web")).status for _ in range(3)] == [200, 200, 200]
        etag = guest.ask(get("web")).fields["etag"]
        journal.cut_off = "The cable is out."
        waited = guest.ask(get("web", f"If-None-Match: {etag}", "Prefer: wait=2"))
        assert (waited.status, waited.fields["retry-after"]) == (503, "1")
        assert "may not know the latest events" in json.loads(guest.ask(get("web")).body)["error"]
        assert guest.ask(instance).status == 503
        assert guest.ask(get("made-elsewhere")).status == 503  # it may well be there
        assert guest.ask(request("GET", "/vm/web/metadata/versions", METADATA)).status == 200
        journal.cut_off = ""
        until(lambda: not region.do(lambda: region.plane.standing.stale))
        assert guest.ask(get("web")).status == 200
        assert guest.ask(instance).status == 200
        assert guest.ask(get("made-elsewhere")).status == 404
