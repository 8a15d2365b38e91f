"""Forms of dates that dateparser reads: "7-May-2023", "05/2023", "1 year and 2 months ago", "2 wks ago".

dateparser is given only what looks like one of these. Its own search takes "we" for Wednesday, "a" for
January and "may" for May; alone it reads 13/2023 as the 13th, and 5/7/2023 without a word as 7 May. So the
shape is checked here, and whatever has a rule in :mod:`localmem.dates` never comes here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time
from typing import Any

from localmem.dates.counting import number
from localmem.dates.days import Lean, Moment, span
from localmem.dates.operators import extended
from localmem.dates.reading import Found
from localmem.dates.units import period
from localmem.dates.vocabulary import COUNT, MONTH, TH, UNIT, compiled

_ABBREVIATED = {
    "y": "year", "yr": "year", "yrs": "year", "mo": "month", "mos": "month", "w": "week", "wk": "week",
    "wks": "week", "d": "day", "h": "hour", "hr": "hour", "hrs": "hour", "min": "minute", "mins": "minute",
}  # fmt: skip
_LENGTH = rf"(?:{COUNT}) (?:{UNIT}|hour|minute)s?"
_SHORT = rf"\d+(?:\.\d+)?\s?(?:{'|'.join(_ABBREVIATED)})"
_FORM = compiled(
    rf"\b(?:\d{{1,2}}{TH}[-./]?(?:{MONTH})[-./]?(?:\d{{4}}|\d\d)"
    rf"|(?:{MONTH})[-./]\d{{1,2}}[-./](?:\d{{4}}|\d\d)"
    rf"|(?:\d{{1,2}} (?:{MONTH})|(?:{MONTH}) \d{{1,2}},?) \d\d(?=\s*(?:[.,;?!)]|\Z))"
    r"|(?<![/\d])(?:0?[1-9]|1[0-2])/(?:19|20)\d\d(?![/\d])"
    rf"|(?:in )?(?:{_LENGTH}(?:,? and |, | )){{1,4}}{_LENGTH}(?: ago| from now)"
    rf"|{_SHORT} ago)\b"
)


def written_dates(text: str, at: Moment) -> Iterator[Found]:
    """The written forms in a lowercased text, in order, with what they mean."""
    for match in _FORM.finditer(text):
        read = _parsed(match[0], at)
        if read is None:
            yield Found(match.span(), (), "no calendar has such a day")
            continue
        day, precision = read
        # as everywhere, a count of weeks names a day, one of months or years the whole of it
        whole = period(precision if precision in ("month", "year") else "day", day.date())
        start, days = extended(text, match.start(), span(whole, "read by dateparser"))
        yield Found((start, match.end()), days)


def _parsed(words: str, at: Moment) -> tuple[datetime, str] | None:
    """A moment in the zone of whoever asked, and how precise it is; None when there is no such date."""
    asked = at.time or datetime.combine(at.day, time(12))
    zone = asked.tzinfo
    spelt = re.sub(r"(?<=\d) ?([a-z]+)\b", lambda m: f" {_ABBREVIATED.get(m[1], m[1])}", words)
    spelt = re.sub(rf"\b(?:{COUNT})\b", lambda m: str(number(m[0])), spelt)
    passed = bool(zone) and ("hour" in spelt or "minute" in spelt)  # hours pass outside of any zone
    base = (asked.astimezone(UTC) if passed else asked).replace(tzinfo=None)
    lean = "future" if at.lean is Lean.COMING else "past"
    data = _parser(base, lean).get_date_data(spelt)
    if data.date_obj is None:
        return None
    moment: datetime = data.date_obj.replace(tzinfo=None)
    if passed:
        moment = moment.replace(tzinfo=UTC).astimezone(zone)
    return moment, str(data.period)


def _parser(base: datetime, lean: str) -> Any:
    """English only: to find out the language takes long and finds others. Imported late: half a second."""
    from dateparser.date import DateDataParser

    return DateDataParser(
        languages=["en"], settings={"RELATIVE_BASE": base, "PREFER_DATES_FROM": lean, "DATE_ORDER": "MDY"}
    )
