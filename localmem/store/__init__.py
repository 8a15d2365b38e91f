"""The one file: connection, schema, sessions and messages, settings.

Nothing here knows how text is searched or answered; the index layer keeps its tables in the same
file and writes them in the same transaction as the messages they describe.
"""

from localmem.store.connection import Database
from localmem.store.sessions import SessionStore

__all__ = ["Database", "SessionStore"]
