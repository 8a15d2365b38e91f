"""The guard that keeps a process off the network, seen from inside."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from localmem import offline
from localmem.cli import main
from localmem.errors import BadInput, NetworkRefused
from localmem.models import network
from localmem.models.hashing import HashEmbedder
from localmem.models.llama import HostedModel
from localmem.models.network import MOST_BYTES, RECORD, allowed, listening, read_record
from localmem.models.protocols import ChatMessage, TextDelta
from localmem.servers.http_run import listen

HOST = (sys.executable, "-P", str(Path(__file__).with_name("network_host.py")))
NOWHERE = ("192.0.2.1", 9)  # an address of documentation: nobody has it
NAME = "memory-of-somebody.example"


def tcp() -> closing[socket.socket]:
    return closing(socket.socket())


def udp() -> closing[socket.socket]:
    return closing(socket.socket(type=socket.SOCK_DGRAM))


def connect() -> None:
    with tcp() as sock:
        sock.connect(NOWHERE)


def connect_ex() -> None:
    with tcp() as sock:
        sock.connect_ex(NOWHERE)


def connect_loopback() -> None:
    with tcp() as sock:
        sock.connect(("127.0.0.1", 9))


def connect_ipv6() -> None:
    with closing(socket.socket(socket.AF_INET6)) as sock:
        sock.connect(("::1", 9))


def send_to() -> None:
    with udp() as sock:
        sock.sendto(b"x", NOWHERE)


def send_message() -> None:
    with udp() as sock:
        sock.sendmsg([b"x"], [], 0, NOWHERE)


def bind_to_a_name() -> None:
    with tcp() as sock:
        sock.bind((NAME, 0))


def connect_to_a_name() -> None:
    with tcp() as sock:
        sock.connect((NAME, 443))


def connect_ex_to_a_name() -> None:
    with tcp() as sock:
        sock.connect_ex((NAME, 443))


def send_to_a_name() -> None:
    with udp() as sock:
        sock.sendto(b"x", 0, (NAME, 53))


def send_message_to_a_name() -> None:
    with udp() as sock:
        sock.sendmsg([b"x"], [], 0, (NAME, 53))


ATTEMPTS: dict[Callable[[], object], str] = {
    connect: "connection",
    connect_ex: "connection",
    connect_loopback: "connection",
    connect_ipv6: "connection",
    send_to: "datagram",
    send_message: "datagram",
    bind_to_a_name: "name look-up",
    connect_to_a_name: "name look-up",  # which would be looked up before the connection is audited
    connect_ex_to_a_name: "name look-up",
    send_to_a_name: "name look-up",
    send_message_to_a_name: "name look-up",
    lambda: socket.getaddrinfo(NAME, 443): "name look-up",
    lambda: socket.getaddrinfo(NAME.encode(), 443): "name look-up",
    lambda: socket.gethostbyname(NAME): "name look-up",
    lambda: socket.gethostbyname_ex(NAME): "name look-up",
    lambda: socket.gethostbyaddr("192.0.2.1"): "name look-up",
    lambda: socket.getnameinfo(NOWHERE, 0): "name look-up",
    lambda: socket.create_connection((NAME, 443)): "name look-up",
}


@pytest.mark.parametrize(("attempt", "what"), ATTEMPTS.items(), ids=range(len(ATTEMPTS)))
def test_every_way_to_the_network_is_refused_and_counted(attempt: Callable[[], object], what: str) -> None:
    with offline() as attempts, pytest.raises(NetworkRefused, match=f"a {what} .*was refused"):
        attempt()
    assert [(a.what, a.reason) for a in attempts] == [(what, None)]
    assert attempts[0].by.endswith(__name__.partition(".")[0])


def test_the_error_says_where_to_and_by_whom_and_what_may_fetch() -> None:
    with offline(), pytest.raises(NetworkRefused) as refused:
        socket.getaddrinfo(NAME, 443)
    for told in (NAME, "tried by", "localmem models pull"):
        assert told in str(refused.value)
    assert refused.value.exit_code == 1


def test_what_a_library_swallows_is_counted_all_the_same() -> None:
    with offline() as attempts:
        for _ in range(3):
            with suppress(Exception):  # as libraries do that report home
                connect()
    assert len(attempts) == 3


def test_other_threads_are_held_too() -> None:
    caught: list[BaseException] = []

    def work() -> None:
        try:
            connect()
        except NetworkRefused as error:
            caught.append(error)

    with offline() as attempts:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert (len(caught), len(attempts)) == (1, 1)


def test_what_needs_no_network_is_let_through(tmp_path: Path) -> None:
    with offline() as attempts:
        assert socket.getaddrinfo("127.0.0.1", 80)
        assert socket.getaddrinfo("::1", 80)
        assert socket.getaddrinfo(None, 80)
        asyncio.run(asyncio.sleep(0))  # its loop wakes itself through a pair of sockets
        with closing(socket.socket()) as here:  # as urllib3 tries IPv6 when it is imported
            here.bind(("127.0.0.1", 0))
        with (
            closing(socket.socket(socket.AF_UNIX)) as server,
            closing(socket.socket(socket.AF_UNIX)) as client,
        ):
            server.bind(str(tmp_path / "unix"))
            server.listen()
            client.connect(str(tmp_path / "unix"))
    assert attempts == []


def run_as(module: str, function: str, body: str, **names: object) -> Callable[[], object]:
    """A function of another module, with what it uses."""
    scope: dict[str, Any] = {"__name__": module, **names}
    exec(f"def {function}():\n    {body}\n", scope)
    made: Callable[[], object] = scope[function]
    return made


def test_the_pair_of_sockets_that_windows_lacks_is_let_through_and_no_more() -> None:
    with tcp() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        address = server.getsockname()
        for function in ("socketpair", "_fallback_socketpair"):
            with offline() as attempts, tcp() as sock:
                run_as("socket", function, "sock.connect(address)", sock=sock, address=address)()
            assert attempts == []
        for module, function in (("socket", "create_connection"), ("someone", "socketpair")):
            with offline(), tcp() as sock, pytest.raises(NetworkRefused):
                run_as(module, function, "sock.connect(address)", sock=sock, address=address)()


def test_the_guard_ends_where_it_ends() -> None:
    with offline(), offline():
        pass
    assert not {"connect", "connect_ex", "bind", "sendto", "sendmsg"} & vars(socket.socket).keys()
    with tcp() as server, tcp() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())


def test_what_the_user_asked_for_is_let_through_in_this_thread_and_recorded_with_its_reason() -> None:
    other: list[BaseException] = []

    def meanwhile() -> None:
        try:
            connect()
        except NetworkRefused as error:
            other.append(error)

    with tcp() as server, tcp() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with offline() as attempts:
            with allowed("models pull"):
                client.connect(server.getsockname())
                thread = threading.Thread(target=meanwhile)
                thread.start()
                thread.join()
            with pytest.raises(NetworkRefused):
                connect()
    assert [a.reason for a in attempts] == ["models pull", None, None]
    assert len(other) == 1


def test_a_reason_for_every_thread_holds_in_every_thread() -> None:
    with tcp() as server, tcp() as client, offline() as attempts:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with allowed("--scheduler", every_thread=True):
            thread = threading.Thread(target=client.connect, args=(server.getsockname(),))
            thread.start()
            thread.join()
        with pytest.raises(NetworkRefused):
            connect()
    assert [a.reason for a in attempts] == ["--scheduler", None]


def test_a_server_may_look_its_name_up_and_answer_and_call_nobody() -> None:
    script = (
        "import socket, sys\n"
        "with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as sock:\n"
        "    sys.stdout.write(sock.recv(9).decode())\n"
    )
    with offline() as attempts, listen("localhost", 0, allow_remote=False) as server:
        port = str(server.getsockname()[1])
        client = subprocess.Popen([sys.executable, "-c", script, port], stdout=subprocess.PIPE, text=True)
        connection, _ = server.accept()
        with connection:
            connection.sendmsg([b"hel", b"lo"])  # as event loops write
        assert client.communicate(timeout=60)[0] == "hello"
        with listening("serve"), pytest.raises(NetworkRefused):
            connect()
        with pytest.raises(NetworkRefused):
            socket.getaddrinfo("localhost", 80)
    assert [(a.what, a.reason) for a in attempts] == [
        ("name look-up", "serve"),
        ("connection", None),
        ("name look-up", None),
    ]


def test_the_record_tells_who_and_what_and_never_where_to(tmp_path: Path) -> None:
    path = tmp_path / "home" / RECORD
    with offline(path):
        for _ in range(2):
            with pytest.raises(NetworkRefused):
                socket.getaddrinfo(NAME, 443)
    found = read_record(path)
    assert [(a.what, a.reason) for a in found] == [("name look-up", None)] * 2
    assert all(a.by and a.at for a in found)
    assert NAME not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0


def test_a_record_that_is_long_gets_no_longer(tmp_path: Path) -> None:
    path = tmp_path / RECORD
    line = json.dumps({"what": "connection", "by": "x", "reason": None, "at": ""}) + "\n"
    path.write_text(line * (MOST_BYTES // len(line) + 1))
    before = path.stat().st_size
    with offline(path) as attempts, pytest.raises(NetworkRefused):
        connect()
    assert len(attempts) == 1
    assert path.stat().st_size == before


def test_an_attempt_is_refused_although_the_record_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with offline(tmp_path / "file" / RECORD) as attempts, pytest.raises(NetworkRefused):
        connect()
    assert len(attempts) == 1


def test_a_file_that_is_no_record_is_named(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text("{not json\n")
    with pytest.raises(BadInput, match="is no record of network use"):
        read_record(tmp_path / RECORD)
    assert read_record(tmp_path / "nothing") == []


def test_localmem_puts_no_hook_into_a_program_that_embeds_it(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "hooks = []\n"
        "sys.addaudithook = hooks.append\n"
        "import localmem\n"
        "from localmem.models.hashing import HashEmbedder\n"
        f"memory = localmem.Memory.open({str(tmp_path / 'm.db')!r}, home={str(tmp_path)!r}, "
        "embedder=HashEmbedder())\n"
        "memory.add('I have a cat.'); memory.search('cat'); memory.close()\n"
        "assert not hooks\n"
        "import socket; socket.socket(type=socket.SOCK_DGRAM).connect(('127.0.0.1', 9))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_hook_that_is_kept_out_is_no_guard() -> None:
    script = (
        "import sys\n"
        "def veto(event, args):\n"
        "    if event == 'sys.addaudithook': raise RuntimeError\n"
        "sys.addaudithook(veto)\n"
        "import localmem\n"
        "try:\n"
        "    with localmem.offline(): pass\n"
        "except RuntimeError as error:\n"
        "    assert 'keeps the offline guard out' in str(error)\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@contextmanager
def hosted() -> Iterator[HostedModel]:
    model = HostedModel(Path("model.gguf"), name="small", sha256="00", context=1000, command=HOST)
    try:
        yield model
    finally:
        model.close()


def test_the_process_that_holds_a_model_is_guarded_and_its_attempts_are_counted_here(tmp_path: Path) -> None:
    with hosted() as model, offline(tmp_path / RECORD):
        with pytest.raises(NetworkRefused):
            list(model.stream([ChatMessage("user", "aloud")], max_tokens=3))
        told = list(model.stream([ChatMessage("user", "quietly")], max_tokens=3))
        assert told[0] == TextDelta("done")
    assert [a.what for a in read_record(tmp_path / RECORD)] == ["name look-up"] * 2


def test_without_a_guard_here_the_model_is_guarded_nonetheless() -> None:
    with hosted() as model, pytest.raises(NetworkRefused):
        list(model.stream([ChatMessage("user", "aloud")], max_tokens=3))


def test_a_command_is_guarded_and_doctor_tells_the_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*arguments: str) -> int:
        return main(["--db", str(tmp_path / "t.db"), "--home", str(tmp_path / "home"), *arguments])

    def phone_home(self: HashEmbedder, text: str) -> None:
        socket.getaddrinfo(NAME, 443)

    def network_line() -> str:
        capsys.readouterr()
        run("doctor", "--json")
        checks = json.loads(capsys.readouterr().out)
        return next(check["detail"] for check in checks if check["name"] == "network")

    assert run("models", "use", "embedder", "hash") == 0
    (tmp_path / "h.jsonl").write_text('{"session": "a", "role": "user", "text": "A cat."}\n')
    assert run("import", str(tmp_path / "h.jsonl")) == 0
    assert network_line() == "refused: 0 attempts."
    with monkeypatch.context() as patched:
        patched.setattr(HashEmbedder, "embed_query", phone_home)
        capsys.readouterr()
        assert run("search", "cat") == 1
        assert NAME in capsys.readouterr().err
    told = network_line()
    assert told.startswith("refused: 1 attempt, the last on ")
    assert "(name look-up)" in told
    assert NAME not in told
    assert network._guard.holding == []


def test_what_is_no_network_costs_next_to_nothing() -> None:
    """Python audits every import and every opened file; the hook is asked each time."""
    with offline() as attempts:
        for _ in range(100_000):
            sys.audit("localmem.test")
    assert attempts == []
