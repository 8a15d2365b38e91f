"""Running a probe."""

from __future__ import annotations

import time
from collections.abc import Callable

from localmem.errors import ModelTimeout, ReplyUnusable
from localmem.models.catalog import ModelRole
from localmem.models.protocols import ChatModel
from localmem.probing.items import items, passes
from localmem.probing.results import Result


def probe(
    model: ChatModel,
    role: ModelRole,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Result:
    """Pose a role's items; ``progress`` gets (items done, in all).

    A reply without a value and one that came too late fail their item. Raises :class:`ModelCrashed`.
    """
    started = time.monotonic()
    posed = items(role)
    passed = 0
    for done, item in enumerate(posed):
        progress(done, len(posed))
        try:
            passed += passes(role, item, model)
        except (ReplyUnusable, ModelTimeout):
            continue
    progress(len(posed), len(posed))
    return Result(passed, len(posed), time.monotonic() - started)
