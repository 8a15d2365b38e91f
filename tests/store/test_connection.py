from __future__ import annotations

import os
import sqlite3
import stat
import threading
from pathlib import Path

import apsw
import pytest

from localmem.errors import StoreDamaged, StoreEncrypted, StoreError, StoreTooNew
from localmem.store import Database


def test_the_file_and_its_new_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "memory.db"
    Database(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 500])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged):
        Database(path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["memory.db"]


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="another program"):
        Database(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    database = Database(path)
    with database.atomic() as connection:
        connection.execute("INSERT INTO migration VALUES ('m999_future', 'now')")
    database.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match="m999_future"):
        Database(path)
    assert path.read_bytes() == before


def test_a_wrong_or_missing_key_is_refused_and_the_right_one_opens(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    Database(path, key="right").close()
    before = path.read_bytes()
    with pytest.raises(StoreEncrypted):
        Database(path, key="wrong")
    with pytest.raises(StoreEncrypted, match="encrypted"):
        Database(path)
    assert path.read_bytes() == before
    Database(path, key="right").close()


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreDamaged, match="folder"):
        Database(tmp_path)


def test_a_path_that_cannot_be_written_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be"):
        Database(tmp_path / "file" / "memory.db")


def test_a_failed_block_leaves_nothing_and_an_inner_failure_leaves_the_outer_work(database: Database) -> None:
    def keys() -> list[str]:
        return [key for (key,) in database.connection().execute("SELECT key FROM setting ORDER BY key")]

    with pytest.raises(ZeroDivisionError), database.atomic() as connection:
        connection.execute("INSERT INTO setting VALUES ('a', '1')")
        raise ZeroDivisionError
    assert keys() == []
    with database.atomic() as connection:
        connection.execute("INSERT INTO setting VALUES ('b', '1')")
        with pytest.raises(ZeroDivisionError), database.atomic():
            connection.execute("INSERT INTO setting VALUES ('c', '1')")
            raise ZeroDivisionError
    assert keys() == ["b"]


def test_threads_write_one_after_the_other(database: Database) -> None:
    with database.atomic() as connection:
        connection.execute("INSERT INTO setting VALUES ('n', '0')")

    def count() -> None:
        for _ in range(50):
            with database.atomic() as connection:
                value = int(connection.execute("SELECT value FROM setting").get)
                connection.execute("UPDATE setting SET value = ?", (str(value + 1),))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert database.connection().execute("SELECT value FROM setting").get == "200"


def test_sqlite_vec_is_loaded_and_loading_is_switched_off_again(database: Database) -> None:
    connection = database.connection()
    assert connection.execute("SELECT vec_version()").get.startswith("v")
    with pytest.raises(apsw.SQLError, match="not authorized"):
        connection.execute("SELECT load_extension('anything')")


def test_deleting_a_session_leaves_no_row_behind_anywhere(memory, said) -> None:  # type: ignore[no-untyped-def]
    memory.add(said("I like tea", "Tea is nice"))
    memory.wait_embedded()
    with memory._database.atomic() as connection:
        connection.execute("DELETE FROM session")
        for table in ("turn", "message", "message_terms", "vector", "pending_embedding"):
            assert connection.execute(f"SELECT count(*) FROM {table}").get == 0
    assert memory.search("tea") == []
