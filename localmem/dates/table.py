"""The expressions of time that are understood, as one table; where two begin alike the first has precedence.

A sentence is searched for those that name a date; a question for all of them.
"""

from __future__ import annotations

from localmem.dates import counting, digits, naming
from localmem.dates.holidays import HOLIDAY, UNCLEAR
from localmem.dates.naming import DECADES, undecided
from localmem.dates.vocabulary import (
    CLOCK,
    COUNT,
    DAY,
    FEW,
    MONTH,
    NAMED,
    SEASON,
    SHORT_DAY,
    TH,
    TO,
    UNIT,
    YEAR,
    YEAR_NUMBER,
    Rule,
)

_FROM_TO = rf"(?P<d>\d{{1,2}}){TH}{TO}(?P<to>\d{{1,2}}){TH}"
_BESIDE = rf"(?:(?P<weekday>{DAY}|{SHORT_DAY}),? (?:the )?)?"
_HEADS = "in|during|since|until|till|by|before|after|from|between|early|mid|late|of"
_HOURS = (
    rf"(?:(?P<half>half an)|(?P<n>{COUNT})(?P<half2> and a half)?) "
    r"(?P<unit>hour|minute)s?(?P<half3> and a half)?"
)
_STANDING = r"week|month|quarter|year|decade"

DATES = (
    Rule(
        "iso",
        r"(?P<iso>\d{4}-\d{2}-\d{2})(?:(?:t|\s)\d{2}:\d{2}[\d:.]*(?:z|[+-]\d{2}:?\d{2})?)?",
        digits.written,
    ),
    Rule(
        "year_first",
        r"(?P<a>\d{4})(?:/(?P<b>\d{1,2})/|\.(?P<b2>\d{1,2})\.)(?P<c>\d{1,2})(?![/.]?\d)",
        digits.numeric,
    ),
    Rule(
        "slashed",
        r"(?<![/.\d])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<c>\d{4}|\d{2})(?![/.]?\d)",
        digits.numeric,
    ),
    Rule("dotted", r"(?<![/.\d])(?P<a>\d{1,2})\.(?P<b>\d{1,2})\.(?P<c>\d{4})(?![/.]?\d)", digits.numeric),
    Rule(
        "digits",
        r"(?P<iso>(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))",
        digits.written,
        in_sentences=False,
    ),
    Rule("month_number", r"(?P<month>\d{4}-\d{2})(?![-\d])", digits.written, in_sentences=False),
    Rule("days_of_month", rf"{_FROM_TO} (?:of )?(?P<month>{MONTH})\b\.?{YEAR}?", naming.of_month),
    Rule("month_days", rf"(?P<month>{MONTH})\b\.? {_FROM_TO}\b{YEAR}?", naming.of_month),
    Rule(
        "day_month",
        rf"{_BESIDE}(?P<d>\d{{1,2}}){TH} (?:of )?(?P<month>{MONTH})\b\.?{YEAR}?",
        naming.of_month,
    ),
    Rule(
        "month_day",
        rf"{_BESIDE}(?P<month>{MONTH})\b\.? (?P<d>\d{{1,2}}){TH}\b(?![:.]\d){YEAR}?",
        naming.of_month,
    ),
    Rule("month", rf"(?P<name>{MONTH})\b\.?{YEAR}?(?! \d)", naming.named, _HEADS),
    Rule("month_year", rf"(?P<name>{MONTH})\b\.?{YEAR}", naming.named),
    Rule("season", rf"(?P<name>{SEASON})\b{YEAR}?", naming.named, f"(?:{_HEADS})(?: the)?"),
    Rule("season_year", rf"(?P<name>{SEASON}){YEAR}", naming.named),
    Rule("holiday", rf"(?P<name>{HOLIDAY})\b{YEAR}?", naming.named, f"{_HEADS}|on|at|for|over"),
    Rule("holiday_year", rf"(?P<name>{HOLIDAY}){YEAR}", naming.named),
    Rule("decade", r"(?P<long>(?:1[5-9]|20)\d0)s", naming.decade),
    Rule(
        "short_decade",
        rf"'?(?:(?P<short>\d0)s|(?P<short2>{'|'.join(DECADES)}))",
        naming.decade,
        "the|early|mid|late",
    ),
    Rule("years", rf"(?P<year>{YEAR_NUMBER}){TO}(?P<to>{YEAR_NUMBER})", naming.year, in_sentences=False),
    Rule(
        "year", rf"(?P<year>{YEAR_NUMBER})(?![-/]\d)", naming.year, "in|during|since|until|by|early|late|of"
    ),
    Rule(
        "bounding_year",
        rf"(?P<year>{YEAR_NUMBER})(?![-/]\d)",
        naming.year,
        "before|after|from|between|till|mid|(?:the )?year",
        in_sentences=False,
    ),
    Rule(
        "weekday",
        rf"(?P<weekday>{DAY})(?: (?:{CLOCK}))?\b(?! (?:{CLOCK})s)",
        naming.weekday,
        "on(?<!is.on)(?<!are.on)(?<!every.on)",
    ),
)
"""Dates that are written out, with or without their year."""

RELATIVE = (
    Rule(
        "near",
        rf"(?P<day>yesterday|today|tomorrow|tonight|last night|this (?:morning|afternoon|evening))"
        rf"(?: (?:{CLOCK}))?",
        naming.near,
    ),
    Rule("part_of_today", r"(?:earlier|later) (?P<day>today)", naming.near),
    Rule(
        "weekday_in", rf"(?P<weekday>{DAY}),? (?:of )?(?P<which>last|this|next) week", naming.weekday_of_week
    ),
    Rule("in_week", rf"(?P<which>last|this|next) week,? on (?P<weekday>{DAY})", naming.weekday_of_week),
    Rule("week_ago_on", rf"(?P<n>{COUNT}) weeks? ago,? on (?P<weekday>{DAY})", naming.weekday_of_week),
    Rule(
        "ago",
        rf"(?P<n>{COUNT}) (?P<unit>{UNIT})s? (?P<ago>ago)(?! (?:today|yesterday|tomorrow))",
        counting.counted,
    ),
    Rule("half_ago", rf"half an? (?P<unit>{UNIT}) ago", counting.half_ago),
    Rule(
        "and_a_half_ago",
        rf"(?P<n>{COUNT}) (?:and a half (?P<unit>{UNIT})s|(?P<unit2>{UNIT})s? and a half) ago",
        counting.half_ago,
    ),
    Rule("in", rf"(?P<in>in) (?P<n>{COUNT}) (?P<unit>{UNIT})s?(?! ago)", counting.counted),
    Rule("from_now", rf"(?P<n>{COUNT}) (?P<unit>{UNIT})s? from (?:now|today)", counting.counted),
    Rule("named_ago", rf"(?P<n>{COUNT}) (?P<unit>{NAMED})(?:e?s)? ago", naming.stepped),
    Rule(
        "before_last",
        rf"(?P<unit>{_STANDING}|{NAMED}) (?:before (?P<which>last)|after (?P<which2>next))\b"
        rf"(?! (?:night|{UNIT}|{NAMED}))(?P<twice>)",
        naming.stepped,
    ),
    Rule(
        "within",
        rf"(?P<way>earlier|later|so far) (?:this|in the) (?P<unit>{_STANDING}|{SEASON})",
        naming.within,
    ),
    Rule("so_far", rf"this (?P<unit>{_STANDING}) (?P<way>so far)", naming.within, in_sentences=False),
    Rule("this_time", r"this time (?P<which>last|next) year", counting.year_ago, in_sentences=False),
    Rule(
        "rolling",
        rf"(?P<which>last|past|previous|next|coming) (?:(?P<few>{FEW})|(?P<n>{COUNT})) "
        rf"(?P<unit>{UNIT}|hour|minute)s?(?! of\b)",
        counting.rolling,
        in_sentences=False,
    ),
    Rule(
        "rolling_one",
        rf"(?P<which>last|past|next|coming) (?P<unit>{UNIT}|hour)(?! of\b)",
        counting.rolling,
        "(?:in|over|during|within|for|throughout) the",
    ),
    Rule(
        "the_past",
        rf"(?P<which>past) (?P<unit>{UNIT}|hour)(?! of\b)",
        counting.rolling,
        "the",
        in_sentences=False,
    ),
    Rule(
        "which",
        rf"(?:(?P<which>last|this|next|previous|coming|upcoming) (?P<unit>{_STANDING}|{NAMED})"
        rf"|this (?P<which2>past|coming) (?P<unit2>{_STANDING}|{NAMED}))"
        rf"(?<!this.may)(?<!this.march)\b(?! of\b)(?! (?:before|after) (?:the )?(?:\d|{MONTH}))"
        rf"(?: (?:{CLOCK}))?",
        naming.stepped,
    ),
    Rule("past_named", rf"(?P<which>past) (?P<unit>{NAMED})", naming.stepped, "the", in_sentences=False),
    Rule(
        "this_month",
        r"(?P<which>this) (?P<unit>march|may)(?! (?:be|have|not)\b)",
        naming.stepped,
        in_sentences=False,
    ),
    Rule(
        "at_hand",
        rf"(?P<unit>{_STANDING})(?! (?:of|before|after)\b)",
        naming.at_hand,
        "(?:end|start|beginning|middle) of the",
    ),
)
"""Dates told from the day they are spoken of on."""

VAGUE = (
    Rule("few_ago", rf"(?:{FEW}) (?P<unit>{UNIT})s ago", counting.few_ago),
    Rule("hours_ago", rf"{_HOURS} (?P<ago>ago)", counting.hours),
    Rule("in_hours", rf"(?P<in>in) {_HOURS}(?! ago)", counting.hours),
    Rule("other", rf"the other (?P<unit>day|week|weekend|month|{CLOCK})", counting.other),
    Rule(
        "day_alone",
        r"the (?P<d>\d{1,2})(?:st|nd|rd|th)(?=\s*(?:[.,;?!]|\Z))",
        naming.day_alone,
        "on|by|since|until|till|before|after|from|for",
    ),
    Rule(
        "day_and_month",
        r"(?<![/.\d])(?!24/7)(?:(?P<month>0?[1-9]|1[0-2])/(?P<d>1[3-9]|2\d|3[01])"
        r"|(?P<d2>1[3-9]|2\d|3[01])/(?P<month2>0?[1-9]|1[0-2]))(?![/.]?\d)",
        naming.day_and_month,
    ),
    Rule("quarter", rf"q(?P<q>[1-4])\b{YEAR}?", naming.quarter),
    Rule("holiday_alone", rf"(?P<name>{HOLIDAY})", naming.named),
    Rule(
        "again",
        rf"(?:every|each) (?:other |single )?(?:{UNIT}|{CLOCK}|{NAMED})|on (?:weekday|weekend)s"
        rf"|(?:{DAY})s|(?:{DAY}) (?:{CLOCK})s|on an? (?:{DAY}|weekday|weekend)",
        undecided("a repeated time names no single days"),
    ),
    Rule("weekday_alone", rf"(?<!\ba.)(?P<weekday>{DAY})(?: (?:{CLOCK}))?", naming.weekday),
    Rule(
        "unclear",
        UNCLEAR,
        undecided("its day depends on country or church, or on another calendar: give the date"),
    ),
    Rule(
        "some_time",
        r"recently|lately|(?:a|some|quite a) (?:little |short |long )?(?:while|time) (?:ago|back)"
        r"|(?:ages|(?<!how.)long) ago|soon|back then|at (?:the|that) time|nowadays|these days|one day"
        rf"|some\s?day|(?<!many.)(?:{UNIT})s ago",
        undecided("it does not say how long before or after"),
    ),
    Rule(
        "hanging",
        rf"the (?:next (?:day|{CLOCK})|(?:following|same) (?:{UNIT}|{NAMED}|{CLOCK}))"
        rf"|that (?:{UNIT}|weekend|{SEASON}|{CLOCK})",
        undecided("it counts from a day that the words do not name"),
    ),
    Rule(
        "clock",
        r"(?:at )?\d{1,2}(?::\d{2})?\s?(?:am|pm|a\.m|p\.m|o'clock)|(?:at )?(?:\d{1,2}:\d{2}|noon|midnight)"
        rf"|in the (?:{CLOCK})|at night",
        undecided("a time of day names no day"),
    ),
)
"""What only a question is searched for: it may ask about no particular day, and is told so."""

SENTENCE_RULES = tuple(rule for rule in (*RELATIVE, *DATES) if rule.in_sentences)
QUESTION_RULES = (*RELATIVE, *DATES, *VAGUE)
