"""A parameter that is a list of numbers."""

from __future__ import annotations

from typing import Any

import click


class Numbers(click.ParamType[tuple[int, ...]]):
    """``10,34``: whole numbers from 1, ascending, each once."""

    name = "N,N..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The numbers of a text such as ``10,34``."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(sorted({int(part) for part in str(value).split(",")}))
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers such as 10,34.", param, ctx)
        if numbers[0] < 1:
            self.fail("the numbers start at 1.", param, ctx)
        return numbers


NUMBERS = Numbers()
