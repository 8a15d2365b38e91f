"""The guard that keeps a process off the network, and counts who tried.

While :func:`offline` holds, a name look-up, a connection or a datagram to an internet address raises
:class:`~localmem.models.errors.NetworkRefused`, in every thread and whoever asks: our code or a library's.
Let through are what stands inside :func:`allowed` (a pull that the user asked for) or :func:`listening` (a
server that the user started), Unix sockets, and the pair of local sockets by which event loops wake
themselves where the system has no better (Windows). To bind to an address of this machine, as urllib3 does at
its import to see whether there is IPv6, sends nothing and is let through too.

Every command and the process that holds a model put themselves under it. ``import localmem`` and
``Memory.open`` do not: the guard is for a whole process, and a program that embeds localmem has connections
of its own. It may say ``with localmem.offline():`` where it has none.

It is an audit hook (PEP 578). Hooks cannot be taken out, so it is put in once, at the first use, and
switched on and off. An address that is a name is looked up by ``connect`` and its like before they are
audited, so these methods of ``socket.socket`` are replaced too, as long as the guard holds. Both see what
goes through Python's ``socket`` module. What native code or another program does with the system directly
they cannot see, so tests watch whole runs from outside too.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from localmem.models.errors import BadInput, NetworkRefused

RECORD = "network.jsonl"
"""The record's name in a home folder."""
MOST_BYTES = 1 << 18
"""A record that is longer gets no more lines: a library that tries for ever must not fill the disk."""

What = Literal["name look-up", "connection", "datagram"]

_LOOK_UPS = frozenset(
    ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo")
)
_REVERSE = frozenset(("socket.gethostbyaddr", "socket.getnameinfo"))
_SENDS: dict[str, What] = {
    "socket.connect": "connection",
    "socket.sendto": "datagram",
    "socket.sendmsg": "datagram",
}
_WATCHED = _LOOK_UPS | _SENDS.keys()
_METHODS = {"connect": 1, "connect_ex": 1, "bind": 1, "sendto": 2, "sendmsg": 4}
"""Of ``socket.socket``, with the least number of arguments of which the last is an address."""
_INTERNET = (socket.AF_INET, socket.AF_INET6)
_PROBE = "localmem.network.probe"
_PAIR = frozenset(("socketpair", "_fallback_socketpair"))  # functions of the module socket, by Python version
_NAMED = 6  # packages of a call chain that are told


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something wanted the network."""

    what: What
    by: str
    """Who, outermost first: ``localmem.index.embedding > fastembed > httpx``. Never what, or where to."""
    reason: str | None = None
    """What the user asked for that let it through; None: it was refused."""
    at: str = ""
    """When, in UTC, ISO 8601."""


Keep = Callable[[Attempt], None]
"""Takes note of an attempt; in whatever thread makes it."""


class _Guard:
    """The switch. ``seen`` and ``keep`` are of the innermost :func:`offline`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.installed = False
        self.holding: list[tuple[list[Attempt], Keep]] = []
        self.methods: dict[str, object] = {}  # that were replaced; None: the class had none of its own
        self.everywhere: list[str] = []
        self.listening: list[str] = []
        self.here = threading.local()

    def install(self) -> None:
        """Put the hook in, once. Raises RuntimeError where another hook forbids it."""
        with self.lock:
            if not self.installed:
                sys.addaudithook(_hook)
                sys.audit(_PROBE)  # a hook that was refused is refused without a word
                if not self.installed:
                    raise RuntimeError("Another audit hook of this process keeps the offline guard out.")

    def hold(self, attempts: list[Attempt], keep: Keep) -> None:
        with self.lock:
            if not self.holding:
                self.methods = _replace_methods()
            self.holding.append((attempts, keep))

    def let_go(self, attempts: list[Attempt]) -> None:
        with self.lock:
            self.holding = [pair for pair in self.holding if pair[0] is not attempts]
            if not self.holding:
                _put_back(self.methods)

    def met(self, what: What, target: object) -> None:
        """Note an attempt and refuse it unless it is allowed."""
        reasons = [*getattr(self.here, "reasons", ()), *self.everywhere]
        if what == "name look-up":
            reasons += self.listening
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__") == __name__:
            frame = frame.f_back
        if what == "connection" and _is_own_pair(frame):
            return
        reason = reasons[0] if reasons else None
        self.note(Attempt(what, _who(frame), reason, datetime.now(UTC).isoformat(timespec="seconds")))
        if reason is None:
            # Where to is for who reads the message; the record does not get it.
            told = target[0] if isinstance(target, tuple) and target else target
            raise NetworkRefused(
                f"localmem works without the network, and a {what} ({told}) was refused. "
                f"It was tried by {_who(frame)}. Only `localmem models pull` fetches anything."
            )

    def note(self, attempt: Attempt) -> None:
        holding = self.holding[-1:]  # another thread may be leaving it
        for seen, keep in holding:
            seen.append(attempt)
            keep(attempt)


_guard = _Guard()


def _hook(event: str, args: tuple[Any, ...]) -> None:
    """Called for everything that Python audits: most of it is none of ours, and must cost nothing.

    A plain function: a bound method costs five times as much.
    """
    if event in _WATCHED:
        if _guard.holding and (what := _wanted(event, args)):
            _guard.met(what, args[1] if len(args) == 2 else args[0])
    elif event == _PROBE:
        _guard.installed = True


@contextlib.contextmanager
def offline(keep: Path | Keep | None = None) -> Iterator[list[Attempt]]:
    """Keep this process off the network as long as it holds; yields the attempts, a list that grows.

    ``keep``: a file that gets a line for each (:func:`read_record`), or what else takes note of them.
    """
    _guard.install()
    note: Keep = keep if callable(keep) else (lambda _: None) if keep is None else Record(keep).add
    attempts: list[Attempt] = []
    _guard.hold(attempts, note)
    try:
        yield attempts
    finally:
        _guard.let_go(attempts)


@contextlib.contextmanager
def allowed(reason: str, *, every_thread: bool = False) -> Iterator[None]:
    """Let through what is inside, for the ``reason`` that the record will give.

    It holds for the thread that says so: what another does meanwhile is still refused. ``every_thread`` is
    for libraries that talk from threads of their own.
    """
    if not every_thread and not hasattr(_guard.here, "reasons"):
        _guard.here.reasons = []
    reasons: list[str] = _guard.everywhere if every_thread else _guard.here.reasons
    with _listed(reason, reasons):
        yield


@contextlib.contextmanager
def listening(reason: str) -> Iterator[None]:
    """Let through what a server needs to listen: to look its own name up. It answers, and calls nobody.

    For every thread: event loops look names up in threads of their own.
    """
    with _listed(reason, _guard.listening):
        yield


@contextlib.contextmanager
def _listed(reason: str, reasons: list[str]) -> Iterator[None]:
    reasons.append(reason)
    try:
        yield
    finally:
        reasons.remove(reason)


def report(attempt: Attempt) -> None:
    """Take note of what a child process was refused, if this process is under the guard itself."""
    _guard.note(attempt)


class Record:
    """Attempts in a file, a JSON line each; several processes may add to it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, attempt: Attempt) -> None:
        """Add a line, unless the file is long already.

        Where it cannot be written the attempt is refused all the same: that matters more than the count.
        """
        line = json.dumps(asdict(attempt)).encode() + b"\n"
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                if os.fstat(file).st_size < MOST_BYTES:
                    os.write(file, line)  # in one piece: lines of two processes do not mix
            finally:
                os.close(file)


def read_record(path: Path) -> list[Attempt]:
    """The attempts in a file; none when there is no file. Raises :class:`BadInput` when it is no record."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [Attempt(**json.loads(line)) for line in lines]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError) as error:
        raise BadInput(f"{path} is no record of network use ({error}). Remove it.") from error


def _wanted(event: str, args: tuple[Any, ...]) -> What | None:
    """What an audit event asks of the network; None: nothing."""
    if event in _REVERSE:
        return "name look-up"
    if event in _LOOK_UPS:
        return "name look-up" if _is_name(args[0]) else None
    sock, address = args
    if sock.family not in _INTERNET or address is None:  # None: to whom it is connected already
        return None
    return _SENDS[event]


def _replace_methods() -> dict[str, object]:
    """Let the methods that look names up ask first; returns what the class had of its own."""
    before = {name: vars(socket.socket).get(name) for name in _METHODS}
    for name, least in _METHODS.items():
        setattr(socket.socket, name, _asking(getattr(socket.socket, name), least))
    return before


def _put_back(methods: dict[str, object]) -> None:
    for name, method in methods.items():
        if method is None:
            delattr(socket.socket, name)  # the base class has it
        else:
            setattr(socket.socket, name, method)


def _asking(method: Callable[..., Any], least: int) -> Callable[..., Any]:
    @functools.wraps(method)
    def asking(sock: socket.socket, *args: Any) -> Any:
        address = args[-1] if len(args) >= least and sock.family in _INTERNET else None
        if isinstance(address, tuple) and address and _is_name(address[0]):
            _guard.met("name look-up", address)
        return method(sock, *args)

    return asking


def _is_name(host: object) -> bool:
    """Whether a host has to be looked up: it is neither an address nor "any"."""
    text = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else host
    if not isinstance(text, str) or text in ("", "<broadcast>"):
        return False
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return True
    return False


def _is_own_pair(frame: FrameType | None) -> bool:
    """Whether the standard library connects the two halves of a ``socketpair`` that the system lacks."""
    return frame is not None and frame.f_globals.get("__name__") == "socket" and frame.f_code.co_name in _PAIR


def _who(frame: FrameType | None) -> str:
    """The packages of a call chain, outermost first; of localmem the innermost module."""
    chain: dict[str, str] = {}  # package -> how it is told; innermost first
    while frame is not None:
        name: str = frame.f_globals.get("__name__") or "?"
        package = name.partition(".")[0]
        if package not in sys.stdlib_module_names:
            chain.setdefault(package, name if package == "localmem" else package)
        frame = frame.f_back
    return " > ".join(reversed(list(chain.values())[:_NAMED])) or "the standard library"
