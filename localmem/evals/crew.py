"""Which models take part in an evaluation, role by role, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localmem.errors import ModelMissing
from localmem.models.calibration import Calibration, Calibrations
from localmem.models.catalog import ModelRole
from localmem.models.library import Library
from localmem.models.protocols import ChatModel
from localmem.probing.team import Team
from localmem.roles.trust import TRUSTED, Trust

ROLES = (ModelRole.SUMMARISER, ModelRole.CONTROLLER, ModelRole.ANSWERER, ModelRole.JUDGE)
"""Roles that an evaluation may give to a model."""


@dataclass(frozen=True, slots=True)
class Member:
    """A model in a role."""

    model: ChatModel
    trust: Trust = TRUSTED

    def to_json(self) -> dict[str, Any]:
        """As a log describes it."""
        return {
            "name": self.model.name,
            "fingerprint": self.model.fingerprint,
            "trusted": self.trust.trusted,
            "forced": self.trust.forced,
        }


@dataclass(frozen=True, slots=True)
class Crew:
    """The models by role; a role that is missing is done by its rule."""

    members: Mapping[ModelRole, Member] = field(default_factory=dict)
    calibrate: Callable[[ChatModel], Calibration] | None = None
    """Predicts the seconds of a model's calls; None: only deadlines hold them."""

    def model(self, role: ModelRole) -> ChatModel | None:
        """The model that does a role's work; None: its rule does."""
        member = self.members.get(role)
        return member.model if member is not None and member.trust.trusted else None

    def trust(self, role: ModelRole) -> Trust:
        """In the role's model."""
        member = self.members.get(role)
        return TRUSTED if member is None else member.trust

    def to_json(self) -> dict[str, Any]:
        """As a log describes it: each role's model, or null for its rule."""
        return {role.value: m.to_json() if (m := self.members.get(role)) else None for role in ROLES}


NOBODY = Crew()
"""Rules do all the work, and nobody words answers."""


def hire(library: Library, home: Path, chosen: Mapping[ModelRole, str]) -> Crew:
    """The crew of a home. ``chosen`` gives a role to a model by name, whatever its probe says.

    Other roles go to the home's own model where it is trusted, else to their rules. Raises
    :class:`ModelMissing` when a chosen model or the answerer is not installed.
    """
    team = Team(library, home)
    members = {}
    for role in ROLES:
        if role in chosen:
            name = library.suited(role, chosen[role])
            members[role] = Member(library.open_chat(name), team.forcing(role, name))
        elif role is ModelRole.ANSWERER:
            members[role] = Member(library.chat_model(role), team.standing(role).trust)
        else:
            try:
                members[role] = Member(library.chat_model(role), team.standing(role).trust)
            except ModelMissing:  # its rule needs none
                continue
    return Crew(members, Calibrations(home).of)
