"""What the pages about PostgreSQL tell people to type, typed against a real server; and tables that somebody locks."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import subprocess
from pathlib import Path

import psycopg
import pytest

from forewarn.core import commands as c
from forewarn.core.specs import VmSpec
from forewarn.plane.clock import RealClock
from forewarn.plane.ports import JournalFault, Origin
from forewarn.server.assembly import Parts, running
from forewarn.stores.postgres.journal import PostgresJournal
from tests.postgres import PASSWORD, USER, Server
from tests.unit.stores.examples import entries

PAGE = (Path(__file__).parents[2] / "docs" / "postgresql.md").read_text()
OPERATOR = Origin("operator", "test")
PATIENCE_SECONDS = 60


def test_the_backup_of_the_page_runs_clean_and_brings_everything_back(postgres: Server, tmp_path: Path) -> None:
    recipe = re.search(r"<!-- backup -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
    assert recipe is not None
    postgres.execute("CREATE DATABASE forewarn ENCODING 'UTF8' TEMPLATE template0")
    journal = PostgresJournal(postgres.url("forewarn"))
    with journal.write() as transaction:
        transaction.append(entries(40))
    told = journal.read(0, 100)
    journal.close()
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": USER, "PGPASSWORD": PASSWORD}
    done = subprocess.run(
        ["bash", "-ec", f"umask 022\n{recipe[1]}"],
        cwd=tmp_path,
        env={**os.environ, **where},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert stat.S_IMODE((tmp_path / "region.dump").stat().st_mode) == 0o600
    restored = PostgresJournal(postgres.url("forewarn2"))
    assert restored.read(0, 100) == told
    assert list(restored.verify()) == []
    restored.close()


@pytest.mark.parametrize("table", ["head", "facts"])
def test_a_table_that_somebody_locks_refuses_writes_and_first_reads_alike(postgres: Server, table: str) -> None:
    url = postgres.region()
    schema = url.rpartition("%3D")[2]
    options = f"-csearch_path={schema} -clock_timeout=300ms"

    async def live() -> list[BaseException | None]:
        journal = PostgresJournal(postgres.url(options=options))
        async with running(Parts(journal=journal, clock_from=RealClock)) as server:
            plane = server.plane
            await plane.submit(c.CreateVms(("web",), VmSpec(), "s"), OPERATOR)
            with psycopg.connect(url) as somebody:
                somebody.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())
                both = (
                    plane.submit(c.CreateVms(("lost",), VmSpec(), "t"), OPERATOR),
                    plane.enable(plane.region.vms["web"]),
                )
                async with asyncio.timeout(PATIENCE_SECONDS):
                    answers = await asyncio.gather(*both, return_exceptions=True)
            await plane.submit(c.CreateVms(("kept",), VmSpec(), "u"), OPERATOR)
            assert sorted(plane.region.vms) == ["kept", "web"]
            return [answer if isinstance(answer, BaseException) else None for answer in answers]

    for answer in asyncio.run(live()):
        assert isinstance(answer, JournalFault)
        assert "is held by another node, or by another program, for too long" in str(answer)
