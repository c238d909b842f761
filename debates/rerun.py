"""Reruns of debates: which debate was repeated, and how the two differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Q

from engine.llm.pricing import DOLLAR
from engine.models import NewDocument
from runs.access_log import log_view
from runs.forking import forked
from runs.rights import User

from . import analysis
from .attachments import DebateAttachments
from .models import SWITCHES, Debate, DebateMember


@dataclass(frozen=True)
class DebateRerun:
    """The earlier and later debates that the user may see. `draws`: whether they have the same seed. `stayed`: how
    many members ended with the same verdict."""

    earlier: Debate | None
    later: Sequence[Debate]
    draws: str
    stayed: str


def rerun_of(debate: Debate, user: User) -> DebateRerun:
    seen = Debate.objects.visible_to(user)
    again = debate.earlier_id and not forked(debate.run)  # of a fork its page says so
    earlier = seen.with_messages().filter(pk=debate.earlier_id).first() if again else None
    later = seen.filter(earlier=debate.pk, run__fork=None).select_related("run").order_by("run__created")
    draws = "the same draws" if earlier and earlier.seed == debate.seed else "draws of its own"
    return DebateRerun(earlier, list(later), draws, unchanged_sentence(earlier, debate) if earlier else "")


def unchanged_sentence(earlier: Debate, later: Debate) -> str:
    """Return how many members that sat on the same seat both times ended with the same verdict; empty unless both
    debates have an outcome."""
    if not (earlier.run.outcome and later.run.outcome):
        return ""
    names = {one.seat: one.name for one in earlier.seated}
    same = [one.seat for one in later.seated if names.get(one.seat) == one.name]
    stayed = analysis.positions_kept(earlier.shown_state, later.shown_state)
    both = [stayed[seat] for seat in same if seat in stayed]
    return f"{sum(both)} of {len(both)} members that sat there both times ended by the same." if both else ""


COPIED_FIELDS = ("question", "rule", "most", "reply_within", "view")


def earlier_debate(pk: str, user: User) -> Debate | None:
    """Return the debate with this id to rerun, or None if the user may not see it or its texts are erased. Logs the
    page view."""
    try:
        wanted = UUID(pk)
    except ValueError:
        return None
    seen = Debate.objects.visible_to(user).filter(pk=wanted, run__redacted=None)
    whole = seen.select_related("run", "panel_version__panel__current")
    found = whole.prefetch_related("options", "members__user", "run__documents").first()
    if found:
        log_view(found.run, user)
    return found


def start_values(debate: Debate) -> dict[str, Any]:
    """Return all values of a debate as initial values of a new one's form, without its end time and its seed: the
    same seed would give the same draws."""
    switches = {name: getattr(debate, name) for name in SWITCHES}
    spend = debate.run.spend
    return {
        **{name: getattr(debate, name) for name in COPIED_FIELDS},
        "spend": None if spend is None else Decimal(spend) / DOLLAR,
        "title": debate.run.title,
        "timekeeper": debate.at_seat(0).model,
        "switches": switches,
        "options": [
            {"word": one.word, "meaning": one.meaning, "direction": one.direction} for one in debate.options.all()
        ],
        "members": [_member(one) for one in debate.seated],
        "attached": DebateAttachments([_document(one) for one in debate.run.documents.all()]),
    }


def _member(member: DebateMember) -> dict[str, Any]:
    user = member.user.get_username() if member.user else ""
    return {"name": member.name, "who": member.who, "model": member.model, "fallback": member.fallback, "user": user}


def _document(one: Any) -> NewDocument:
    return NewDocument(one.title, one.kind, tuple(one.lines), one.digest)


def with_texts_beside(pk: UUID) -> list[Debate]:
    """Return all debates that this one repeats or that repeat it, over any number of reruns, that still have their
    texts; oldest first."""
    seen: dict[UUID, Debate] = {}
    near = {pk}
    while near:
        found = Debate.objects.filter(Q(pk__in=near) | Q(earlier__in=near)).exclude(pk__in=seen)
        new = {one.pk: one for one in found.select_related("run").defer("question")}
        seen |= new
        near = {*new, *(one.earlier_id for one in new.values() if one.earlier_id)} - (seen.keys() - new.keys())
    others = (one for one in seen.values() if one.pk != pk and not one.run.redacted)
    return sorted(others, key=lambda one: one.run.created)
