"""Approval by a council: a judgement of the gate's text, submitted by the run that waits at the gate."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from engine.council_approval import CouncilNotPossible, NeedsPerson
from engine.councils import CouncilUnknown, NamedCouncil
from engine.models import Gate
from runs.forms import parse_number

from .estimate import MODELS, too_long_for
from .models import Council, CouncilChanged, CouncilRequired, EarlierCouncilName, Judgement
from .models.judgements import CONTENT_LENGTH, RoundDecision
from .rules import ROUNDS


def decide_gate(gate: Gate, pk: int, made_by: Mapping[str, Any]) -> Judgement:
    """Submit a judgement of the gate's text; the agents see nothing else. Raises CouncilNotPossible if the council
    cannot judge now, and NeedsPerson if the text does not fit."""
    council = Council.objects.with_content().filter(pk=pk).first()
    if council is None or council.current is None:
        raise CouncilNotPossible(f"There is no council with the id {pk}.")
    if council.archived:
        raise CouncilNotPossible(f"The council “{council.name}” is archived.")
    if (
        not gate.text.strip() or len(gate.text) > CONTENT_LENGTH
    ):  # a council never judges a part of a text as if it were all of it
        size, most = f"{len(gate.text):,}", f"{CONTENT_LENGTH:,}"
        raise NeedsPerson(f"A council judges texts of 1 to {most} characters; this has {size}. So a person decides.")
    agents = council.agents()
    if said := next(filter(None, (too_long_for(gate.text, one, model) for one in agents for model in MODELS)), ""):
        raise NeedsPerson(f"The council {council.name} was not asked. {said}")
    try:
        return Judgement.objects.submit(
            owner=made_by["owner"],
            content=gate.text,
            title=gate.title,
            agents=agents,
            council=council.current,
            made_by=made_by,
        )
    except (CouncilChanged, CouncilRequired) as error:  # it was revised just now
        raise CouncilNotPossible(str(error)) from error


# ---- which council is meant: required by `engine.councils.CouncilRegister` ------------------------------------


def find(which: str, saved_id: int | None) -> NamedCouncil:
    """Return the council with this name or id; `saved_id` decides between several with the same name. A name counts
    only if it is unambiguous: another council may have taken a name that was given up. Raises CouncilUnknown."""
    called: dict[int, Council] = {one.pk: one for one in Council.objects.ever_called(which)}
    if saved_id in called:
        return _named(called[saved_id])
    if council := Council.objects.filter(pk=parse_number(which.strip())).first():
        return _named(council)
    if not called:
        raise CouncilUnknown(f"No council is called “{which}” here, or it is archived.")
    if len(called) > 1:
        known = ", ".join(f"{one.pk} (now “{one.name}”)" for one in called.values())
        raise CouncilUnknown(f"More than one council has been called “{which}”. Write the id of one: {known}.")
    return _named(*called.values())


def by_id(pk: int) -> NamedCouncil | None:
    council = Council.objects.filter(pk=pk).first()
    return _named(council) if council else None


def offered() -> list[NamedCouncil]:
    """Return the available councils, oldest first."""
    return [_named(one) for one in Council.objects.available().exclude(current=None)]


def earlier_id(name: str) -> int | None:
    return EarlierCouncilName.objects.filter(name=name).values_list("council", flat=True).first()


def _named(council: Council) -> NamedCouncil:
    return NamedCouncil(council.pk, council.name, council.archived is not None)


# ---- the decision ----------------------------------------------------------------------------------------------


def explanation(run: UUID) -> str:
    """Return the last reason of each agent, one per line."""
    said = RoundDecision.objects.filter(agent__judgement=run, round=ROUNDS[-1]).select_related("agent")
    return "\n".join(f"{one.agent.name}: {one.reason}" for one in said.order_by("agent__seat"))


def judged_as(run: UUID) -> str:
    version = Judgement.objects.select_related("council_version").get(pk=run).council_version
    return f"{version.name}, version {version.number}" if version else ""
