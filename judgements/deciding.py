"""A council asked at a gate: a judgement of the gate's text, made by the run that waits there."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from engine.deciders import Cannot, NeedsPerson
from engine.models import Gate

from .estimate import MODELS, too_long_for
from .models import Council, CouncilChanged, Judgement, OnlyCouncils
from .models.judgements import CONTENT_LENGTH, RoundDecision
from .rules import ROUNDS


def decide(gate: Gate, name: str, made_by: Mapping[str, Any]) -> Judgement:
    """Its members get the text of the gate, and nothing else."""
    council = _named(name).whole().first()
    if council is None or council.current is None:
        raise Cannot(f"There is no council named {name}, or it is archived.")
    if not gate.text.strip() or len(gate.text) > CONTENT_LENGTH:  # a part of a text is never judged for all of it
        size, most = f"{len(gate.text):,}", f"{CONTENT_LENGTH:,}"
        raise NeedsPerson(f"A council judges texts of 1 to {most} characters; this has {size}. So a person decides.")
    agents = council.agents()
    if said := next(filter(None, (too_long_for(gate.text, one, model) for one in agents for model in MODELS)), ""):
        raise NeedsPerson(f"The council {name} was not asked. {said}")
    try:
        return Judgement.objects.submit(
            owner=made_by["owner"],
            content=gate.text,
            title=gate.title,
            agents=agents,
            council=council.current,
            made_by=made_by,
        )
    except (CouncilChanged, OnlyCouncils) as error:  # it was revised in this very moment
        raise Cannot(str(error)) from error


def is_known(name: str) -> bool:
    return _named(name).exists()


def names() -> list[str]:
    """Of all that can be asked now, in the order of their making."""
    return list(Council.objects.filter(archived=None, current__isnull=False).values_list("name", flat=True))


def _named(name: str) -> Any:
    return Council.objects.filter(name=name, archived=None)


def grounds(run: UUID) -> str:
    """What each agent said last."""
    said = RoundDecision.objects.filter(agent__judgement=run, round=ROUNDS[-1]).select_related("agent")
    return "\n".join(f"{one.agent.name}: {one.reason}" for one in said.order_by("agent__seat"))
