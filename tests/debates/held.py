"""Debates that are held on paper: the rules say what comes next, and a function answers in a model's place."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

from debates import prompts
from debates.prompt_context import MessageWords, PromptContext, PromptDocument, PromptOption
from debates.prompts.member_history import Conversation
from debates.rules import turn_taking
from debates.rules.state import (
    DebateSettings,
    DebateState,
    FirstStatement,
    MemberStatus,
    MessageKind,
    MessageState,
    SeatState,
    StatementKind,
    SteeringKind,
    SteeringState,
    TurnState,
)

NAMES = "Ilse Brandt|Rajiv Menon|Hana Kubo|Tomás Ferro|Ada Owusu|Jörg Lind|Mei Tan|Olu Bello|Nora Kiss".split("|")
BEGAN = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
SEED = bytes(range(32))

Answers = Callable[[PromptContext, TurnState, int | None], str]


def opened(members: int = 5, **changed) -> PromptContext:
    """A debate of which nothing has been said yet."""
    options = (
        PromptOption("HIRE", "Offer the post as it is.", "for"),
        PromptOption("HIRE ON CONDITIONS", "Offer it with clauses.", "in between"),
        PromptOption("DO NOT HIRE", "Go on searching.", "against"),
    )
    settings = DebateSettings(tuple(option.word for option in options), "majority", SEED, most=200)
    seats = [
        SeatState(0, "Timekeeper", MessageKind.TIMEKEEPER),
        *(SeatState(n, NAMES[n - 1]) for n in range(1, members + 1)),
    ]
    lines = tuple(f"In {2000 + year} she led a group of {year % 7 + 2}." for year in range(24))
    course = DebateState(
        settings, seats, firsts=[FirstStatement(seat, "DO NOT HIRE") for seat in range(1, members + 1)]
    )
    table = PromptContext(
        course=course,
        question="Whom does the institute take as head of methods?",
        options=options,
        documents=(
            PromptDocument("A1", "Curriculum vitae", lines),
            PromptDocument("A2", "Letter", ("She asks.", "We answer.")),
        ),
        who={n: f"{NAMES[n - 1]} looks at what others leave out, number {n}." for n in range(1, members + 1)},
        words={},
        run="7f3a9c21",
        boundary="5e" * 16,
    )
    return replace(table, **changed)


def with_course(table: PromptContext, **changed) -> PromptContext:
    return replace(table, course=replace(table.course, **changed))


def with_settings(table: PromptContext, **changed) -> PromptContext:
    return with_course(table, settings=replace(table.course.settings, **changed))


def heard(table: PromptContext, message: MessageState, words: MessageWords) -> PromptContext:
    course = replace(table.course, messages=[*table.course.messages, message])
    return replace(table, course=course, words={**table.words, message.number: words})


def now(table: PromptContext) -> datetime:
    return BEGAN + timedelta(seconds=11 * (table.course.newest + 1))


def noted(table: PromptContext, due: turn_taking.AddTimekeeperNote) -> PromptContext:
    note = MessageState(table.course.newest + 1, StatementKind.NOTE, note=due.note, after=due.after)
    return heard(table, note, MessageWords(now(table), facts=prompts.note_facts(table)))


def chaired(table: PromptContext, text: str, to: tuple[int, ...] = (), ask: bool = False) -> PromptContext:
    message = MessageState(table.course.newest + 1, StatementKind.CHAIR, to=to, wants_answer=ask)
    return heard(table, message, MessageWords(now(table), text))


def steered(table: PromptContext, act: SteeringKind, seat: int | None = None) -> PromptContext:
    steer = SteeringState(len(table.course.steers) + 1, act, seat)
    return with_course(table, steers=[*table.course.steers, steer])


def given(table: PromptContext, turn: TurnState) -> PromptContext:
    return with_course(table, turns=[*table.course.turns, turn])


def said(
    table: PromptContext, turn: TurnState, answer: prompts.DebateAnswer, continues: int | None = None
) -> PromptContext:
    course = table.course
    turns = [replace(one, state=MemberStatus.SPOKEN) if one.number == turn.number else one for one in course.turns]
    steers = [replace(one, done=True) if one.number == turn.steer else one for one in course.steers]
    message = MessageState(
        number=course.newest + 1,
        sort=StatementKind.SAID,
        seat=turn.seat,
        clock=None if continues else course.clock + 1,
        to=answer.to,
        wants_answer=answer.wants_answer,
        verdict=answer.verdict,
        moved_by=answer.moved_by,
        withdrawn=answer.withdrawn,
        continues=continues,
        turn=turn.number,
    )
    words = MessageWords(now(table), answer.content, answer.points, answer.artifact, answer.reasoning)
    return heard(with_course(table, turns=turns, steers=steers), message, words)


def hold(table: PromptContext, answers: Answers, messages: int = 200) -> PromptContext:
    """Until so many have been said, or the debate would close."""
    while True:
        match turn_taking.next_step(table.course):
            case turn_taking.AddTimekeeperNote() as due:
                table = noted(table, due)
            case turn_taking.WaitUntil():
                table = with_course(table, claim=table.course.claim + 1)
            case turn_taking.GiveTurn(turn) if table.course.clock < messages:
                table = given(table, turn)
            case turn_taking.AwaitAnswer(turn, continues):
                answer = prompts.read_answer(table, turn, answers(table, turn, continues))
                table = said(table, turn, answer, continues)
            case _:
                return table


def next_turn(table: PromptContext) -> TurnState:
    """Who would speak next, whatever else is due."""
    while not isinstance(step := turn_taking.next_step(table.course), turn_taking.GiveTurn):
        table = noted(table, step) if isinstance(step, turn_taking.AddTimekeeperNote) else with_course(table, claim=99)
    return step.turn


def text_of(conversation: Conversation) -> str:
    return "".join(f"━━━ {one['role']}\n{one['content']}\n" for one in conversation)


def roles(conversation):
    return [one["role"] for one in conversation]


def told(conversation):
    return "\n".join(one["content"] for one in conversation if one["role"] == "user")


def own(conversation):
    return [json.loads(one["content"]) for one in conversation if one["role"] == "assistant"]


def parsed(conversation):
    """All that stands in the user's messages, as elements; no text may have become one, or broken one."""
    lines = [line for line in told(conversation).split("\n") if not re.match("(BEGIN|END) MATERIAL ", line)]
    return ElementTree.fromstring(f"<All>{chr(10).join(lines)}</All>")
