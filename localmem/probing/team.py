"""Which model serves each role, and whether it is trusted with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from localmem.errors import BadInput, ModelMissing
from localmem.models.catalog import ModelRole
from localmem.models.library import Library
from localmem.models.protocols import ChatModel
from localmem.probing.items import PROBED
from localmem.probing.results import Result, Results, Standing
from localmem.probing.run import probe
from localmem.roles.trust import Trust

CHAT_ROLES = (
    ModelRole.SUMMARISER,
    ModelRole.CONTROLLER,
    ModelRole.NOTES,
    ModelRole.ANSWERER,
    ModelRole.JUDGE,
)


class Team:
    """The models of a home in their roles."""

    def __init__(self, library: Library, home: Path) -> None:
        self._library = library
        self._results = Results(home)

    def standing(self, role: ModelRole) -> Standing:
        """How the role's model stands. Raises :class:`ModelMissing`."""
        fingerprint = self._library.chat_model(role).fingerprint
        return self._results.standing(fingerprint, role, forced=self._library.forced(role))

    def if_trusted(self, role: ModelRole, *, background: bool = False) -> ChatModel | None:
        """The role's model; None when rules do its work: it is not trusted, or not installed."""
        try:
            trusted = self.standing(role).trusted
        except ModelMissing:
            return None
        return self._library.chat_model(role, background=background) if trusted else None

    def forcing(self, role: ModelRole, name: str) -> Trust:
        """How far a model can be relied on in a role that it is given whatever its probe says."""
        return self._results.standing(self._library.open_chat(name).fingerprint, role, forced=True).trust

    def serving(self, role: ModelRole) -> str:
        """Who does a role's work: ``smollm2-135m, rules (its probe's 0.20 is below 0.85)``."""
        name = self._library.role(role)
        try:
            standing = self.standing(role)
        except ModelMissing:
            return f"{name}, not installed"
        return f"{name}, {'model' if standing.trusted else 'rules'} ({standing.reason})"

    def use(self, role: ModelRole, name: str, *, force: bool = False) -> str:
        """Give a role to a model; return what that means. Raises :class:`BadInput` if its probe says no."""
        name = self._library.suited(role, name)
        if role is ModelRole.EMBEDDER:
            self._library.use(role, name)
            return f"{role}: {name}"
        standing = self._results.standing(self._library.open_chat(name).fingerprint, role, forced=force)
        if not standing.trusted and standing.result is not None:
            raise BadInput(
                f"{name} is not trusted as {role}: {standing.reason}. To use it all the same: "
                f"localmem models use {role} {name} --force"
            )
        self._library.use(role, name, forced=force)
        if standing.trusted:
            return f"{role}: {name} ({standing.reason})"
        return f"{role}: {name}, not probed: rules stand in for it until: localmem models probe {name}"

    def probe(self, name: str, progress: Callable[[ModelRole, int, int], None]) -> dict[ModelRole, Standing]:
        """Pose every role's items to a model and keep the results; ``progress`` gets (role, done, in all)."""
        model = self._library.open_chat(name)
        standings = {}
        for role in PROBED:

            def show(done: int, total: int, role: ModelRole = role) -> None:
                progress(role, done, total)

            result: Result = probe(model, role, show)
            self._results.save(model.fingerprint, role, result)
            standings[role] = self._results.standing(model.fingerprint, role)
        return standings
