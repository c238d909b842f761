"""Judging again: which judgement another one judges anew, and what was amended in between."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from runs.access_log import log_view
from runs.rights import User
from runs.text_diff import TextAmendment, text_amendments

from .models import Judgement


@dataclass(frozen=True)
class JudgementRerun:
    """What came before a judgement and what came after it, as far as one may see it.

    `compared`: both have their texts, so that what was amended can be told.
    """

    earlier: Judgement | None
    compared: bool
    amendments: list[TextAmendment]
    later: list[Judgement]


def rerun_of(judgement: Judgement, user: User) -> JudgementRerun:
    earlier = _seen(str(judgement.earlier_id or ""), user)
    compared = bool(earlier) and not (judgement.run.redacted or (earlier and earlier.run.redacted))
    if earlier and compared:  # what was amended shows what stood there
        log_view(earlier.run, user)
    return JudgementRerun(
        earlier=earlier,
        compared=compared,
        amendments=text_amendments(_texts(earlier), _texts(judgement)) if earlier and compared else [],
        later=list(judgement.later.visible_to(user).select_related("run").order_by("run__created")),
    )


def earlier_judgement(pk: str, user: User) -> Judgement | None:
    """The judgement of that id to judge again, if there is one, the user may see it and it has its texts: a look."""
    found = _seen(pk, user)
    if found is None or found.run.redacted:
        return None
    log_view(found.run, user)
    return found


def _seen(pk: str, user: User) -> Judgement | None:
    try:
        wanted = UUID(pk)
    except ValueError:
        return None
    whole = Judgement.objects.visible_to(user).select_related("run", "council_version__council__current")
    return whole.prefetch_related("agents").filter(pk=wanted).first()


def _texts(judgement: Judgement) -> dict[str, str]:
    """All that somebody wrote for it, by what it is."""
    texts = {"Title": judgement.run.title, "Content": judgement.content}
    for number, agent in enumerate(judgement.agents.all(), start=1):
        texts |= {
            f"Agent {number}, name": agent.name,
            f"Agent {number}, model": agent.model,
            f"Agent {number}, fallback model": agent.fallback,
            f"Agent {number}, criteria": agent.criteria,
        }
    return texts


def texts_loaded(pk: UUID) -> list[Judgement]:
    """All that one was judged again from, and all that were judged again from it, as far as they have their texts."""
    seen: dict[UUID, Judgement] = {}
    near = {pk}
    while near:
        found = Judgement.objects.filter(Q(pk__in=near) | Q(earlier__in=near)).exclude(pk__in=seen)
        new = {one.pk: one for one in found.select_related("run").defer("content")}
        seen |= new
        near = {*new, *(one.earlier_id for one in new.values() if one.earlier_id)} - (seen.keys() - new.keys())
    others = (one for one in seen.values() if one.pk != pk and not one.run.redacted)
    return sorted(others, key=lambda one: one.run.created)
