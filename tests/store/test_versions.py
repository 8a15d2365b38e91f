"""Two versions of the program on one file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from localmem.errors import StoreTooNew
from localmem.store import Database, migrations

NEWER = """
import os, sys
from pathlib import Path
from localmem.store import Database, migrations

def m999_future(connection):
    connection.execute("CREATE TABLE future (x)")

migrations.MIGRATIONS = (*migrations.MIGRATIONS, m999_future)
database = Database(Path(sys.argv[1]), sys.argv[2] or None)
with database.atomic() as connection:
    connection.execute("INSERT INTO setting VALUES ('of the newer', '1')")
os._exit(0)  # its log stays behind, as when the computer is switched off
"""


def newer(path: Path, key: str = "") -> None:
    subprocess.run([sys.executable, "-P", "-c", NEWER, str(path), key], check=True, timeout=60)


@pytest.mark.parametrize("key", [None, "a key"], ids=["plain", "encrypted"])
def test_a_newer_file_is_refused_without_a_changed_byte_even_in_its_log(
    tmp_path: Path, key: str | None
) -> None:
    path = tmp_path / "memory.db"
    Database(path, key).close()
    newer(path, key or "")
    files = [path, tmp_path / "memory.db-wal"]
    before = [file.read_bytes() for file in files]
    assert before[1]
    for _ in range(2):
        with pytest.raises(StoreTooNew, match=r"m999_future.*Update localmem"):
            Database(path, key)
    assert [file.read_bytes() for file in files] == before


def test_another_programs_file_is_refused_with_its_log_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    script = (
        "import apsw, os, sys; c = apsw.Connection(sys.argv[1]); c.pragma('journal_mode', 'wal'); "
        "c.execute('CREATE TABLE t (x)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-P", "-c", script, str(path)], check=True, timeout=60)
    files = [path, tmp_path / "other.db-wal"]
    before = [file.read_bytes() for file in files]
    with pytest.raises(Exception, match="another program"):
        Database(path)
    assert [file.read_bytes() for file in files] == before


def test_an_older_program_that_has_the_file_open_stops_writing_when_a_newer_one_upgrades_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    old = Database(path)
    with old.atomic() as connection:
        connection.execute("INSERT INTO setting VALUES ('before', '1')")
    newer(path)
    with pytest.raises(StoreTooNew, match="m999_future"), old.atomic() as connection:
        connection.execute("INSERT INTO setting VALUES ('after', '1')")
    keys = [key for (key,) in old.connection().execute("SELECT key FROM setting ORDER BY key")]
    assert keys == ["before", "of the newer"]
    old.close()


def test_the_same_version_twice_writes_in_turn(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    one, two = Database(path), Database(path)
    for number, database in enumerate([one, two, two, one]):
        with database.atomic() as connection:
            connection.execute("INSERT INTO setting VALUES (?, '1')", (str(number),))
    one.connection().execute("VACUUM")  # changes what tells of the schema, not the schema
    with two.atomic() as connection:
        connection.execute("INSERT INTO setting VALUES ('last', '1')")
    assert one.connection().execute("SELECT count(*) FROM setting").get == 5
    one.close()
    two.close()


def test_every_release_can_be_told_by_its_steps() -> None:
    names = [step.__name__ for step in migrations.MIGRATIONS]
    assert names == sorted(set(names))
    connection = apsw.Connection(":memory:")
    migrations.apply(connection)
    assert [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY rowid")] == names
    connection.close()
