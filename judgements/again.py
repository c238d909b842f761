"""Judging again: which judgement another one judges anew, and what was amended in between."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from .amendments import Amendment, amendments
from .models import Judgement

User = AbstractBaseUser | AnonymousUser


@dataclass(frozen=True)
class Again:
    """What came before a judgement and what came after it, as far as one may see it."""

    earlier: Judgement | None
    amendments: list[Amendment]
    later: list[Judgement]


def again_of(judgement: Judgement, user: User) -> Again:
    earlier = earlier_of(str(judgement.earlier_id or ""), user)
    return Again(
        earlier=earlier,
        amendments=amendments(_texts(earlier), _texts(judgement)) if earlier else [],
        later=list(judgement.later.visible_to(user).select_related("run").order_by("run__created")),
    )


def earlier_of(pk: str, user: User) -> Judgement | None:
    """The judgement of that id, if there is one and the user may see it."""
    try:
        wanted = UUID(pk)
    except ValueError:
        return None
    whole = Judgement.objects.visible_to(user).select_related("run", "council_version__council__current")
    return whole.prefetch_related("agents").filter(pk=wanted).first()


def _texts(judgement: Judgement) -> dict[str, str]:
    """All that somebody wrote for it, by what it is."""
    texts = {"Title": judgement.title, "Content": judgement.content}
    for number, agent in enumerate(judgement.agents.all(), start=1):
        texts |= {
            f"Agent {number}, name": agent.name,
            f"Agent {number}, model": agent.model,
            f"Agent {number}, fallback model": agent.fallback,
            f"Agent {number}, criteria": agent.criteria,
        }
    return texts
