"""All or nothing, on one connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """Keep all changes made inside, or none. May be nested.

    The outermost is BEGIN IMMEDIATE, so that two writers queue at its start instead of failing at its
    end; inner ones are savepoints. It is not apsw's own ``with connection``: that waits for another
    writer without releasing the GIL, so that a writer in another thread cannot finish (seen: both stood
    still until the timeout).
    """
    inner = connection.in_transaction
    connection.execute("SAVEPOINT inner_work" if inner else "BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("RELEASE inner_work" if inner else "COMMIT")
    except BaseException:  # an interrupt too must leave no transaction open; it goes on
        if connection.in_transaction:  # SQLite itself rolls back on some errors, a full disk among them
            connection.execute("ROLLBACK TO inner_work; RELEASE inner_work" if inner else "ROLLBACK")
        raise
