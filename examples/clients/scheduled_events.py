#!/usr/bin/env python3
"""List the Scheduled Events of this VM, or approve some. Needs nothing but Python.

    python scheduled_events.py                    one line for each event
    python scheduled_events.py approve EVENT_ID   let an event start now

SCHEDULED_EVENTS_URL points it elsewhere, to a VM of a forewarn region for instance: http://127.0.0.1:16925/vm/web-0
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request

SERVICE = os.environ.get("SCHEDULED_EVENTS_URL", "http://169.254.169.254").rstrip("/")
ADDRESS = f"{SERVICE}/metadata/scheduledevents?api-version=2020-07-01"
FIRST_ANSWER_SECONDS = 130  # the first call of a VM switches the service on, which may take two minutes

# The service is on this machine's own link: a proxy must never see these requests.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(body: bytes | None = None) -> bytes:
    """GET without a body, POST with one."""
    # A constant http address
    request = urllib.request.Request(ADDRESS, body, {"Metadata": "true", "Content-Type": "application/json"})  # noqa: S310
    with _opener.open(request, timeout=FIRST_ANSWER_SECONDS) as response:
        answer: bytes = response.read()
    return answer


def list_events() -> None:
    text = call()
    document = json.loads(text) if text.strip() else {}  # an empty answer has been seen: nothing to say
    for event in document.get("Events", []):
        names = ",".join(event["Resources"])
        not_before = event.get("NotBefore") or "now"
        print(event["EventId"], event["EventType"], event["EventStatus"], names, not_before, sep="\t")


def approve(event_ids: list[str]) -> None:
    call(json.dumps({"StartRequests": [{"EventId": event_id} for event_id in event_ids]}).encode())


def main(arguments: list[str]) -> int:
    try:
        if not arguments or arguments == ["list"]:
            list_events()
        elif arguments[0] == "approve" and len(arguments) > 1:
            approve(arguments[1:])
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except urllib.error.HTTPError as refused:
        with refused:
            print(f"The service answered {refused.code}: {refused.read().decode()}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
