"""Which words of a message are searched."""

from __future__ import annotations

from localmem.types import Message


def lexical_text(message: Message) -> str:
    """Speaker, text and attachments: the words that a question may share with a message."""
    return f"{message.speaker} {message.text} {message.attachments}"


def dense_text(message: Message) -> str:
    """What the embedder reads: the speaker's name leads, as in a transcript."""
    body = f"{message.text}\n{message.attachments}".strip()
    return f"{message.speaker}: {body}" if message.speaker else body
