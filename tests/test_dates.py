from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.dates import dates_in

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
    ],
)
def test_what_is_no_date_is_passed_over(text: str) -> None:
    assert dates_in(text, SAID) == []


@given(st.text(), st.dates())
def test_any_text_on_any_day_is_read_without_an_error(text: str, said: date) -> None:
    for mention in dates_in(text + " yesterday", said):
        assert mention.first <= mention.last
