"""Reruns of judgements: which judgement was repeated, and what was changed in between."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from runs.access_log import log_view
from runs.rights import User
from runs.text_diff import TextAmendment, text_amendments

from .models import Judgement


@dataclass(frozen=True)
class JudgementRerun:
    """The earlier and later judgements that the user may see, and the changes since the earlier one.

    `compared`: both still have their texts, so that the changes are known.
    """

    earlier: Judgement | None
    compared: bool
    amendments: list[TextAmendment]
    later: list[Judgement]


def rerun_of(judgement: Judgement, user: User) -> JudgementRerun:
    earlier = _seen(str(judgement.earlier_id or ""), user)
    compared = bool(earlier) and not (judgement.run.redacted or (earlier and earlier.run.redacted))
    if earlier and compared:  # the changes reveal the earlier text, so this counts as a page view of it
        log_view(earlier.run, user)
    return JudgementRerun(
        earlier=earlier,
        compared=compared,
        amendments=text_amendments(_texts(earlier), _texts(judgement)) if earlier and compared else [],
        later=list(judgement.later.visible_to(user).select_related("run").order_by("run__created")),
    )


def earlier_judgement(pk: str, user: User) -> Judgement | None:
    """Return the judgement with this id to rerun, or None if the user may not see it or its texts are erased. Logs
    the page view."""
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
    """Return all texts that people wrote for a judgement, by label."""
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
    """Return all judgements that this one repeats or that repeat it, over any number of reruns, that still have
    their texts; oldest first."""
    seen: dict[UUID, Judgement] = {}
    near = {pk}
    while near:
        found = Judgement.objects.filter(Q(pk__in=near) | Q(earlier__in=near)).exclude(pk__in=seen)
        new = {one.pk: one for one in found.select_related("run").defer("content")}
        seen |= new
        near = {*new, *(one.earlier_id for one in new.values() if one.earlier_id)} - (seen.keys() - new.keys())
    others = (one for one in seen.values() if one.pk != pk and not one.run.redacted)
    return sorted(others, key=lambda one: one.run.created)
