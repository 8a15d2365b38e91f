"""localmem: a private assistant that remembers, in one SQLite file, with no network."""

__version__ = "0.1.0"
