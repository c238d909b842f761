"""Tables with histories that no rule would allow, full of hostile texts: what is made of them must hold, too."""

from dataclasses import replace
from random import Random

from debates.prompt_context import (
    AnswerShape,
    MessageWords,
    PointSide,
    PromptArtifact,
    PromptContext,
    PromptPoint,
    PromptView,
)
from debates.rules.state import MemberStatus, MessageState, StatementKind, TurnReason, TurnState

from . import held
from .injections import INJECTIONS
from .strategies import NASTY

HOSTILE = [*INJECTIONS, *NASTY, "", "It is so.", "Ja, natürlich: 评审 passt."]


def table_of(seed: int) -> tuple[PromptContext, TurnState]:
    """A table and the turn that comes next, the same for a seed."""
    chance = Random(seed)
    members = chance.randint(2, 9)
    table = held.opened(members, view=chance.choice(list(PromptView)))
    table = held.noted(table, held.turn_taking.AddTimekeeperNote("opening", 0))
    for _ in range(chance.randrange(60)):
        table = _more(table, chance, members)
    why = chance.choice([why for why in TurnReason if why != TurnReason.CLOSING])
    return table, TurnState(999, chance.randint(1, members), why, asked_by=chance.randint(1, table.course.newest))


def _more(table: PromptContext, chance: Random, members: int) -> PromptContext:
    sort = chance.choices([StatementKind.SAID, StatementKind.CHAIR, StatementKind.NOTE], [8, 1, 1])[0]
    if sort == StatementKind.NOTE:
        kind = chance.choice(["reminder", "deadline"])
        return held.noted(table, held.turn_taking.AddTimekeeperNote(kind, table.course.clock))
    return _said(table, chance, members) if sort == StatementKind.SAID else _chaired(table, chance, members)


def _said(table: PromptContext, chance: Random, members: int) -> PromptContext:
    number, last = table.course.newest + 1, table.course.messages[-1]
    goes_on = last.sort == StatementKind.SAID and last.continues is None and chance.random() < 0.2
    seat = last.seat if goes_on else chance.randint(1, members)
    turn = TurnState(
        number, seat or 1, chance.choice([TurnReason.DRAW, TurnReason.CHALLENGE]), number - 1, MemberStatus.SPOKEN
    )
    message = MessageState(
        number,
        StatementKind.SAID,
        seat=seat,
        clock=None if goes_on else table.course.clock + 1,
        to=tuple(chance.sample(range(1, members + 1), chance.randrange(members))),
        wants_answer=chance.random() < 0.5,
        verdict=chance.choice(["", *table.words_of_options, "ABSTAIN"]),
        moved_by=tuple(chance.sample(range(1, number + 1), chance.randrange(min(4, number)))),
        withdrawn=chance.random() < 0.1,
        continues=last.number if goes_on else None,
        turn=number,
    )
    return held.heard(held.given(table, turn), message, _words(table, chance))


def _chaired(table: PromptContext, chance: Random, members: int) -> PromptContext:
    return held.chaired(table, chance.choice(HOSTILE), (chance.randint(1, members),), ask=True)


def _words(table: PromptContext, chance: Random) -> MessageWords:
    text = [chance.choice(HOSTILE) for _ in range(8)]
    point = PromptPoint(text[0], table.words_of_options[0], PointSide.FOR, "A1", 3, chance.choice(["", "2.1"]))
    cells = ((text[3], text[4]), (text[5], text[6]))
    shown = PromptArtifact(text[1], chance.choice(list(AnswerShape)), text[2], ("One", "Two"), cells)
    artifact = replace(shown, columns=(), rows=()) if shown.kind == AnswerShape.TEXT else replace(shown, text="")
    number = chance.randrange(3)
    return MessageWords(held.now(table), text[7], (point,) * number, artifact if number == 1 else None, text[1])
