"""Compares the prompts of members' models with the messages: to forge one message, every later prompt must be
forged too."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from .. import prompt_context, prompts, xml_messages
from ..prompts import member_history, system_prompts
from ..rules.state import DebateState, StatementKind, TurnState
from .reconstruction import FIRST, MESSAGE, ReconstructedDebate

FLOOR = re.compile(r'<Floor [^>]*lines_before="(\d+)" gone="(\d+)">')
MINUTES = re.compile(r"<Minutes>\n(.*?)\n</Minutes>", re.DOTALL)
ELEMENT = re.compile(r'<(Message|Note) id="[^"]*?-(\d+)" timestamp="[^"]*"(.*?</\1>)', re.DOTALL)
"""Without the time and the beginning of the run's id: no entry has the former, and every entry the latter."""


class PromptChecks:
    def __init__(self, retold: ReconstructedDebate, laid: prompt_context.PromptContext) -> None:
        self.retold, self.laid = retold, laid

    @cached_property
    def messages_as_xml(self) -> Mapping[int, str]:
        """Each message as XML, by number."""
        texts = (xml_messages.write_message(one) for one in prompts.elements(self.laid))
        return {number: text for each in texts for number, text in _elements(each)}

    @cached_property
    def material(self) -> str:
        return member_history.case_material(self.laid)

    @cached_property
    def systems(self) -> Mapping[int, str]:
        return {one.seat: system_prompts.system_messages(self.laid, one.seat) for one in self.laid.course.speakers}

    def problems(self) -> Iterator[str]:
        for facts in self.retold.facts(FIRST):
            yield from self._frame(f"before the debate (seat {facts['seat']})", facts["seat"], facts["attempt"])
        turns = {turn.number: turn for turn in self.retold.turns}
        for facts in self.retold.facts(MESSAGE):
            if facts["attempts"] and facts["turn"] in turns:
                yield from self._message(facts, turns[facts["turn"]])

    def _message(self, facts: Mapping[str, Any], turn: TurnState) -> Iterator[str]:
        place, where = facts["attempts"][-1], f"for message {facts['number']}"
        yield from self._frame(where, turn.seat, place)
        if (asked := self._asked(place)) is None:
            return
        told = dict(_elements("\n".join(one["content"] for one in asked if one["role"] == "user")))
        if wrong := next((number for number, text in told.items() if self.messages_as_xml.get(number) != text), None):
            yield f"What a model was told {where} has another message {wrong} than the record."
        then = replace(self.laid, course=self._then(facts["heard"], turn))
        short = _short(asked)
        if short.begins and (version := self.retold.prompt_of["prompt_version"]) == "1":
            yield f"What a model was told {where} was shortened, which prompts of version {version} never are."
        elif short not in (member_history.WHOLE, *member_history.shorter(then, then.read_messages(turn))):
            yield f"What a model was told {where} was shortened as no rule says."
        if missing := sorted(self._whole(then, turn, short) - told.keys()):
            yield f"What a model was told {where} lacks message {missing[0]}."
        if short.begins and _lines(asked) != member_history.lines(then, turn.seat, then.read_messages(turn), short):
            yield f"What a model was told {where} has other lines than the record."

    def _frame(self, where: str, seat: int, place: Sequence[Any] | None) -> Iterator[str]:
        asked = self._asked(place)
        if asked is not None and _begin(asked, len(self.material)) != (self.systems[seat], self.material):
            yield f"What a model was told {where} is not what it had to follow, or not what was asked."

    def _asked(self, place: Sequence[Any] | None) -> list[dict[str, str]] | None:
        """Return the prompt of an attempt, or None if it is erased."""
        entry = self.retold.attempts.get(tuple(place)) if place else None
        prompt = entry["texts"].get("prompt", "") if entry else ""
        return json.loads(prompt) if prompt else None

    def _whole(self, then: prompt_context.PromptContext, turn: TurnState, short: member_history.Short) -> set[int]:
        """Return the messages of others that a prompt contains in full."""
        messages = then.read_messages(turn)
        whole = member_history.full_history(then, turn.seat, messages, short)
        own = self.laid.view == prompt_context.PromptView.PERSPECTIVE
        said = {one.number for one in messages if own and one.seat == turn.seat and one.sort == StatementKind.SAID}
        return whole - said

    def _then(self, heard: int, turn: TurnState) -> DebateState:
        return self.retold.before(turn.number, heard, 0)


def _begin(asked: Sequence[dict[str, str]], length: int) -> tuple[str, str]:
    """Return the system message and as much of the opening as must be the same."""
    system, opening = (*(one["content"] for one in asked[:2]), "", "")[:2]
    return system, opening[:length]


def _short(asked: Sequence[Mapping[str, str]]) -> member_history.Short:
    """Return the shortening that the prompt states at its end."""
    found = [one for said in asked if said["role"] == "user" for one in FLOOR.finditer(said["content"])]
    return member_history.Short(*map(int, found[-1].groups())) if found else member_history.WHOLE


def _lines(asked: Sequence[Mapping[str, str]]) -> list[str]:
    texts = (one for said in asked if said["role"] == "user" for one in MINUTES.findall(said["content"]))
    return [line for text in texts for line in text.split("\n")]


def _elements(text: str) -> Iterator[tuple[int, str]]:
    for found in ELEMENT.finditer(text):
        yield int(found[2]), f"{found[1]}{found[3]}"
