"""What a record says of a debate: how it came about, who gave way to what, and all that was said and asked."""

from collections.abc import Iterator
from typing import Any

from runs.face import Snapshot

from ..display import Display
from ..ending import analysed, figures_of
from ..models import Debate
from ..rules.outcome import Rule
from ..scene import scene_of
from ..sentences import RULES
from . import arguments, chair, floor, log, result, seats, voices

__all__ = ["provenance", "recorded"]


def recorded(seen: Snapshot[Debate], display: Display) -> dict[str, Any]:
    """All of it, of a debate that was read with `whole()`; `seen.calls` need neither prompts nor more queries."""
    scene = scene_of(seen)
    found = analysed(scene)
    return {
        "summary": result.summary(scene),
        "choices": tuple(seats.choices_of(scene)),
        "seats": tuple(seats.seated_of(scene)),
        "figures": tuple(figures_of(scene, found)),
        "result": result.result_of(scene, found),
        "moved": tuple(voices.moved_of(scene, found)),
        "cases": tuple(arguments.cases_of(scene, found)),
        "swayers": tuple(voices.swayers_of(scene, found)),
        "voices": voices.by_model(scene),
        "experience": voices.experience_of(scene.debate),
        "chair": tuple(chair.acts_of(scene)),
        "floor": floor.floor_of(scene),
        "log": log.log_of(scene, display, seen),
    }


def provenance(debate: Debate) -> Iterator[tuple[str, str]]:
    yield "Panel", str(debate.panel_version or "none, the members were named for this debate")
    yield "Rule", RULES[Rule(debate.rule)]
    yield "Most messages", str(debate.so_far.most)
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
