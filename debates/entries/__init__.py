"""Audit log entries of a debate: drafts from its rows, search labels, and validation.

Why so: debates/DESIGN.md, The record of a debate.
"""

from collections.abc import Iterator

from engine.audit.entries_from_rows import RunEntries
from engine.ledger.entries import ENDED, SUBMITTED
from engine.llm.providers import is_rehearsal
from engine.text.search_terms import label_term

from ..models.writes import flags_of
from ..rules.outcome import outcome_of
from ..rules.state import MessageKind
from .reconstruction import SPOKEN, ReconstructedDebate
from .rows import build_entries, entries_in_order
from .rule_checks import validate_entries

__all__ = ["build_entries", "labels", "validate_entries"]


def labels(said: RunEntries) -> Iterator[str]:
    """Yield the search labels of a debate, in addition to those of every run."""
    [submitted, *_] = said[SUBMITTED]
    yield label_term(
        "rehearsal",
        any(is_rehearsal(one["model"]) for one in submitted.facts["members"] if one["kind"] == MessageKind.MEMBER),
    )
    if submitted.facts["panel"]:
        yield label_term("panel", submitted.facts["panel"]["id"])
    if any(ended.facts["outcome"] for ended in said[ENDED]):
        retold = ReconstructedDebate(list(entries_in_order(said)))
        course = retold.state()
        verdicts = [course.verdict_of.get(one.seat, "") for one in course.voters]
        outcome = outcome_of(retold.settings.rule, retold.settings.options, verdicts)
        named = any(one["names_option"] for one in retold.facts(SPOKEN))
        yield from flags_of(course, outcome, named=named)
