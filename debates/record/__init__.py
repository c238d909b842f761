"""Record of a debate: outcome, changes and influence, and all messages with their prompts."""

from collections.abc import Iterator
from typing import Any

from runs.procedure.spec import RunSnapshot

from ..models import Debate
from ..page.context import page_context
from ..page.display import DebateDisplay
from ..page.outcome_view import analysis_of, outcome_numbers
from ..page.sentences import RULES
from ..rules.outcome import DecisionRule
from . import analysis, members, outcome, transcript, turns

__all__ = ["debate_record", "provenance"]


def debate_record(seen: RunSnapshot[Debate], display: DebateDisplay) -> dict[str, Any]:
    """Return the context of the record, for a debate that was read with `with_members()`; `seen.calls` need neither
    prompts nor more queries."""
    scene = page_context(seen)
    found = analysis_of(scene)
    return {
        "summary": outcome.summary(scene),
        "choices": tuple(members.recorded_options(scene)),
        "seats": tuple(members.recorded_members(scene)),
        "figures": tuple(outcome_numbers(scene, found)),
        "result": outcome.recorded_outcome(scene, found),
        "moved": tuple(analysis.recorded_changes(scene, found)),
        "cases": tuple(analysis.argument_cases(scene, found)),
        "swayers": tuple(analysis.recorded_influences(scene, found)),
        "voices": analysis.by_model(scene),
        "experience": analysis.experience_of(scene.debate),
        "chair": tuple(members.moderation_lines(scene)),
        "floor": turns.recorded_turns(scene),
        "log": transcript.recorded_transcript(scene, display, seen),
    }


def provenance(debate: Debate) -> Iterator[tuple[str, str]]:
    yield "Panel", str(debate.panel_version or "none, the members were named for this debate")
    yield "Rule", RULES[DecisionRule(debate.rule)]
    yield "Most messages", str(debate.shown_state.most)
    yield "Members see", "all the same minutes" if debate.view == "minutes" else "their own words as their own"
    off = [name for name, on in _switches(debate).items() if not on]
    yield "Switched off", ", ".join(off)
    yield "Free floor", "on" if debate.free_floor else ""
    yield "Outcome", "advises, people decide" if debate.advisory else ""
    persons = [f"{member.name}: {member.user_name}" for member in debate.seated if member.is_person]
    yield "Persons on a seat", ", ".join(persons)
    yield "Held again from", str(debate.earlier_id or "")
    yield "Prompts", f"version {debate.prompt_version}"


def _switches(debate: Debate) -> dict[str, bool]:
    return {
        "first verdicts": debate.first,
        "replies": debate.reply,
        "calls of the silent": debate.call,
        "challenge": debate.challenge,
    }
