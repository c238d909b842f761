"""Recomputes the numbers and names in the facts of notes and of the end."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from engine.models import Run

from .. import prompts
from ..models.constants import is_named
from ..rules.state import AT_ANY_TIME, DebateState, MessageState
from .reconstruction import NOTE, SPOKEN, ReconstructedDebate


def check_note_facts(retold: ReconstructedDebate) -> Iterator[str]:
    for facts in retold.facts(NOTE):
        if not any(_facts(retold, course) == _kept(facts) for course in _then(retold, facts["number"])):
            yield f"The facts of note {facts['number']} are not those of its moment."
        elif ("minutes" in facts["facts"]) and (facts["facts"]["minutes"] is None) != (
            retold.prompt_of["until"] is None
        ):
            yield f"Note {facts['number']} tells of time left where there is no such end, or hides it."
    for entry in retold.from_entries(SPOKEN):
        if (text := entry["texts"].get("content")) and entry["facts"]["names_option"] != _names(retold, text):
            yield f"Whether the chair named an option in message {entry['facts']['number']} is told wrongly."


def _names(retold: ReconstructedDebate, text: str) -> bool:
    return any(is_named(word, text) for word in retold.settings.options)


def _facts(retold: ReconstructedDebate, course: DebateState) -> dict[str, Any]:
    """Return the facts as entries have them, without the time left, which no entry contains."""
    found = prompts.facts_in(course, version=retold.prompt_of["prompt_version"]).told
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def _kept(facts: dict[str, Any]) -> dict[str, Any]:
    return (facts["facts"] or {}) | {"minutes": None}


def _then(retold: ReconstructedDebate, number: int) -> Iterator[DebateState]:
    """Yield the states that the writer of a note may have seen: the chair's acts at that time and the retry are
    unknown."""
    before = [message for message in retold.messages if message.number < number]
    given = [turn for turn in retold.turns if turn.after < number]
    heard = _last_in_a_turn(before)
    newest = max((message.number for message in before), default=0)
    series = sorted({turn.series for turn in retold.turns[: len(given) + 1]} | {0})
    for read, acts in product(
        range(newest, heard - 1, -1), range(retold.sure_acts(heard), retold.possible_acts(newest) + 1)
    ):
        course = retold.before(len(given) + 1, read, acts)
        yield course
        yield from (replace(course, series=one) for one in series if one != course.series)


def _last_in_a_turn(before: list[MessageState]) -> int:
    """Return the last message in a turn; later ones may have arrived while the note was being written."""
    return max((message.number for message in before if message.sort not in AT_ANY_TIME), default=0)


def check_counts(retold: ReconstructedDebate) -> Iterator[str]:
    end = retold.end
    if not end or end["status"] not in (Run.Status.FINISHED, Run.Status.CANCELLED):
        return  # a failed run may have continued since
    course = retold.state()
    due = {
        "silent": sorted(course.silent),
        "messages": len(course.messages),
        "turns": len(course.turns),
        "changes": len(course.changes),
    }
    for name, number in due.items():
        if end[name] != number:
            yield f"Its end tells of other {name} than there are."
