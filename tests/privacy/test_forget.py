from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from localmem.cli import main
from localmem.entries import Layer
from localmem.errors import BadInput, StoreLocked
from localmem.evals.vectors import CachingEmbedder
from localmem.index.pieces import pieces_of
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.privacy.check import check
from localmem.privacy.finder import Finder
from localmem.privacy.needles import needles_of
from localmem.privacy.purge import unfinished
from localmem.privacy.receipt import Receipt, carry_out
from localmem.privacy.selection import select
from localmem.store import Database
from localmem.store.replies import ReplyStore, StoredReply
from localmem.types import Ledger, NewMessage, NewSession, Role

SECRET = "Quillfeather"
"""A name that the store of the tests has in one session."""
AT = datetime(2026, 6, 1, tzinfo=UTC)
Holds = Callable[[Path, str], list[str]]


def forget(path: Path, home: Path | None = None, key: str | None = None, **what: object) -> Receipt:
    database = Database(path, key)
    try:
        return carry_out(database, select(database, **what), home, proving=True)  # type: ignore[arg-type]
    finally:
        database.close()


def texts(memory: Memory) -> list[str]:
    return [message.text for one in memory.sessions() for message in memory.messages(one.id)]


def test_no_byte_of_a_matching_text_is_left_and_nothing_knows_it(holds: Holds, store: Path) -> None:
    assert holds(store.parent, SECRET) == ["memory.db"]
    receipt = forget(store, matching=SECRET.lower())
    assert holds(store.parent, SECRET) == []
    assert holds(store.parent, "seventeen parrots") == []
    assert holds(store.parent, "quillfeath") == []  # the stem
    assert receipt.proof is not None
    assert receipt.proof.hits == ()
    assert receipt.removed.rows["message"] == 2
    assert receipt.removed.rows["trace"] == 2
    with Memory(store, HashEmbedder()) as memory:
        assert not [hit for hit in memory.search(SECRET, 50) if SECRET.lower() in hit.message.text.lower()]
        assert len(texts(memory)) == 4
        assert [one.title for one in memory.sessions() if SECRET in one.title] == []
    assert check(store, None).sound


def test_what_also_rests_on_other_messages_is_made_again_without_it(store: Path) -> None:
    with Memory(store, HashEmbedder()) as memory:
        (tandem,) = [hit.message for hit in memory.search("tandem bicycle", 1)]
    receipt = forget(store, message_id=tandem.id)
    assert set(receipt.removed.rebuilt) == set(Layer)
    with Memory(store, HashEmbedder()) as memory:
        (parrots,) = [one for one in memory.sessions() if one.external_id == "parrots"]
        for layer in Layer:
            entries = memory.layer(parrots.id, layer)
            assert "lighthouse" in str(entries).lower()
            assert "bicycle" not in str(entries).lower()


def test_a_session_goes_as_a_whole_with_the_words_that_only_it_had(holds: Holds, store: Path) -> None:
    with Memory(store, HashEmbedder()) as memory:
        (parrots,) = [one for one in memory.sessions() if one.external_id == "parrots"]
    receipt = forget(store, session_id=parrots.id)
    for gone in ("parrot", "balcony", "tandem", SECRET):
        assert holds(store.parent, gone) == []
    assert holds(store.parent, "lighthouse") == ["memory.db"]  # the other session says it too
    assert receipt.clean
    database = Database(store)
    words = {text for (text,) in database.connection().execute("SELECT text FROM term")}
    database.close()
    assert "lighthous" in words
    assert "tandem" not in words


def test_one_message_goes_and_its_neighbours_stay(holds: Holds, store: Path) -> None:
    with Memory(store, HashEmbedder()) as memory:
        (tandem,) = [hit.message for hit in memory.search("tandem bicycle", 1)]
    receipt = forget(store, message_id=tandem.id)
    assert receipt.clean
    assert holds(store.parent, "blue tandem") == []
    with Memory(store, HashEmbedder()) as memory:
        assert len(texts(memory)) == 5
        assert memory.search("parrots", 1)[0].message.id < tandem.id


def test_an_answer_that_rests_on_what_is_forgotten_goes_with_it(holds: Holds, store: Path) -> None:
    with Memory(store, HashEmbedder()) as memory:
        (source,) = [hit.message for hit in memory.search("tandem bicycle", 1)]
        said = (NewMessage(Role.USER, "What did I buy?"), NewMessage(Role.ASSISTANT, "A velocipede for two."))
        _, answer = memory.add(NewSession("chat", "c", said, started_at=AT))
        ReplyStore(memory._database).put(answer, StoredReply((source.id,), "answered", Ledger()))
    receipt = forget(store, message_id=source.id)
    assert [message.id for message in receipt.selection.answers] == [answer]
    assert holds(store.parent, "velocipede") == []
    with Memory(store, HashEmbedder()) as memory:
        assert "What did I buy?" in texts(memory)


def test_what_is_pinned_of_it_goes_too(holds: Holds, store: Path) -> None:
    with Memory(store, HashEmbedder()) as memory:
        (tandem,) = [hit.message for hit in memory.search("tandem bicycle", 1)]
        other = next(hit.message for hit in memory.search("parrots", 5) if hit.message.id != tandem.id)
        memory.pins.add("Rides a velocipede for two.", [tandem.id, other.id])
        memory.pins.add("Said in Zanzibar.", [other.id])
    assert forget(store, message_id=tandem.id).clean
    assert holds(store.parent, "velocipede") == []
    assert holds(store.parent, "Zanzibar") == ["memory.db"]
    assert forget(store, matching="zanzibar").removed.rows["pin"] == 1
    assert holds(store.parent, "Zanzibar") == []
    with Memory(store, HashEmbedder()) as memory:
        assert other.id in memory.messages_by_id([other.id])


def test_the_proof_looks_for_what_was_pinned_and_a_pin_that_stays_is_no_trace(store: Path) -> None:
    with Memory(store, HashEmbedder()) as memory:
        tandem, other = (memory.search(words, 1)[0].message.id for words in ("tandem bicycle", "rye bread"))
        memory.pins.add("Rides a velocipede for two.", [tandem])
        memory.pins.add("It is a tandem.", [other])
    database = Database(store)
    wanted = needles_of(database.connection(), select(database, message_id=tandem))
    database.close()
    assert "Rides a velocipede for two." in [needle.text for needle in wanted]
    with Memory(store, HashEmbedder()) as memory:
        (ride,) = [hit.message.id for hit in memory.search("A tandem? lighthouse together", 1)]
    forget(store, message_id=ride)
    receipt = forget(store, message_id=tandem)
    assert "tandem" in receipt.removed.words
    assert receipt.clean
    with Memory(store, HashEmbedder()) as memory:
        assert [pin.text for pin in memory.pins.all()] == ["It is a tandem."]


def test_a_text_in_names_tags_and_prompts_goes_too(holds: Holds, store: Path) -> None:
    with Memory(store, HashEmbedder()) as memory:
        message = NewMessage(Role.USER, "Nothing special.", external_id="zanzibar-1")
        later = NewMessage(Role.ASSISTANT, "Indeed.", external_id="x", parent="zanzibar-1")
        memory.add(
            NewSession("from zanzibar", "zanzibar", (message, later), "Zanzibar", tags=("Zanzibar", "dull"))
        )
        (one,) = [one for one in memory.sessions() if one.source == "from zanzibar"]
        memory.desk.set_system(one.id, "Speak as they do in Zanzibar.")
    receipt = forget(store, matching="zanzibar")
    assert receipt.clean
    assert holds(store.parent, "zanzibar") == []
    with Memory(store, HashEmbedder()) as memory:
        left = memory.session(one.id)
        assert (left.tags, len(memory.messages(one.id))) == (("dull",), 2)
        first, second = memory.messages(one.id)
        assert second.parent == first.external_id


def test_what_was_deleted_in_the_chat_but_could_come_back_is_gone(holds: Holds, store: Path) -> None:
    with Memory(store, HashEmbedder()) as memory:
        (parrots,) = [one for one in memory.sessions() if one.external_id == "parrots"]
        memory.delete_session(parrots.id)
    assert holds(store.parent, SECRET) == ["memory.db"]
    receipt = forget(store, matching=SECRET)
    assert receipt.selection.empty
    assert receipt.clean
    assert holds(store.parent, SECRET) == []


def test_bytes_that_another_program_left_in_free_pages_are_cleared_out(holds: Holds, store: Path) -> None:
    other = apsw.Connection(str(store))
    other.pragma("secure_delete", 0)
    other.execute("CREATE TABLE scrap (x); INSERT INTO scrap VALUES ('a zeppelin in a free page')")
    other.execute("DROP TABLE scrap")
    other.close()
    assert holds(store.parent, "zeppelin") == ["memory.db"]
    assert forget(store, matching="zeppelin").clean
    assert holds(store.parent, "zeppelin") == []


def test_the_home_forgets_vectors_and_lines_of_logs_and_nothing_else(
    holds: Holds, store: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    cache = CachingEmbedder(HashEmbedder(), home / "cache" / "vectors.db")
    with Memory(store, HashEmbedder()) as memory:
        pieces = [
            piece for one in memory.sessions() for m in memory.messages(one.id) for piece in pieces_of(m)
        ]
    cache.embed_documents([*pieces, "of another text"])
    cache.close()
    log = home / "runs" / "fixed.jsonl"
    log.parent.mkdir()
    lines = [
        {"run": {"arm": "fixed"}},
        {"id": "1", "answer": f"It is {SECRET}."},
        {"id": "2", "answer": "Bread."},
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    notes = home / "mine.jsonl"
    notes.write_text(json.dumps({"text": "no log, not ours to change"}) + "\n")
    receipt = forget(store, home, matching=SECRET)
    assert receipt.home == {"vectors": 2, "log lines": 1}
    assert [json.loads(line) for line in log.read_text().splitlines()] == [lines[0], lines[2]]
    assert notes.read_text().startswith('{"text"')
    left = apsw.Connection(str(home / "cache" / "vectors.db"))
    assert left.execute("SELECT count(*) FROM vector").get == len(pieces) + 1 - 2
    left.close()
    assert holds(home, SECRET) == []


READER = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN; SELECT count(*) FROM message").fetchall()
print("reading", flush=True)
sys.stdin.readline()
"""


def test_while_another_program_reads_no_success_is_claimed_and_the_next_call_ends_it(
    holds: Holds, store: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        database = Database(store)
        with pytest.raises(StoreLocked, match=rf"\({reader.pid}\) reads from the file"):
            carry_out(database, select(database, matching=SECRET), None, proving=True, wait=0.3)
        assert unfinished(database)
        assert SECRET.encode() in store.read_bytes()
        assert not check(store, None).sound
        reader.communicate("\n", timeout=30)
    assert carry_out(database, select(database, matching=SECRET), None, proving=True).clean
    assert not unfinished(database)
    database.close()
    assert holds(store.parent, SECRET) == []


def test_a_proof_finds_what_was_left_behind(store: Path) -> None:
    (store.parent / "memory.db.bak").write_bytes(f"...{SECRET}...".encode("utf-16-le"))
    database = Database(store)
    chosen = select(database, matching=SECRET)
    with database.atomic() as connection:
        # As if a table were forgotten by the cascade: settings are not gone through.
        connection.execute("INSERT INTO setting VALUES ('note', ?)", (f"ask {SECRET.upper()}",))
    receipt = carry_out(database, chosen, None, proving=True)
    database.close()
    assert receipt.proof is not None
    assert {(hit.kind, hit.place) for hit in receipt.proof.hits} == {("text", str(store))}
    assert receipt.proof.elsewhere == (str(store.parent / "memory.db.bak"),)


def test_the_pages_of_an_encrypted_store_are_searched_decrypted(holds: Holds, build, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = build("a key")
    assert holds(path.parent, SECRET) == []
    database = Database(path, "a key")
    with database.atomic() as connection:
        connection.execute("INSERT INTO setting VALUES ('note', ?)", (SECRET,))
    receipt = carry_out(database, select(database, matching=SECRET), None, proving=True)
    assert receipt.proof is not None
    assert receipt.proof.decrypted
    assert [hit.place for hit in receipt.proof.hits] == [f"{path} (decrypted)"]
    with database.atomic() as connection:
        connection.execute("DELETE FROM setting WHERE key = 'note'")
    assert carry_out(database, select(database, matching=SECRET), None, proving=True).clean
    database.close()


def test_a_word_that_localmem_writes_itself_is_looked_up_in_rows(store: Path) -> None:
    with Memory(store, HashEmbedder()) as memory:
        memory.add(NewSession("tales", "s", (NewMessage(Role.USER, "My assistant quit."),), started_at=AT))
    receipt = forget(store, matching="assistant")
    assert receipt.proof is not None
    assert receipt.proof.own_word
    assert receipt.clean
    with Memory(store, HashEmbedder()) as memory:
        assert "My assistant quit." not in texts(memory)


@pytest.mark.parametrize(
    "what", [{}, {"matching": "a", "message_id": 1}, {"matching": "a"}, {"message_id": 999}]
)
def test_a_wish_that_means_nothing_is_refused(store: Path, what: dict[str, object]) -> None:
    before = store.read_bytes()
    with pytest.raises(BadInput):
        forget(store, **what)
    assert store.read_bytes() == before


def test_many_needles_are_found_as_a_plain_search_finds_them() -> None:
    forms = [b"abcdef", b"abcdefgh", b"xyz", b"longer than a block", b"\x00\x01\x02\x03\x04\x05"]
    data = b"..abcdefgh..xyz\x00\x01\x02\x03\x04\x05 a longer than a block abcdef" * 7
    expected = {(at, form) for form in forms for at in range(len(data)) if data.startswith(form, at)}
    for size in (1000, 25, 7, 1):
        blocks = (data[start : start + size] for start in range(0, len(data), size))
        assert {(at, form) for at, form, _ in Finder(forms).find_in(blocks)} == expected


def test_the_command_asks_first_and_prints_a_receipt(
    holds: Holds,
    store: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--db", str(store), "--home", str(tmp_path / "home"), *arguments])
        return code, *capsys.readouterr()

    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, _, err = run("forget", "--matching", SECRET)
    assert code == 130
    assert "2 messages" in err
    assert SECRET in err
    assert holds(store.parent, SECRET) == ["memory.db"]
    assert run("backup", str(tmp_path / "copy.db"))[0] == 0
    code, out, _ = run("forget", "--matching", SECRET, "--yes", "--prove", "--json")
    assert code == 0
    receipt = json.loads(out)
    assert receipt["proof"]["hits"] == 0
    assert receipt["proof"]["bytes"] > 100_000
    assert str(tmp_path / "copy.db") in receipt["not_reached"][0]
    assert SECRET.lower() not in out.lower()
    code, out, _ = run("forget", "--matching", SECRET, "--yes", "--prove")
    assert code == 0
    assert "Forgotten: 0 messages" in out
