"""Sessions that listen and read what is new, as nodes do, without the nodes: ``python -m bench.listeners URL COUNT``.

What a node asks of the database when it hears of a write is asked here: a look at the head, then the facts after the
last one it has. What a node does with the facts is left out: it would be done on other machines.
Ends when its standard input does, and says how often somebody read.
"""

from __future__ import annotations

import select
import sys

import psycopg
from psycopg import pq

from forewarn.stores.postgres.address import ConnectionString
from forewarn.stores.postgres.connections import connect
from forewarn.stores.postgres.shared import keys_of

_HEAD = b"SELECT seq, chain, clock_timestamp() FROM head"
_FACTS = b"SELECT * FROM facts WHERE seq >= $1 ORDER BY seq LIMIT 10001"


class _Session:
    """One listener: idle, looking at the head, or reading."""

    def __init__(self, url: str) -> None:
        self._connection = connect(ConnectionString(url))
        self._connection.execute(f'LISTEN "{keys_of(self._connection).channel}"')
        self._server: pq.abc.PGconn = self._connection.pgconn
        self._server.nonblocking = 1
        self._seq = 0
        self._asked = b""
        self._again = False
        self.reads = 0

    def fileno(self) -> int:
        return self._server.socket

    def hear(self) -> None:
        """Take what has arrived, and go on with what follows from it."""
        self._server.consume_input()
        while self._server.notifies() is not None:
            self._again = True
        while self._asked and not self._server.is_busy():
            result = self._server.get_result()
            if result is None:
                self._next()
                break
            if result.status != pq.ExecStatus.TUPLES_OK:
                raise psycopg.OperationalError(result.error_message.decode())
            if self._asked is _HEAD:
                self._head = int(result.get_value(0, 0) or b"0")
            elif result.ntuples:
                self._seq = int(result.get_value(result.ntuples - 1, 0) or b"0")
        if not self._asked and self._again:
            self._again = False
            self._ask(_HEAD)

    def _next(self) -> None:
        if self._asked is _HEAD and self._head > self._seq:
            self._ask(_FACTS, str(self._seq).encode())
            self.reads += 1
        else:
            self._asked = b""

    def _ask(self, query: bytes, *values: bytes) -> None:
        self._asked = query
        self._server.send_query_params(query, values or None)
        self._server.flush()


def main(url: str, count: int) -> None:
    sessions = [_Session(url) for _ in range(count)]
    looking = select.epoll()
    looking.register(sys.stdin, select.EPOLLIN)
    by_number = {session.fileno(): session for session in sessions}
    for number in by_number:
        looking.register(number, select.EPOLLIN)
    print("listening", flush=True)
    while True:
        for number, _ in looking.poll():
            if number not in by_number:
                print(sum(session.reads for session in sessions))
                return
            by_number[number].hear()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
