"""A debate's record: what its rows tell, what it is found by, and what of it cannot be.

Why so: docs/decisions.md, The record of a debate.
"""

from collections.abc import Iterator

from engine.evidence.entries import ENDED, SUBMITTED
from engine.evidence.told import Said
from engine.llm.providers import is_rehearsal
from engine.search import label

from ..models.keeping import flags_of
from ..rules.course import Kind
from ..rules.outcome import outcome_of
from .doubts import doubt
from .retold import SPOKEN, Retold
from .telling import said_in_order, tell

__all__ = ["doubt", "labels", "tell"]


def labels(said: Said) -> Iterator[str]:
    """Those that its rows make beside what any run is found by, from what is told of it."""
    [submitted, *_] = said[SUBMITTED]
    yield label(
        "rehearsal", any(is_rehearsal(one["model"]) for one in submitted.facts["members"] if one["kind"] == Kind.MEMBER)
    )
    if submitted.facts["panel"]:
        yield label("panel", submitted.facts["panel"]["id"])
    if any(ended.facts["outcome"] for ended in said[ENDED]):
        retold = Retold(list(said_in_order(said)))
        course = retold.course()
        verdicts = [course.stands_by.get(one.seat, "") for one in course.voters]
        outcome = outcome_of(retold.settings.rule, retold.settings.options, verdicts)
        named = any(one["names_option"] for one in retold.facts(SPOKEN))
        yield from flags_of(course, outcome, named=named)
