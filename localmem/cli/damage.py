"""A failure that nobody foresaw: does the damage of the memory file explain it?"""

from __future__ import annotations

from typing import Any

import click

from localmem.cli.context import Context
from localmem.errors import LocalmemError, StoreDamaged
from localmem.privacy.check import REBUILD, SALVAGE, check
from localmem.store.connection import is_encrypted

_FORESEEN = (LocalmemError, click.ClickException, click.exceptions.Exit, click.Abort, OSError)


class GroupOfCommands(click.Group):
    """Commands on a file. Of a damaged one impossible values come, and then anything may fail.

    An encrypted file needs none of this: each of its pages is authenticated when it is read.
    """

    def invoke(self, click_context: click.Context) -> Any:
        """Run a command. Raises :class:`StoreDamaged` for a failure that damage explains."""
        try:
            return super().invoke(click_context)
        except _FORESEEN:
            raise
        except Exception as error:  # of a damaged file anything may come; it goes on if there is no damage
            damage = _damage(click_context.obj) if isinstance(click_context.obj, Context) else None
            if damage is None:
                raise
            raise damage from error


def _damage(context: Context) -> StoreDamaged | None:
    if not context.database.is_file() or is_encrypted(context.database):
        return None
    for problem in check(context.database, None).problems:
        if problem.remedy in (SALVAGE, REBUILD):
            return StoreDamaged(f"{context.database}: {problem.what}. {problem.remedy}")
    return None
