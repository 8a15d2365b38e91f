"""Commands on a file that may be damaged."""

from __future__ import annotations

from typing import Any

import click

from localmem.cli.context import Context
from localmem.errors import LocalmemError
from localmem.privacy.damage import damage_of

FORESEEN = (LocalmemError, click.ClickException, click.exceptions.Exit, click.Abort, OSError)
"""Failures that have words of their own."""


class GroupOfCommands(click.Group):
    """Commands on a file. Of a damaged one impossible values come, and then anything may fail."""

    def invoke(self, click_context: click.Context) -> Any:
        """Run a command. Raises :class:`StoreDamaged` for a failure that damage explains."""
        try:
            return super().invoke(click_context)
        except FORESEEN:
            raise
        except Exception as error:  # of a damaged file anything may come; it goes on if there is no damage
            context = click_context.obj
            damage = damage_of(context.database) if isinstance(context, Context) else None
            if damage is None:
                raise
            raise damage from error
