"""Dates in words, resolved against the time they were said, never against the clock.

``table`` lists what is understood, ``counting`` and ``naming`` say what each kind means, ``operators`` what
the words before it change, ``reading`` finds them in a text.
"""

from __future__ import annotations

from localmem.dates.days import Lean
from localmem.dates.reading import DateMention, dates_in, with_dates
from localmem.dates.units import day_text

__all__ = ["DateMention", "Lean", "dates_in", "day_text", "with_dates"]
