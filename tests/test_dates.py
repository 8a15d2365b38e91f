from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.dates import dates_in
from localmem.dates.days import Moment
from localmem.dates.reading import Grammar
from localmem.dates.table import SENTENCE_RULES

SAID = date(2023, 5, 8)  # a Monday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went yesterday", "7 May 2023"),
        ("last night we ate", "7 May 2023"),
        ("the day before yesterday", "6 May 2023"),
        ("see you tomorrow", "9 May 2023"),
        ("two weeks ago", "24 April 2023"),
        ("3 days ago", "5 May 2023"),
        ("a month ago", "April 2023"),
        ("six years ago", "2017"),
        ("in two weeks", "22 May 2023"),
        ("last week", "1 May 2023 to 7 May 2023"),
        ("last weekend", "6 May 2023 to 7 May 2023"),
        ("this month", "May 2023"),
        ("next year", "2024"),
        ("in 2021", "2021"),
        ("in March", "March 2023"),
        ("since December", "December 2022"),
        ("in Sept. 2021", "September 2021"),
        ("last Friday", "5 May 2023"),
        ("last Monday", "1 May 2023"),
        ("next Monday", "15 May 2023"),
        ("we met on Saturday", "6 May 2023"),
        ("I'll go on Saturday", "13 May 2023"),
        ("on 12 March", "12 March 2023"),
        ("on the 3rd of January, 2021", "3 January 2021"),
        ("on Dec 30", "30 December 2022"),
        ("on 2022-02-28", "28 February 2022"),
        ("we moved in early March 2021", "early March 2021"),
        ("last summer we swam", "summer 2022"),
        ("the week before Christmas", "18 December 2022 to 24 December 2022"),
        ("the first weekend of April", "1 April 2023 to 2 April 2023"),
        ("a year and a half ago", "November 2021"),
        ("we met two Fridays ago", "28 April 2023"),
        ("I grew up in the 1990s", "the 1990s"),
        ("on 13/4/2023", "13 April 2023"),
        ("on Feb 29", "29 February 2024"),
        ("over the last month", "8 April 2023 to 8 May 2023"),
        ("on\nSunday", "7 May 2023"),
        ("İ went yesterday", "7 May 2023"),  # its lower case is longer by a character
    ],
)
def test_an_expression_means_the_right_days(text: str, expected: str) -> None:
    assert [str(mention) for mention in dates_in(text, SAID)] == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "nothing here",
        "on 31 February",
        "the meeting is on Tuesday",
        "2022-13-45",
        "may I ask",
        "in 99999 years",
        "on 3/4/2023",  # may be two days
        "a few days ago",  # may be any of several
        "Thanks, that may be",
        "we joined this march",
        "on Sundays",
        "since version 1.2.2023.4",
    ],
)
def test_what_is_no_date_is_passed_over(text: str) -> None:
    assert dates_in(text, SAID) == []


def test_a_mention_covers_the_words_that_name_it() -> None:
    text = "İ cooked the day after Christmas and in mid-July."
    assert [text[slice(*mention.span)] for mention in dates_in(text, SAID)] == [
        "the day after Christmas",
        "mid-July",
    ]


WORDS = (
    "a the two in on of last next this early may july sunday week weekend weeks days ago before after summer "
    "christmas first 12 2021 nineties the '90s yesterday q3 fortnight new year half tonight"
).split()


@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), st.dates())
def test_no_expression_is_lost_by_looking_for_a_word_of_time_first(text: str, said: date) -> None:
    found = Grammar(SENTENCE_RULES).find(text, Moment(said))
    expected = [each.span for each in found if len(each.days) == 1 and not each.days[0].vague]
    assert [mention.span for mention in dates_in(text, said)] == expected


@given(st.text(), st.dates())
def test_any_text_on_any_day_is_read_without_an_error(text: str, said: date) -> None:
    for mention in dates_in(text + " yesterday", said):
        assert mention.first <= mention.last
