"""What is noticed, what is not, and what is done about it. Every key here is made up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localmem.cli import main
from localmem.errors import BadInput, SecretRefused
from localmem.events import Replied, SecretsNoticed, Stored
from localmem.importers.run import REFUSED, import_files
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel
from localmem.privacy.secrets import Kind, Policy, find, masked, policy_of
from localmem.resent import Conversation
from localmem.types import NewMessage, NewSession, Role

CARD = "4111 1111 1111 1111"  # the networks' own number for tests
KEY = "sk-proj-" + "Ab3dEf6h" * 5
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"

NOTICED = [
    (f"My card is {CARD}, expires 12/28.", "My card is [card number], expires 12/28."),
    ("4111-1111-1111-1111", "[card number]"),
    ("5500005555555559 is the other one.", "[card number] is the other one."),
    ("Amex 3782 822463 10005!", "Amex [card number]!"),
    ("1234 5678 4111 1111 1111 1111 9", "1234 5678 [card number] 9"),
    (f"export OPENAI_API_KEY={KEY}", "export OPENAI_API_KEY=[API key]"),
    ("sk-ant-api03-" + "x9Yz_w" * 8, "[API key]"),
    ("aws: AKIAIOSFODNN7EXAMPLQ and so on", "aws: [API key] and so on"),
    ("ghp_" + "a1B2" * 9, "[API key]"),
    ("AIza" + "Sy-A_" * 7, "[API key]"),
    ("xoxb-" + "123456789012-abcdefABCDEF", "[API key]"),
    ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "[API key]"),
    ("hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh", "[API key]"),
    ("api_key = 'q8w7e6r5t4y3u2i1o0p9'", "api_key = '[API key]'"),
    ('"client_secret": "Zx81-7Yq2.Lm03_Pp9"', '"client_secret": "[API key]"'),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzKEY12", "AWS_SECRET_ACCESS_KEY=[API key]"),
    (f"the token is {JWT}", "the token is [token]"),
    ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [token]"),
    ("curl -H 'Authorization: Basic dXNlcjpwYXNz'", "curl -H 'Authorization: Basic [password]'"),
    (f"this:\n{PEM}\nthanks", "this:\n[private key]\nthanks"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz", "[private key]"),
    ("AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "QPZRY9X8GF2TVDW0S3JN54KHCE", "[private key]"),
    ("my wifi password is hunter2!", "my wifi password is [password]!"),
    ("Password: s3cr3t-Pa55", "Password: [password]"),
    ("the password for the router is: tr0ub4dor.", "the password for the router is: [password]."),
    ('The password is "swordfish".', 'The password is "[password]".'),
    ("Mein Passwort lautet Blume7!x", "Mein Passwort lautet [password]"),
    ("le mot de passe est soleil99", "le mot de passe est [password]"),
    ("La contraseña es gato_2020", "La contraseña es [password]"),
    ("passcode: 482913", "passcode: [password]"),
    ("PIN is 4829", "PIN is [password]"),
    ("postgres://ada:l0v3lace@db.example/x", "postgres://ada:[password]@db.example/x"),
]

NOT_NOTICED = [
    "My card is 4111 1111 1111 1112.",  # the check digit is wrong
    "Order 9111111111111111 has shipped.",  # no network begins with 9
    "tracking 1Z4111111111111111",
    "https://example.com/4111111111111111",
    "4111 11111111 1111",  # grouped as no card is
    "Call +49 30 123456 or 030 901820.",
    "ISBN 978-3-16-148410-0",
    "timestamp 1700000000000, id 1234567890123456789",
    "0.4111111111111111 of them",
    "I forgot my password again.",
    "The password is wrong.",
    "The password is case-sensitive, and the password was changed yesterday.",
    "Is your password strong? Password: required",
    "Passwords are like underwear: change them often.",
    "password = os.environ['DB_PASSWORD1']",
    'password="password"',
    "password: your_password_123",
    "Password: user@example.com",
    "api_key = YOUR_API_KEY_GOES_HERE_2023",
    "The secret is to salt the water 20 minutes before.",
    "api key: see the settings page of your account",
    "the key is under the mat",
    "I am so token-rich: eyJ is how they begin",
    "sk-learn and sk-image are packages",
    "task-0123456789abcdef0123456789abcdef0123",
    "scheme://host:8080/path and http://user@host/",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "the pin is 2023, PIN it on the board",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
]


@pytest.mark.parametrize(("text", "expected"), NOTICED, ids=range(len(NOTICED)))
def test_a_secret_is_noticed_where_it_stands_and_masked_by_its_kind(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize("text", NOT_NOTICED, ids=range(len(NOT_NOTICED)))
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert find(text) == []


def test_several_are_found_in_order_and_each_once() -> None:
    text = f"password: {KEY} and {CARD} and {PEM}"
    assert [secret.kind for secret in find(text)] == [Kind.API_KEY, Kind.CARD, Kind.PRIVATE_KEY]


PIECES = st.sampled_from(
    [text for text, _ in NOTICED]
    + NOT_NOTICED
    + [" ", "\n", "[", "]", "-----END RSA PRIVATE KEY-----", "\u200b"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=6).map("".join))
def test_places_are_in_order_inside_the_text_and_what_is_masked_stays_so(text: str) -> None:
    found = find(text)
    ends = [0, *(place for secret in found for place in (secret.start, secret.end)), len(text)]
    assert ends == sorted(ends)
    assert all(secret.start < secret.end for secret in found)
    once = masked(text)
    assert masked(once) == once


@pytest.mark.parametrize(
    "piece",
    ["a", "1 ", "4111 ", "sk-", "eyJa.", "password is ", "password for ", "password: a1b2c3 ", "api_key=", "://a:",
     "-----BEGIN PRIVATE KEY-----\n", "authorization: bearer "],
)  # fmt: skip
def test_a_long_text_takes_a_time_in_proportion(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        started = time.process_time()
        find(text)
        return time.process_time() - started

    assert seconds(200_000) < 20 * seconds(20_000) + 0.5  # ten times, if nothing is squared: else a hundred


# --- what is done about them ---


def history(tmp_path: Path) -> Path:
    lines = [
        {"session": "a", "role": "user", "text": f"My card is {CARD}."},
        {"session": "a", "role": "assistant", "text": "Never tell that."},
        {"session": "b", "role": "user", "text": "I planted tulips."},
        {"session": "c", "role": "user", "text": f"{KEY} and {CARD}"},
    ]
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


Open = Callable[[Policy | None], Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    return lambda policy: Memory(tmp_path / "m.db", HashEmbedder(), secrets=policy)


def texts(memory: Memory) -> list[str]:
    return [m.text for session in memory.sessions() for m in memory.messages(session.id)]


def test_an_import_counts_them_and_keeps_them_unless_told_otherwise(opened: Open, tmp_path: Path) -> None:
    with opened(None) as memory:
        report = import_files([history(tmp_path)], "auto", memory.add)
        assert report.as_json()["secrets"] == {"card number": 2, "API key": 1}
        assert (report.new_messages, dict(report.skipped)) == (4, {})
        assert f"My card is {CARD}." in texts(memory)


def test_a_masked_import_keeps_the_kind_and_takes_nothing_in_twice(opened: Open, tmp_path: Path) -> None:
    with opened(Policy.MASK) as memory:
        for expected in (4, 0):
            report = import_files([history(tmp_path)], "auto", memory.add)
            assert report.new_messages == expected
        assert {"My card is [card number].", "[API key] and [card number]"} <= set(texts(memory))
    assert CARD.encode() not in (tmp_path / "m.db").read_bytes()


def test_a_refusing_import_leaves_those_sessions_out_and_counts_them(opened: Open, tmp_path: Path) -> None:
    with opened(Policy.REFUSE) as memory:
        report = import_files([history(tmp_path)], "auto", memory.add)
        assert (report.new_messages, dict(report.skipped)) == (1, {REFUSED: 2})
        assert texts(memory) == ["I planted tulips."]


def test_a_file_without_them_is_reported_as_ever(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    path.write_text('{"session": "b", "role": "user", "text": "I planted tulips."}\n')
    with opened(None) as memory:
        assert "secrets" not in import_files([path], "auto", memory.add).as_json()


def test_titles_and_system_prompts_and_attachments_are_masked_too(opened: Open) -> None:
    message = NewMessage(Role.USER, "see the file", attachments=f"card {CARD}")
    session = NewSession("s", "1", (message,), title=f"Card {CARD}", system=f"key {KEY}")
    with opened(Policy.MASK) as memory:
        memory.add(session)
        (stored,) = memory.sessions()
        assert stored.title == "Card [card number]"
        assert memory.desk.system(stored.id) == "key [API key]"
        assert memory.messages(stored.id)[0].attachments == "card [card number]"


def test_the_chat_warns_before_it_keeps_and_who_leaves_then_has_nothing_kept(opened: Open) -> None:
    with opened(None) as memory:
        events = memory.chat(f"{KEY} is my key", model=ScriptedModel(["Hello"]))
        assert next(events) == SecretsNoticed(("API key",))
        events.close()
        assert memory.counts() == (0, 0)


def test_the_chat_keeps_what_it_warned_of_when_it_is_gone_on_with(opened: Open) -> None:
    with opened(None) as memory:
        first, second, *_ = memory.chat(f"{KEY} is my key", model=ScriptedModel(["Hello"]))
        assert isinstance(first, SecretsNoticed)
        assert isinstance(second, Stored)
        assert second.message.text == f"{KEY} is my key"


def test_a_masking_chat_stores_neither_message_nor_title_nor_reply_with_them(
    opened: Open, tmp_path: Path
) -> None:
    model = ScriptedModel([f"You said {CARD}"])
    with opened(Policy.MASK) as memory:
        *_, last = memory.chat(f"{CARD} is my card", model=model)
        assert isinstance(last, Replied)
        assert texts(memory) == ["[card number] is my card", "You said [card number]"]
        assert memory.sessions()[0].title == "[card number] is my card"
    assert CARD not in str(model.history)
    assert CARD.encode() not in (tmp_path / "m.db").read_bytes()


def test_a_refusing_chat_stores_nothing_and_says_why_but_no_reply_is_lost(opened: Open) -> None:
    with opened(Policy.REFUSE) as memory:
        with pytest.raises(SecretRefused, match="card number") as refused:
            list(memory.chat(f"{CARD} is my card", model=ScriptedModel(["Hello"])))
        assert CARD not in str(refused.value)
        assert memory.counts() == (0, 0)
        list(memory.chat("Say a card number.", model=ScriptedModel([f"Such as {CARD}"])))
        assert texts(memory) == ["Say a card number.", "Such as [card number]"]


def test_a_private_chat_warns_of_nothing_for_nothing_is_kept(opened: Open) -> None:
    from localmem.answering.dialogue import With

    with opened(None) as memory:
        first, *_ = memory.private_dialogue().say(f"{KEY} is my key", With(ScriptedModel(["Hello"])))
        assert isinstance(first, Stored)


def test_a_conversation_that_is_sent_again_is_known_although_it_was_masked(opened: Open) -> None:
    told = [NewMessage(Role.USER, f"{CARD} is my card")]
    with opened(Policy.MASK) as memory:
        for text in ("Noted", "Again"):
            list(memory.reply(Conversation(tuple(told), "program"), model=ScriptedModel([text])))
            told += [NewMessage(Role.ASSISTANT, text), NewMessage(Role.USER, f"and {text}?")]
        assert texts(memory) == ["[card number] is my card", "Noted", "and Noted?", "Again"]
        assert CARD not in memory.sessions()[0].title


def test_the_setting_is_the_homes_and_the_command_lines_comes_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"

    def run(*arguments: str) -> tuple[int, str]:
        code = main(["--db", str(tmp_path / "t.db"), "--home", str(home), *arguments])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    run("models", "use", "embedder", "hash")
    code, told = run("import", str(history(tmp_path)))
    assert code == 0
    assert "noticed 2: card number" in told
    assert "--secrets mask" in told
    assert CARD not in told
    kept = json.loads((home / "settings.json").read_text())
    (home / "settings.json").write_text(json.dumps({**kept, "secrets": "refuse"}))
    (tmp_path / "t.db").unlink()
    assert "skipped 2: session refused: it holds a secret" in run("import", str(history(tmp_path)))[1]
    assert run("--secrets", "mask", "import", str(history(tmp_path)))[0] == 0
    assert "My card is [card number]." in run("search", "card")[1]
    (home / "settings.json").write_text(json.dumps({**kept, "secrets": "perhaps"}))
    code, told = run("sessions")
    assert code == 2
    assert "it may be warn, mask, refuse" in told


def test_a_home_that_says_nothing_warns(tmp_path: Path) -> None:
    assert policy_of(tmp_path) is Policy.WARN
    (tmp_path / "settings.json").write_text('{"secrets": 7}')
    with pytest.raises(BadInput, match=r"settings\.json"):
        policy_of(tmp_path)
