from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import localmem.dates
import localmem.disclosure
from localmem.disclosure.interpret_dates import Interpretation, interpret_dates

MONDAY = "2023-05-08"
ANCHORS = {
    "my birthday": date(1990, 5, 3),
    "my trip to Rome": date(2023, 3, 10),
    "Anna's party": date(2023, 4, 1),
}

TABLE = Path(__file__).with_name("dates.txt")


def table() -> Iterator[tuple[str, ...]]:
    """Rows of (asked, words, first day, last day)."""
    asked = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            asked = line.strip("[]")
        elif line and not line.startswith("#"):
            words, first, *last = line.split(" | ")
            yield asked, words, first, last[0] if last else first


ROWS = list(table())
ALONE = ("March", "2019", "7 May 22")
"""In a sentence these need a word before them or an end behind them."""


def read(words: str, asked: str = MONDAY) -> Interpretation:
    return interpret_dates(words, datetime.fromisoformat(f"{asked}T14:30"), ANCHORS)


def days(interpretation: Interpretation) -> list[tuple[str, str]]:
    return [
        (
            "..." if each.first == date.min else each.first.isoformat(),
            "..." if each.last == date.max else each.last.isoformat(),
        )
        for each in interpretation.intervals
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[1]} on {row[0]}")
def test_an_expression_means_the_days_that_a_calendar_gives(row: tuple[str, ...]) -> None:
    asked, words, *expected = row
    interpretation = read(words, asked)
    assert (days(interpretation), interpretation.unread) == ([tuple(expected)], ())


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row[1] not in ALONE], ids=lambda row: f"{row[1]} on {row[0]}"
)
def test_an_expression_means_the_same_inside_a_question(row: tuple[str, ...]) -> None:
    asked, words, *expected = row
    found = days(read(f"Which shop does Anna mention {words}, and why?", asked))
    assert found == [tuple(expected)]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("What have I read recently?", "how long"),
        ("a while ago", "how long"),
        ("weeks ago", "how long"),
        ("What happened at Easter?", "country or church"),
        ("on Mother's Day", "country or church"),
        ("What do I do every Sunday?", "repeated"),
        ("Who comes on Sundays?", "repeated"),
        ("Who called at 5 pm?", "time of day"),
        ("When do I get up on Saturday mornings?", "repeated"),
        ("What do I eat on a Sunday?", "repeated"),
        ("How long was the Ash Wednesday service?", "country or church"),
        ("How many devices do I use in a day?", "how long something took"),
        ("the next day", "do not name"),
        ("that week", "do not name"),
        ("the week before", "from what"),
        ("the day before my wedding", '"my wedding"'),
        ("since I moved to Oslo", '"i moved to oslo"'),
        ("30 February", "no calendar"),
        ("31 April 2023", "no calendar"),
        ("29 February 2023", "no calendar"),
        ("2023-02-30", "no calendar"),
        ("30-Feb-2023", "no calendar"),
        ("99999 years ago", "no calendar"),
        ("the fifth weekend of February 2023", "no calendar"),
        ("How long did it take to learn it in two weeks?", "how long something took"),
        ("How are you?", "no words of time"),
        ("May I ask you to march on?", "no words of time"),
        ("", "no words of time"),
    ],
)
def test_words_that_name_no_days_are_said_to_with_the_reason(words: str, why: str) -> None:
    interpretation = read(words)
    assert interpretation.intervals == ()
    (unread,) = interpretation.unread
    assert why in unread.why
    assert str(interpretation) == f'"{unread.words}": cannot say; {unread.why}'


def test_a_numeric_date_that_may_be_two_days_is_both_and_says_so() -> None:
    interpretation = read("3/4/2023")
    assert days(interpretation) == [("2023-04-03", "2023-04-03"), ("2023-03-04", "2023-03-04")]
    assert all("may also be" in interval.how for interval in interpretation.intervals)


@pytest.mark.parametrize(
    ("words", "how"),
    [
        ("last summer", "northern summer, June to August"),
        ("Thanksgiving", "United States"),
        ("the other day", "vague"),
        ("Monday, 7 May 2023", "is a Sunday"),
        ("my birthday", "each year"),
        ("7-May-2023", "dateparser"),
    ],
)
def test_a_reading_says_how_it_came_about(words: str, how: str) -> None:
    (interval,) = read(words).intervals
    assert how in interval.how
    assert str(interval).startswith(f'"{interval.words}": ')


def test_wide_guesses_are_marked() -> None:
    assert [
        read(words).intervals[0].vague for words in ("the other day", "a few weeks ago", "around 3 May")
    ] == [True] * 3
    assert not read("last week").intervals[0].vague


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did I do in June?", ("2022-06-01", "2022-06-30")),
        ("What will I do in June?", ("2023-06-01", "2023-06-30")),
        ("What are my plans for Sunday?", ("2023-05-14", "2023-05-14")),
        ("Could you tell me what I did on Sunday?", ("2023-05-07", "2023-05-07")),
        ("Where will I be at Christmas?", ("2023-12-25", "2023-12-25")),
        ("Where will I be between Christmas and New Year?", ("2023-12-25", "2024-01-01")),
    ],
)
def test_a_date_without_a_year_is_past_unless_the_question_looks_ahead(
    question: str, expected: tuple[str, str]
) -> None:
    assert days(read(question)) == [expected]


def test_every_expression_of_a_question_is_read_with_its_own_words() -> None:
    interpretation = read("Did I bake more Last Summer than in March 2021, or only recently?")
    assert [interval.words for interval in interpretation.intervals] == ["Last Summer", "March 2021"]
    assert [unread.words for unread in interpretation.unread] == ["recently"]


@pytest.mark.parametrize(
    "question", ["How many weeks ago did I move?", "How long ago was it?", "I work 24/7, why?"]
)
def test_a_question_for_a_length_of_time_says_nothing_of_time(question: str) -> None:
    assert read(question).intervals == ()
    assert "no words of time" in read(question).unread[0].why


def test_what_happened_before_an_event_ends_the_name_of_the_event() -> None:
    (unread,) = read("How many days before the team meeting did I attend the workshop?").unread
    assert unread.why.startswith('no day is known for "the team meeting"')


def test_something_done_in_a_week_that_is_over_was_done_in_that_week() -> None:
    assert days(read("What did I participate in a week ago?")) == [("2023-05-01", "2023-05-01")]


def test_an_event_whose_date_is_said_is_not_asked_for() -> None:
    interpretation = read("Who did John meet after his trip in August 2021?")
    assert days(interpretation) == [("2021-08-01", "2021-08-31")]
    assert interpretation.unread == ()


def test_a_known_event_takes_precedence_over_the_words_in_its_name() -> None:
    asked = date(2023, 5, 8)
    (interval,) = interpret_dates(
        "at our Christmas party", asked, {"our Christmas party": date(2022, 12, 16)}
    ).intervals
    assert interval.first == interval.last == date(2022, 12, 16)


@pytest.mark.parametrize(
    ("asked", "words", "expected"),
    [
        # clocks went forward on 26 March: 12:30 is 10:30 UTC, 36 hours before is 22:30 UTC, 23:30 in Berlin
        ("2023-03-27T12:30", "36 hours ago", "2023-03-25"),
        ("2023-03-27T12:30", "1 day and 12 hours ago", "2023-03-25"),
        # and back on 29 October: 11:30 is 10:30 UTC, 36 hours before is 22:30 UTC, 00:30 in Berlin
        ("2023-10-30T11:30", "36 hours ago", "2023-10-29"),
        ("2023-03-26T00:30", "in 23 hours", "2023-03-27"),
        # days are wall dates, whatever their length
        ("2023-03-27T00:30", "yesterday", "2023-03-26"),
        ("2023-10-30T23:30", "yesterday", "2023-10-29"),
        ("2023-03-27T00:30", "a day ago", "2023-03-26"),
    ],
)
def test_hours_pass_through_a_change_of_clocks_and_days_do_not(asked: str, words: str, expected: str) -> None:
    moment = datetime.fromisoformat(asked).replace(tzinfo=ZoneInfo("Europe/Berlin"))
    assert days(interpret_dates(words, moment)) == [(expected, expected)]


def test_relative_days_count_from_the_wall_date_of_the_asker() -> None:
    tokyo = datetime.fromisoformat("2023-05-08T00:30:00+09:00")  # still 7 May in UTC
    assert days(interpret_dates("yesterday", tokyo)) == [("2023-05-07", "2023-05-07")]


def test_hours_before_a_day_without_an_hour_are_either_of_two_days() -> None:
    (interval,) = interpret_dates("36 hours ago", date(2023, 5, 8)).intervals
    assert (interval.first, interval.last, interval.vague) == (date(2023, 5, 6), date(2023, 5, 7), True)


WORDS = sorted({row[1] for row in ROWS})


@given(
    st.lists(
        st.sampled_from([*WORDS, "and", "before", "since", "between", "a", "the", "of", "May"]), max_size=6
    ),
    st.datetimes(),
)
def test_intervals_are_in_order_whatever_is_strung_together(pieces: list[str], asked: datetime) -> None:
    interpretation = interpret_dates(" ".join(pieces), asked, ANCHORS)
    assert interpretation.intervals or interpretation.unread
    assert all(interval.first <= interval.last for interval in interpretation.intervals)
    assert all(interval.how and interval.words for interval in interpretation.intervals)
    assert str(interpretation)


@given(st.text(), st.datetimes(timezones=st.timezones()))
def test_any_text_is_read_without_an_error(text: str, asked: datetime) -> None:
    assert str(interpret_dates(f"{text} the week before {text} 3 days ago", asked, {text: asked}))


RELATIVE = (
    "yesterday;the day after tomorrow;two weeks ago;36 hours ago;the past three weeks;the other day;last week"
    ";last Friday;on Sunday;the Sunday before last;two weekends ago;Tuesday last week"
).split(";")


@given(
    st.sampled_from(RELATIVE),
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    st.integers(-500, 500),
)
def test_relative_days_move_with_the_day_of_the_question(words: str, asked: datetime, weeks: int) -> None:
    shift = timedelta(weeks=weeks)
    (here,) = interpret_dates(words, asked).intervals
    (there,) = interpret_dates(words, asked + shift).intervals
    assert (there.first, there.last) == (here.first + shift, here.last + shift)


class OtherClock(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime(1971, 2, 3, 4, 5, tzinfo=tz)

    @classmethod
    def today(cls) -> datetime:  # type: ignore[override]
        return cls.now()


@pytest.mark.parametrize(
    "words", ["7-May-2023", "31 May 22", "05/2022", "1 year and 2 months ago", "90 mins ago"]
)
def test_another_clock_changes_nothing_of_what_dateparser_reads(
    monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    expected = read(words)
    for module in (
        "date_parser",
        "freshness_date_parser",
        "parser",
        "timezone_parser",
        "utils",
        "utils.strptime",
    ):
        monkeypatch.setattr(f"dateparser.{module}.datetime", OtherClock)
    assert read(words) == expected


def test_nothing_that_reads_dates_asks_for_the_time() -> None:
    sources = [
        source.read_text(encoding="utf-8")
        for package, pattern in ((localmem.dates, "*.py"), (localmem.disclosure, "*_dates.py"))
        for source in Path(package.__file__ or "").parent.glob(
            "*dates*.py" if package is localmem.disclosure else "*.py"
        )
    ]
    assert len(sources) >= 10
    assert not any(re.search(r"\b(?:now|today|utcnow|time)\(\)|import time\b", source) for source in sources)
