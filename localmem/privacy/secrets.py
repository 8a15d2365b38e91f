"""Keys, tokens, card numbers and passwords in text: noticed when it is stored, masked or refused if wanted.

What is noticed, and how precisely. A pattern has to be sure of what it sees: whoever is warned of nothing
stops reading warnings. So a secret in a form of its own is not noticed; that is no promise.

=============  ===========================================================================================
private key    a PEM or PGP block from its BEGIN line to its END (or the text's), an age or PuTTY key
API key        by the provider's own prefix, alphabet and length (:data:`_PREFIXED`); or called one
               (``api_key = ...``), of 16 characters or more with letters and digits, no placeholder
token          a JSON web token; what follows ``Authorization: Bearer``
card number    a network's prefix and length, grouped as cards are (4111 1111 1111 1111) or in one piece,
               with a right check digit (Luhn)
password       called one ("my wifi password is ...", ``password: ...``; German, French, Spanish and
               Portuguese too), with a digit or a sign in it, in quotation marks, or of digits only; a PIN
               of 4 to 8 digits; ``scheme://user:password@host``; ``Authorization: Basic``
=============  ===========================================================================================

Nothing here keeps, logs or returns what was found but its kind and its place.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from localmem.errors import BadInput, SecretRefused
from localmem.models.jsonfile import read_json
from localmem.types import NewMessage, NewSession


class Kind(StrEnum):
    """What was noticed, in words."""

    PRIVATE_KEY = "private key"
    API_KEY = "API key"
    TOKEN = "token"
    CARD = "card number"
    PASSWORD = "password"


class Policy(StrEnum):
    """What is done about a secret; ``secrets`` in the home's ``settings.json``, or ``--secrets``."""

    WARN = "warn"
    """It is kept as it is, and told."""
    MASK = "mask"
    """``[card number]`` is kept in its place."""
    REFUSE = "refuse"
    """The message, of an import its session, is not kept."""


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a text holds one."""

    kind: Kind
    start: int
    end: int


_PREFIXED = (
    # OpenAI, Anthropic, OpenRouter; OpenAI's older ones and many that are like them
    r"sk-(?:proj|svcacct|admin|ant-[a-z0-9]{1,10}|or-v1)-[A-Za-z0-9_-]{20,200}",
    r"sk-[A-Za-z0-9]{32,64}",
    r"(?:AKIA|ASIA)[A-Z2-7]{16}",  # Amazon
    r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,300}",  # Google
    r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255}",  # GitHub
    r"glpat-[A-Za-z0-9_-]{20,64}",  # GitLab
    r"xox[abeoprs]-[A-Za-z0-9-]{20,200}|xapp-[0-9]-[A-Za-z0-9-]{20,200}",  # Slack
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{20,128}|whsec_[A-Za-z0-9+/=]{32,64}",  # Stripe
    # Hugging Face, Groq, xAI, Replicate
    r"hf_[A-Za-z]{34}|gsk_[A-Za-z0-9]{40,60}|xai-[A-Za-z0-9]{60,90}|r8_[A-Za-z0-9]{37}",
    r"npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{60,250}|dop_v1_[a-f0-9]{64}",  # npm, PyPI, DigitalOcean
    r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",  # SendGrid, Telegram
)
_API_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:{'|'.join(_PREFIXED)})(?![A-Za-z0-9_-])")
_CALLED_KEY = re.compile(
    r"(?:api|access|auth|client|secret)[_ -]?(?:access[_ -]?)?(?:key|token|secret)\b"
    r"[\"']?[ \t]{0,3}(?:is|[:=])[ \t]{0,3}[\"'`]?([A-Za-z0-9_+/=.-]{16,256})",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    r"|\bauthorization[\"']?[ \t]*[:=][ \t]*[\"']?bearer[ \t]+([A-Za-z0-9_.~+/=-]{16,})",
    re.IGNORECASE,
)
_BEGIN = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----|PuTTY-User-Key-File-\d")
_AGE = re.compile(r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b")
_DIGITS = re.compile(
    r"(?<![\w./=#@+-])[0-9]{4,19}(?:([ -])[0-9]{2,6}(?:\1[0-9]{2,6}){0,30})?(?![\w/@-]|\.[0-9])"
)
_CARDS = re.compile(  # Visa, Mastercard, Discover, JCB; American Express; Diners; UnionPay
    r"(?:4[0-9]{3}|5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720"
    r"|6011|64[4-9][0-9]|65[0-9]{2}|352[89]|35[3-8][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[689][0-9])[0-9]{11}|62[0-9]{14,17}"
)
_SHAPES = ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3))
"""Digits of the groups on cards; or all are in one."""
_PASSWORD = re.compile(
    r"\b(?:pass(?:word|phrase|code)|passwd|pwd|passwort|kennwort|mot de passe|contrase[ñn]a|senha)\b"
    r"[\"'*_`]{0,3}"
    r"(?:[ \t]+(?:for|of|to|on|für|pour|para)[ \t]+[^\n:=.?!]{1,40}?)?"
    r"(?:[ \t]*[:=]|[ \t]+(?:is|was|ist|lautet|est|es|é)\b[ \t]*:?)[ \t]*[*_]{0,2}"
    r"(?:([\"'“‘`])([^\s\"'”’`]{4,128})[\"'”’`]|(\S{4,128}))",
    re.IGNORECASE,
)
_PIN = re.compile(r"\bPIN(?:[ -]?(?:code|number))?(?:[ \t]*[:=]|[ \t]+is)[ \t]*([0-9]{4,8})\b(?![.,/-][0-9])")
_IN_URL = re.compile(r"://[^\s/:@?#]{1,64}:([^\s/@]{3,128})@")
_BASIC = re.compile(
    r"\bauthorization[\"']?[ \t]*[:=][ \t]*[\"']?basic[ \t]+([A-Za-z0-9+/=]{8,})", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"^(?:\W*|x+|\*+|\.+)$|your|example|placeholder|change.?me|xxx|\*\*\*|\.\.\.|^(?:pass(?:word)?|secret|string)$",
    re.IGNORECASE,
)
_CODE = re.compile(r"[()\[\]{}<>\"'`]|^\w+://|^[^@\s]+@[^@\s]+\.\w+$")  # an expression, an address
_SIGN = re.compile(r"[@#$%^&*_+=~|\\!?](?=.)")


def find(text: str) -> list[Secret]:
    """The secrets of a text in its order; none lies over another."""
    found: list[Secret] = []
    for secret in _candidates(text):
        place = bisect(found, secret.start, key=lambda other: other.start)
        before, after = found[place - 1 : place], found[place : place + 1]
        if all(other.end <= secret.start for other in before) and all(o.start >= secret.end for o in after):
            found.insert(place, secret)
    return found


def masked(text: str) -> str:
    """``text`` with the kind of each secret in its place: ``[card number]``."""
    parts, end = [], 0
    for secret in find(text):
        parts += [text[end : secret.start], f"[{secret.kind}]"]
        end = secret.end
    return "".join([*parts, text[end:]])


def kinds(message: NewMessage) -> list[Kind]:
    """The kind of each secret in a message and what is attached to it."""
    return [secret.kind for secret in (*find(message.text), *find(message.attachments))]


def policy_of(home: Path) -> Policy:
    """What a home's settings say; :attr:`Policy.WARN` when nothing. Raises :class:`BadInput`."""
    value = read_json(home / "settings.json").get("secrets", Policy.WARN)
    if value not in set(Policy):
        raise BadInput(f"{home / 'settings.json'}: secrets is {value!r}; it may be {', '.join(Policy)}.")
    return Policy(value)


@dataclass(frozen=True, slots=True)
class Screen:
    """What a message passes before it is stored; see :class:`localmem.writing.Screen`."""

    policy: Policy

    def notice(self, message: NewMessage) -> tuple[str, ...]:
        """The kinds of secrets in a message, each once."""
        return tuple(dict.fromkeys(kinds(message)))

    def admit(self, message: NewMessage) -> NewMessage:
        """The message as it may be stored. Raises :class:`SecretRefused`."""
        if self.policy is Policy.REFUSE and (noticed := self.notice(message)):
            raise SecretRefused(noticed)
        return self.admit_reply(message)

    def admit_reply(self, message: NewMessage) -> NewMessage:
        """What this program wrote itself, as it may be stored: it is never refused, for it would be lost."""
        if self.policy is Policy.WARN:
            return message
        return replace(message, text=masked(message.text), attachments=masked(message.attachments))

    def admit_session(self, session: NewSession) -> NewSession:
        """The session as it may be stored. Raises :class:`SecretRefused`."""
        if self.policy is Policy.WARN:
            return session
        return replace(
            session,
            messages=tuple(map(self.admit, session.messages)),
            title=masked(session.title),
            system=masked(session.system),
        )


def _candidates(text: str) -> Iterator[Secret]:
    """What may be a secret, the surest first; they may lie over each other."""
    yield from _private_keys(text)
    for match in _API_KEY.finditer(text):
        yield Secret(Kind.API_KEY, *match.span())
    for match in _TOKEN.finditer(text):
        yield Secret(Kind.TOKEN, *match.span(1 if match[1] else 0))
    yield from _cards(text)
    for pattern in (_IN_URL, _BASIC, _PIN):
        for match in pattern.finditer(text):
            if not _PLACEHOLDER.search(match[1]):
                yield Secret(Kind.PASSWORD, *match.span(1))
    for match in _CALLED_KEY.finditer(text):
        if _is_mixed(match[1]) and not _PLACEHOLDER.search(match[1]):
            yield Secret(Kind.API_KEY, *match.span(1))
    for match in _PASSWORD.finditer(text):
        group = 2 if match[1] else 3
        start, end = match.span(group)
        end -= 0 if match[1] else len(match[group]) - len(match[group].rstrip(".,;:!?*_"))
        if _is_password(text[start:end], quoted=bool(match[1])):
            yield Secret(Kind.PASSWORD, start, end)


def _private_keys(text: str) -> Iterator[Secret]:
    place = 0
    while begin := _BEGIN.search(text, place):
        ending = re.escape(f"-----END {begin[1]}-----") if begin[1] else "Private-MAC:.*"
        end = re.compile(ending).search(text, begin.end())
        place = end.end() if end else len(text)
        yield Secret(Kind.PRIVATE_KEY, begin.start(), place)
    for match in _AGE.finditer(text):
        yield Secret(Kind.PRIVATE_KEY, *match.span())


def _cards(text: str) -> Iterator[Secret]:
    for run in _DIGITS.finditer(text):
        groups = list(re.finditer("[0-9]+", run[0]))
        lengths = tuple(len(group[0]) for group in groups)
        if len(groups) == 1:
            if _is_card(run[0]):
                yield Secret(Kind.CARD, *run.span())
            continue
        for first in range(len(groups)):
            for shape in _SHAPES:
                here = groups[first : first + len(shape)]
                if lengths[first : first + len(shape)] == shape and _is_card("".join(g[0] for g in here)):
                    yield Secret(Kind.CARD, run.start() + here[0].start(), run.start() + here[-1].end())


def _is_card(digits: str) -> bool:
    """A network's prefix and length, and a right check digit (ISO/IEC 7812-1, Annex B)."""
    if not _CARDS.fullmatch(digits):
        return False
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(map(int, digits[-1::-2]))) % 10 == 0


def _is_mixed(value: str) -> bool:
    """Letters and at least two digits: words joined by signs have at most one number."""
    return sum(c.isdigit() for c in value) >= 2 and any(c.isalpha() for c in value)


def _is_password(value: str, *, quoted: bool) -> bool:
    if _PLACEHOLDER.search(value) or (not quoted and _CODE.search(value)):
        return False
    if value.isdigit():
        return True
    if len(value) < 6:
        return False
    return quoted or (
        any(c.isalpha() for c in value) and bool(re.search(r"\d", value) or _SIGN.search(value))
    )
