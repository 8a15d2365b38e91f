"""The schema, as a list of named steps. A step commits together with its record in `migration`.

A step is never edited once released; a change is a new step. Why each step is as it is stands beside
it.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw


def m001_sessions(connection: apsw.Connection) -> None:
    """Sessions, their turns and messages, and settings.

    ``message.text`` and ``attachments`` are ANY: text that UTF-8 cannot hold (lone surrogates) is
    kept as a blob (see :mod:`localmem.store.columns`). Times are UTC; ``*_zone`` is the original offset
    in minutes, NULL where the source named none. A turn goes with its last message. Ids are never used
    twice (AUTOINCREMENT), so an index may ask for "everything after id".
    """
    connection.execute("""
        CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
        CREATE TABLE session (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            source TEXT NOT NULL,
            external_id TEXT NOT NULL,
            title ANY NOT NULL,
            started_at TEXT,
            started_zone INTEGER,
            ended_at TEXT,
            tags TEXT NOT NULL DEFAULT '[]',
            UNIQUE (source, external_id)
        ) STRICT;
        CREATE TABLE turn (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
            number INTEGER NOT NULL,
            UNIQUE (session_id, number)
        ) STRICT;
        CREATE TABLE message (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
            turn_id INTEGER NOT NULL REFERENCES turn ON DELETE CASCADE,
            position INTEGER NOT NULL,
            role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
            speaker ANY NOT NULL,
            text ANY NOT NULL CHECK (typeof(text) IN ('text', 'blob')),
            sent_at TEXT,
            sent_zone INTEGER,
            sent_at_inferred INTEGER NOT NULL DEFAULT 0,
            external_id TEXT NOT NULL,
            parent TEXT,
            origin TEXT NOT NULL CHECK (origin IN ('said', 'recalled')),
            attachments ANY NOT NULL,
            UNIQUE (session_id, position),
            UNIQUE (session_id, external_id)
        ) STRICT;
        CREATE INDEX message_turn ON message (turn_id);
        CREATE TRIGGER last_message_of_turn_deleted AFTER DELETE ON message BEGIN
            DELETE FROM turn WHERE id = old.turn_id
            AND NOT EXISTS (SELECT 1 FROM message WHERE turn_id = old.turn_id);
        END;
    """)


def m002_indexes(connection: apsw.Connection) -> None:
    """What makes messages findable, hung on them by foreign key.

    ``message_terms`` is the truth of the lexical index: term ids and frequencies of one message, and
    what its text tells at a look (``marks``).
    ``lexical_segment`` holds the same, inverted, for a range of message ids; it is dropped when a
    message of its range goes, and made again from ``message_terms``. ``vector`` is the truth of the
    dense index, one row for each part of a message; ``vector_block`` holds a smaller form of ranges of it,
    dropped and made again as a segment is; ``pending_embedding`` is its queue.
    ``deletions`` counts the messages that went, so that a cache elsewhere knows it is stale;
    ``messages`` and ``characters`` are the size of the whole history, which a ledger compares itself with.
    """
    connection.execute("""
        CREATE TABLE term (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE message_terms (
            message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
            length INTEGER NOT NULL,
            marks INTEGER NOT NULL,
            terms BLOB NOT NULL
        ) STRICT;
        CREATE TABLE lexical_segment (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            first_id INTEGER NOT NULL,
            last_id INTEGER NOT NULL,
            messages INTEGER NOT NULL,
            documents BLOB NOT NULL,
            lengths BLOB NOT NULL,
            terms BLOB NOT NULL,
            starts BLOB NOT NULL,
            places BLOB NOT NULL,
            counts BLOB NOT NULL
        ) STRICT;
        CREATE TABLE embedding_model (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            fingerprint TEXT NOT NULL UNIQUE,
            dimension INTEGER NOT NULL,
            basis BLOB,
            current INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE TABLE vector (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
            model_id INTEGER NOT NULL REFERENCES embedding_model ON DELETE CASCADE,
            part INTEGER NOT NULL,
            words INTEGER NOT NULL,
            embedding BLOB NOT NULL,
            UNIQUE (message_id, model_id, part)
        ) STRICT;
        CREATE TABLE vector_block (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            model_id INTEGER NOT NULL REFERENCES embedding_model ON DELETE CASCADE,
            first_id INTEGER NOT NULL,
            last_id INTEGER NOT NULL,
            first_message INTEGER NOT NULL,
            last_message INTEGER NOT NULL,
            messages BLOB NOT NULL,
            words BLOB NOT NULL,
            reduced BLOB NOT NULL
        ) STRICT;
        CREATE TABLE pending_embedding (
            message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE
        ) STRICT;
        CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
        INSERT INTO counter VALUES ('deletions', 0), ('messages', 0), ('characters', 0);
        CREATE TRIGGER message_added AFTER INSERT ON message BEGIN
            UPDATE counter SET value = value + 1 WHERE name = 'messages';
            UPDATE counter SET value = value + length(new.text) WHERE name = 'characters';
        END;
        CREATE TRIGGER message_deleted AFTER DELETE ON message BEGIN
            DELETE FROM lexical_segment WHERE old.id BETWEEN first_id AND last_id;
            DELETE FROM vector_block WHERE old.id BETWEEN first_message AND last_message;
            UPDATE counter SET value = value + 1 WHERE name = 'deletions';
            UPDATE counter SET value = value - 1 WHERE name = 'messages';
            UPDATE counter SET value = value - length(old.text) WHERE name = 'characters';
        END;
    """)


def m003_traces(connection: apsw.Connection) -> None:
    """How an answer came about: question, evidence, steps and cost, as JSON."""
    connection.execute("""
        CREATE TABLE trace (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            created_at TEXT NOT NULL,
            question ANY NOT NULL,
            body TEXT NOT NULL
        ) STRICT;
    """)


def m004_layers(connection: apsw.Connection) -> None:
    """Derived layers: entries, what each was made from, and the turns that still need a summary.

    Triggers keep them true, so that no way of changing a message can forget it. An entry goes with any
    message it was made from, and when a message joins its turn or session; ``layer_source`` has no
    cascade from ``message`` on purpose: a message cannot go while an entry made from it is left. A turn
    without a summary is in ``layer_due``; in an older file that is every turn, and they are made in the
    background instead of here. A turn or session has one ``layer_failure`` at most, the last attempt's, by
    whatever made it. ``layer_tally`` counts a model's statements that were accepted and rejected.
    """
    connection.execute("""
        CREATE TABLE layer_entry (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            layer TEXT NOT NULL CHECK (layer IN ('summary', 'facts', 'notes')),
            turn_id INTEGER REFERENCES turn ON DELETE CASCADE,
            session_id INTEGER UNIQUE REFERENCES session ON DELETE CASCADE,
            grade TEXT NOT NULL CHECK (grade IN ('extractive', 'model')),
            model TEXT,
            prompt_hash TEXT,
            created_at TEXT NOT NULL,
            items INTEGER NOT NULL,
            body ANY NOT NULL,
            UNIQUE (turn_id, layer),
            CHECK (iif(layer = 'facts', turn_id IS NULL, session_id IS NULL)),
            CHECK ((turn_id IS NULL) <> (session_id IS NULL)),
            CHECK ((grade = 'model') = (model IS NOT NULL) AND (model IS NULL) = (prompt_hash IS NULL))
        ) STRICT;
        CREATE TABLE layer_source (
            entry_id INTEGER NOT NULL REFERENCES layer_entry ON DELETE CASCADE,
            message_id INTEGER NOT NULL REFERENCES message,
            PRIMARY KEY (entry_id, message_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX layer_source_message ON layer_source (message_id);
        CREATE TABLE layer_due (turn_id INTEGER PRIMARY KEY REFERENCES turn ON DELETE CASCADE) STRICT;
        CREATE TABLE layer_failure (
            id INTEGER PRIMARY KEY,
            layer TEXT NOT NULL,
            turn_id INTEGER REFERENCES turn ON DELETE CASCADE,
            session_id INTEGER UNIQUE REFERENCES session ON DELETE CASCADE,
            model TEXT,
            prompt_hash TEXT,
            reason ANY NOT NULL,
            UNIQUE (turn_id, layer),
            CHECK ((turn_id IS NULL) <> (session_id IS NULL))
        ) STRICT;
        CREATE TABLE layer_tally (
            layer TEXT NOT NULL,
            model TEXT NOT NULL,
            accepted INTEGER NOT NULL,
            rejected INTEGER NOT NULL,
            PRIMARY KEY (layer, model)
        ) STRICT, WITHOUT ROWID;
        CREATE TRIGGER layer_stored AFTER INSERT ON layer_entry BEGIN
            DELETE FROM layer_due WHERE turn_id = new.turn_id AND new.layer = 'summary';
            DELETE FROM layer_failure WHERE turn_id = new.turn_id AND layer = new.layer
                AND (new.grade = 'model' OR model IS NULL);
            DELETE FROM layer_failure WHERE session_id = new.session_id
                AND (new.grade = 'model' OR model IS NULL);
        END;
        CREATE TRIGGER summary_lost AFTER DELETE ON layer_entry WHEN old.layer = 'summary' BEGIN
            INSERT OR IGNORE INTO layer_due SELECT id FROM turn WHERE id = old.turn_id;
        END;
        CREATE TRIGGER summary_may_be_tried_again AFTER DELETE ON layer_failure
        WHEN old.layer = 'summary' BEGIN
            INSERT OR IGNORE INTO layer_due SELECT id FROM turn WHERE id = old.turn_id AND NOT EXISTS
                (SELECT 1 FROM layer_entry WHERE turn_id = old.turn_id AND layer = 'summary');
        END;
        CREATE TRIGGER layer_source_added AFTER INSERT ON message BEGIN
            DELETE FROM layer_entry WHERE turn_id = new.turn_id AND new.origin = 'said';
            DELETE FROM layer_entry WHERE session_id = new.session_id AND new.origin = 'said';
            DELETE FROM layer_failure WHERE turn_id = new.turn_id AND new.origin = 'said';
            DELETE FROM layer_failure WHERE session_id = new.session_id AND new.origin = 'said';
            INSERT OR IGNORE INTO layer_due SELECT new.turn_id WHERE NOT EXISTS
                (SELECT 1 FROM layer_entry WHERE turn_id = new.turn_id AND layer = 'summary');
        END;
        CREATE TRIGGER layer_source_deleted BEFORE DELETE ON message BEGIN
            DELETE FROM layer_entry WHERE id IN
                (SELECT entry_id FROM layer_source WHERE message_id = old.id);
            DELETE FROM layer_failure WHERE turn_id = old.turn_id;
            DELETE FROM layer_failure WHERE session_id = old.session_id;
        END;
        CREATE TRIGGER layer_source_changed
        AFTER UPDATE OF session_id, turn_id, position, role, speaker, text, sent_at, sent_zone, origin,
            attachments ON message
        BEGIN
            DELETE FROM layer_entry WHERE id IN
                (SELECT entry_id FROM layer_source WHERE message_id = old.id);
            DELETE FROM layer_entry WHERE turn_id = new.turn_id
                AND new.origin = 'said' AND (old.origin <> 'said' OR old.turn_id <> new.turn_id);
            DELETE FROM layer_entry WHERE session_id = new.session_id
                AND new.origin = 'said' AND (old.origin <> 'said' OR old.session_id <> new.session_id);
            DELETE FROM layer_failure WHERE turn_id IN (old.turn_id, new.turn_id);
            DELETE FROM layer_failure WHERE session_id IN (old.session_id, new.session_id);
        END;
        INSERT INTO layer_due SELECT id FROM turn;
    """)


def m005_summary_index(connection: apsw.Connection) -> None:
    """What makes summaries findable, hung on them by foreign key.

    ``summary_terms`` has the terms of the two fields, numbers that stand for whole keywords, and the ids of
    what was said in the turn (``messages``). ``summary_vector`` has a model-written summary's own vector; of
    an extractive one, which is the mean of its messages' vectors, only the length of their weighted sum
    (``norm``). Triggers queue a summary as it is stored, so that none stays without its index, and count
    those that went, as ``deletions`` does for messages. What a file has already is queued here.
    """
    connection.execute("""
        CREATE TABLE summary_terms (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            entry_id INTEGER NOT NULL UNIQUE REFERENCES layer_entry ON DELETE CASCADE,
            messages BLOB NOT NULL,
            summary_length INTEGER NOT NULL,
            summary BLOB NOT NULL,
            keywords_length INTEGER NOT NULL,
            keywords BLOB NOT NULL,
            phrases BLOB NOT NULL
        ) STRICT;
        CREATE TABLE summary_vector (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            entry_id INTEGER NOT NULL REFERENCES summary_terms (entry_id) ON DELETE CASCADE,
            model_id INTEGER NOT NULL REFERENCES embedding_model ON DELETE CASCADE,
            norm REAL,
            embedding BLOB,
            UNIQUE (entry_id, model_id),
            CHECK ((norm IS NULL) <> (embedding IS NULL))
        ) STRICT;
        CREATE TABLE pending_summary_terms (
            entry_id INTEGER PRIMARY KEY REFERENCES layer_entry ON DELETE CASCADE
        ) STRICT;
        CREATE TABLE pending_summary_vector (
            entry_id INTEGER PRIMARY KEY REFERENCES summary_terms (entry_id) ON DELETE CASCADE
        ) STRICT;
        INSERT INTO counter VALUES ('summary_deletions', 0);
        CREATE TRIGGER summary_to_index AFTER INSERT ON layer_entry
        WHEN new.layer = 'summary' AND new.items > 0 BEGIN
            INSERT INTO pending_summary_terms VALUES (new.id);
        END;
        CREATE TRIGGER summary_indexed AFTER INSERT ON summary_terms BEGIN
            DELETE FROM pending_summary_terms WHERE entry_id = new.entry_id;
            INSERT INTO pending_summary_vector VALUES (new.entry_id);
        END;
        CREATE TRIGGER summary_terms_deleted AFTER DELETE ON summary_terms BEGIN
            UPDATE counter SET value = value + 1 WHERE name = 'summary_deletions';
        END;
        INSERT INTO pending_summary_terms SELECT id FROM layer_entry WHERE layer = 'summary' AND items > 0;
    """)


def m006_trace_steps(connection: apsw.Connection) -> None:
    """Steps of a trace, each committed before the next begins: what is left after a kill can be resumed."""
    connection.execute("""
        CREATE TABLE trace_step (
            trace_id INTEGER NOT NULL REFERENCES trace ON DELETE CASCADE,
            number INTEGER NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (trace_id, number)
        ) STRICT, WITHOUT ROWID;
    """)


def m007_conversations(connection: apsw.Connection) -> None:
    """What a person does with sessions: archive them, give them a system prompt, go on elsewhere, delete.

    ``leaf_id`` is the message that the session goes on from; NULL, as after every new one: its last.
    ``reply`` has what an answer cited and cost, as JSON, so that it can be shown again. ``bin`` has what was
    deleted until the chat is closed, as JSON: everything but this copy is gone at once.
    """
    connection.execute("""
        ALTER TABLE session ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE session ADD COLUMN system ANY NOT NULL DEFAULT '';
        ALTER TABLE session ADD COLUMN leaf_id INTEGER REFERENCES message ON DELETE SET NULL;
        CREATE INDEX session_leaf ON session (leaf_id) WHERE leaf_id IS NOT NULL;
        CREATE TRIGGER session_goes_on AFTER INSERT ON message BEGIN
            UPDATE session SET leaf_id = NULL WHERE id = new.session_id AND leaf_id IS NOT NULL;
        END;
        CREATE TABLE reply (
            message_id INTEGER PRIMARY KEY REFERENCES message ON DELETE CASCADE,
            body TEXT NOT NULL
        ) STRICT;
        CREATE TABLE bin (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            title ANY NOT NULL,
            body TEXT NOT NULL
        ) STRICT;
    """)


def m008_pins(connection: apsw.Connection) -> None:
    """Facts that the person pinned, each with the messages that say it.

    A pin goes with any of them, as an entry of a layer does, and when one is changed.
    """
    connection.execute("""
        CREATE TABLE pin (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            text ANY NOT NULL,
            pinned_at TEXT NOT NULL
        ) STRICT;
        CREATE TABLE pin_source (
            pin_id INTEGER NOT NULL REFERENCES pin ON DELETE CASCADE,
            message_id INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
            PRIMARY KEY (pin_id, message_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX pin_source_message ON pin_source (message_id);
        CREATE TRIGGER pin_source_deleted AFTER DELETE ON pin_source BEGIN
            DELETE FROM pin WHERE id = old.pin_id;
        END;
        CREATE TRIGGER pin_source_changed AFTER UPDATE OF role, speaker, text, sent_at, attachments ON message
        BEGIN
            DELETE FROM pin WHERE id IN (SELECT pin_id FROM pin_source WHERE message_id = old.id);
        END;
    """)


def m009_recalled(connection: apsw.Connection) -> None:
    """What memory itself answered is no evidence, so every question asks which messages that are: few."""
    connection.execute("CREATE INDEX message_recalled ON message (id) WHERE origin = 'recalled'")


MIGRATIONS: tuple[Callable[[apsw.Connection], None], ...] = (
    m001_sessions,
    m002_indexes,
    m003_traces,
    m004_layers,
    m005_summary_index,
    m006_trace_steps,
    m007_conversations,
    m008_pins,
    m009_recalled,
)
