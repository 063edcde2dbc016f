"""The recipes of ``docs/operating.md``, run as they stand there."""

from __future__ import annotations

import re
import stat
import subprocess
from pathlib import Path

from forewarn.stores.sqlite.journal import SqliteJournal
from tests.unit.stores.directories import RECORDS, fill

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()


def test_a_backup_is_complete_and_for_its_owner_only(tmp_path: Path) -> None:
    recipe = re.search(r"<!-- backup -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
    assert recipe is not None
    journal = fill(tmp_path / "forewarn-data")
    command = ["bash", "-ec", f"umask 022\n{recipe[1]}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    journal.close()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    made = [tmp_path / "backup", *(tmp_path / "backup").iterdir()]
    assert {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in made} == {
        "backup": 0,
        "journal.sqlite3": 0,
    }
    restored = SqliteJournal(tmp_path / "backup")
    assert restored.head() == RECORDS
    restored.close()
