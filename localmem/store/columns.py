"""How Python values become columns and come back unchanged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from localmem.errors import BadInput

UTC_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"
"""Fixed width, so that text order is time order."""


def text_to_column(text: str) -> str | bytes:
    """Text as SQLite can hold it; with lone surrogates, which UTF-8 cannot encode, as a blob."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def text_from_column(value: str | bytes) -> str:
    """The text that :func:`text_to_column` was given."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def time_to_columns(moment: datetime | None) -> tuple[str | None, int | None]:
    """(UTC text, offset in minutes). A naive time is kept as wall-clock time with no offset.

    Raises :class:`BadInput` for one whose UTC is before year 1 or after year 9999.
    """
    if moment is None:
        return None, None
    offset = moment.utcoffset()
    if offset is None:
        return moment.strftime(UTC_FORMAT).rjust(27, "0"), None
    try:
        utc = moment.astimezone(UTC)
    except OverflowError as error:
        raise BadInput(f"{moment.isoformat()} is no time that can be kept: it has no UTC.") from error
    return utc.strftime(UTC_FORMAT).rjust(27, "0"), round(offset.total_seconds() / 60)


def time_from_columns(utc: str | None, offset_minutes: int | None) -> datetime | None:
    """The time in its original zone where that is known, else in UTC."""
    if utc is None:
        return None
    moment = datetime.fromisoformat(utc)
    if offset_minutes is None:
        return moment
    return moment.astimezone(timezone(timedelta(minutes=offset_minutes)))
