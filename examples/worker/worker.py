"""A worker that can be maintained: it takes jobs, and when its VM is about to be disturbed it drains.

On an event of its own it takes no new job, finishes the one in hand, approves, and comes back when the event is over.

    echo "resize cat.png" | python worker.py
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable

from forewarn.guest import Appeared, Change, Client, Closed, Ended, Refused, Unavailable, concerns


class Worker:
    """Two threads: one does jobs and approves when it has none in hand, the other watches for events."""

    def __init__(self, client: Client, name: str, work: Callable[[str], None]) -> None:
        self._client = client
        self._name = name
        self._work = work
        self._jobs: deque[str] = deque()
        self._events: set[str] = set()  # that will hit this VM, or are hitting it
        self._unapproved: list[str] = []
        self._closing = False
        self._news = threading.Condition()
        self._threads = [threading.Thread(target=target) for target in (self._work_on, self._watch_on)]
        for thread in self._threads:
            thread.start()

    def submit(self, job: str) -> None:
        with self._news:
            self._jobs.append(job)
            self._news.notify_all()

    @property
    def taking(self) -> bool:
        """Whether it would start a job now."""
        return not self._events

    def drain(self) -> None:
        """Wait until all jobs are done."""
        with self._news:
            self._news.wait_for(lambda: not self._jobs)

    def close(self) -> None:
        """Finish the job in hand and end."""
        self._client.close()
        with self._news:
            self._closing = True
            self._news.notify_all()
        for thread in self._threads:
            thread.join()

    def _work_on(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._closing or self._unapproved or (self.taking and self._jobs))
                if self._closing:
                    return
                approve, self._unapproved = self._unapproved, []
                job = "" if approve else self._jobs[0]
            if approve:
                self._approve(approve)
                continue
            self._work(job)
            with self._news:
                self._jobs.popleft()
                self._news.notify_all()

    def _approve(self, event_ids: list[str]) -> None:
        for event_id in event_ids:
            try:
                self._client.approve(event_id)
            except Unavailable:
                with self._news:
                    self._unapproved.append(event_id)  # again, until it is heard
            except (Refused, Closed):
                pass  # it has started or was canceled while we were busy; or we are leaving

    def _watch_on(self) -> None:
        for change in self._client.watch():
            if concerns(change.event, self._name):
                with self._news:
                    self._take_note(change)
                    self._news.notify_all()

    def _take_note(self, change: Change) -> None:
        event = change.event
        match change:
            case Appeared():
                self._events.add(event.event_id)
                if event.status == "Scheduled":
                    self._unapproved.append(event.event_id)
            case Ended():
                self._events.discard(event.event_id)


def main() -> None:
    client = Client()
    worker = Worker(client, client.instance().name, lambda job: print("done:", job, flush=True))
    for line in sys.stdin:
        worker.submit(line.strip())
    worker.drain()
    worker.close()


if __name__ == "__main__":
    main()
