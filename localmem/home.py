"""A home folder: its models, which roles they have, and how a question is answered with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from localmem.disclosure.agent import Agent
from localmem.disclosure.budget import EFFORTS, Budget
from localmem.errors import BadInput, ModelMissing
from localmem.models.calibration import Calibrations
from localmem.models.catalog import ModelRole
from localmem.models.library import Library
from localmem.models.protocols import ChatModel, Embedder
from localmem.paths import default_home
from localmem.probing.team import Team
from localmem.reconstruction.fixed import FIXED, Fixed
from localmem.roles.trust import TRUSTED, Trust


class How(TypedDict, total=False):
    """How a question is to be answered."""

    policy: Literal["auto", "fixed", "agent"]
    """``auto``, the default: ``agent`` if the controller is trusted, else ``fixed``."""
    effort: Literal["low", "medium", "high"]
    """What policy ``agent`` may spend; the default is ``medium``."""
    asked_on: date | datetime | None
    """When it is asked; relative dates count from it. None: on the day of the newest message."""
    use_model: bool
    """False: rules answer with the best sentences."""


@dataclass(frozen=True, slots=True)
class Means:
    """What one answer is made with; the arguments of :meth:`Memory.answer`."""

    model: ChatModel | None
    """Words the answer; None: rules."""
    trust: Trust
    agent: Agent | None
    """None: policy ``fixed``."""
    fixed: Fixed


class Home:
    """The models in a home folder. Any thread may use it; :meth:`close` frees what was opened."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or default_home()
        self.library = Library(self.path)
        self.team = Team(self.library, self.path)

    def close(self) -> None:
        """Free every model. Closing twice is allowed."""
        self.library.close()

    def means(self, **how: Unpack[How]) -> Means:
        """What the home answers with. Raises :class:`ModelMissing`, :class:`BadInput` (a wrong name)."""
        policy, effort = how.get("policy", "auto"), how.get("effort", "medium")
        asked, use_model = how.get("asked_on"), how.get("use_model", True)
        if effort not in EFFORTS:
            raise BadInput(f"{effort!r} is not an effort. Efforts: {', '.join(EFFORTS)}.")
        if policy not in ("auto", "fixed", "agent"):
            raise BadInput(f"{policy!r} is not a policy. Policies: auto, fixed, agent.")
        model, trust = self.answerer() if use_model else (None, TRUSTED)
        agent = self.agent(policy, EFFORTS[effort], asked, use_model=use_model)
        day = asked.date() if isinstance(asked, datetime) else asked
        fixed = FIXED if agent else self.fixed(None, None, day, use_model=use_model)
        return Means(model, trust, agent, fixed)

    def embedder(self) -> Embedder:
        """The embedding model. Raises :class:`ModelMissing`."""
        return self.library.embedder()

    def answerer(self) -> tuple[ChatModel, Trust]:
        """The model that words answers, and how far it is trusted. Raises :class:`ModelMissing`."""
        return self.library.chat_model(ModelRole.ANSWERER), self.team.standing(ModelRole.ANSWERER).trust

    def agent(
        self, policy: str, budget: Budget, asked: date | datetime | None, *, use_model: bool
    ) -> Agent | None:
        """What policy ``agent`` works with, None when it is another; ``auto`` wants a trusted controller."""
        if policy == "fixed" or (policy == "auto" and not use_model):
            return None
        if not use_model:
            return Agent(budget, asked=asked)
        try:
            controller = self.library.chat_model(ModelRole.CONTROLLER)
            trust = self.team.standing(ModelRole.CONTROLLER).trust
        except ModelMissing:  # the twin needs none
            controller, trust = None, Trust(trusted=False, reason="the model is not installed")
        if policy == "auto" and not trust.trusted:
            return None
        return Agent(
            budget,
            controller=controller,
            trust=trust,
            summariser=self.team.if_trusted(ModelRole.SUMMARISER),
            calibrate=Calibrations(self.path).of,
            asked=asked,
        )

    def fixed(self, calls: int | None, records: int | None, asked: date | None, *, use_model: bool) -> Fixed:
        """What policy ``fixed`` works with; None is its own limit. Only a trusted controller takes part."""
        controller, trust = None, TRUSTED
        if use_model and (controller := self.team.if_trusted(ModelRole.CONTROLLER)) is not None:
            trust = self.team.standing(ModelRole.CONTROLLER).trust
        return Fixed(FIXED.calls if calls is None else calls, records, controller, trust, asked)
