"""Debates that are held on paper: the rules say what comes next, and a function answers in a model's place."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

from debates import prompts
from debates.prompts.history import Conversation
from debates.rules import floor
from debates.rules.course import Act, Course, First, Kind, Message, Seat, Settings, Sort, Standing, Steer, Turn
from debates.table import Document, Option, Table, Words

NAMES = "Ilse Brandt|Rajiv Menon|Hana Kubo|Tomás Ferro|Ada Owusu|Jörg Lind|Mei Tan|Olu Bello|Nora Kiss".split("|")
BEGAN = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
SEED = bytes(range(32))

Answers = Callable[[Table, Turn, int | None], str]


def opened(members: int = 5, **changed) -> Table:
    """A debate of which nothing has been said yet."""
    options = (
        Option("HIRE", "Offer the post as it is.", "for"),
        Option("HIRE ON CONDITIONS", "Offer it with clauses.", "in between"),
        Option("DO NOT HIRE", "Go on searching.", "against"),
    )
    settings = Settings(tuple(option.word for option in options), "majority", SEED, most=200)
    seats = [Seat(0, "Timekeeper", Kind.TIMEKEEPER), *(Seat(n, NAMES[n - 1]) for n in range(1, members + 1))]
    lines = tuple(f"In {2000 + year} she led a group of {year % 7 + 2}." for year in range(24))
    course = Course(settings, seats, firsts=[First(seat, "DO NOT HIRE") for seat in range(1, members + 1)])
    table = Table(
        course=course,
        question="Whom does the institute take as head of methods?",
        options=options,
        documents=(Document("A1", "Curriculum vitae", lines), Document("A2", "Letter", ("She asks.", "We answer."))),
        who={n: f"{NAMES[n - 1]} looks at what others leave out, number {n}." for n in range(1, members + 1)},
        words={},
        run="7f3a9c21",
        boundary="5e" * 16,
    )
    return replace(table, **changed)


def with_course(table: Table, **changed) -> Table:
    return replace(table, course=replace(table.course, **changed))


def with_settings(table: Table, **changed) -> Table:
    return with_course(table, settings=replace(table.course.settings, **changed))


def heard(table: Table, message: Message, words: Words) -> Table:
    course = replace(table.course, messages=[*table.course.messages, message])
    return replace(table, course=course, words={**table.words, message.number: words})


def now(table: Table) -> datetime:
    return BEGAN + timedelta(seconds=11 * (table.course.newest + 1))


def noted(table: Table, due: floor.KeepTime) -> Table:
    note = Message(table.course.newest + 1, Sort.NOTE, note=due.note, after=due.after)
    return heard(table, note, Words(now(table), facts=prompts.facts_of(table)))


def chaired(table: Table, text: str, to: tuple[int, ...] = (), ask: bool = False) -> Table:
    message = Message(table.course.newest + 1, Sort.CHAIR, to=to, wants_answer=ask)
    return heard(table, message, Words(now(table), text))


def steered(table: Table, act: Act, seat: int | None = None) -> Table:
    steer = Steer(len(table.course.steers) + 1, act, seat)
    return with_course(table, steers=[*table.course.steers, steer])


def given(table: Table, turn: Turn) -> Table:
    return with_course(table, turns=[*table.course.turns, turn])


def said(table: Table, turn: Turn, answer: prompts.Answer, continues: int | None = None) -> Table:
    course = table.course
    turns = [replace(one, state=Standing.SPOKEN) if one.number == turn.number else one for one in course.turns]
    steers = [replace(one, done=True) if one.number == turn.steer else one for one in course.steers]
    message = Message(
        number=course.newest + 1,
        sort=Sort.SAID,
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
    words = Words(now(table), answer.content, answer.points, answer.artifact, answer.reasoning)
    return heard(with_course(table, turns=turns, steers=steers), message, words)


def hold(table: Table, answers: Answers, messages: int = 200) -> Table:
    """Until so many have been said, or the debate would close."""
    while True:
        match floor.next_step(table.course):
            case floor.KeepTime() as due:
                table = noted(table, due)
            case floor.Rest():
                table = with_course(table, claim=table.course.claim + 1)
            case floor.Give(turn) if table.course.clock < messages:
                table = given(table, turn)
            case floor.Hear(turn, continues):
                answer = prompts.read_answer(table, turn, answers(table, turn, continues))
                table = said(table, turn, answer, continues)
            case _:
                return table


def next_turn(table: Table) -> Turn:
    """Who would speak next, whatever else is due."""
    while not isinstance(step := floor.next_step(table.course), floor.Give):
        table = noted(table, step) if isinstance(step, floor.KeepTime) else with_course(table, claim=99)
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
