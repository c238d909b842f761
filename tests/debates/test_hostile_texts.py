"""Whatever anybody wrote stays a text: it becomes no element of a request, and moves no field of an answer."""

import json
from dataclasses import replace

from debates import prompts
from debates.prompt_context import PromptDocument, PromptPoint
from debates.rules.state import TurnReason, TurnState
from debates.rules.turn_taking import AddTimekeeperNote

from .held import chaired, noted, opened, own, parsed, said, with_course
from .held import given as giving
from .injections import INJECTIONS

DRAWN = TurnState(99, 2, TurnReason.DRAW)


def twin(text):
    """A debate in which all that somebody could have written is this text."""
    table = noted(
        replace(
            opened(3),
            question=text,
            options=tuple(replace(option, meaning=text) for option in opened().options),
            documents=(PromptDocument("A1", text, (text, text)),),
        ),
        AddTimekeeperNote("opening", 0),
    )
    seats = [replace(seat, name=text) if seat.seat == 1 else seat for seat in table.course.seats]
    table = with_course(table, seats=seats)
    for number, seat in enumerate((1, 2, 3), 1):
        turn = TurnState(number, seat, TurnReason.DRAW)
        point = PromptPoint(text, "HIRE", "for", "A1", 2, "")
        answer = prompts.DebateAnswer(text, points=(point,), verdict="HIRE", reasoning=text)
        table = chaired(said(giving(table, turn), turn, answer), text)
    return table


def shape(table):
    return [
        (one.tag, sorted(one.attrib), len((one.text or "").split("\n")))
        for one in parsed(prompts.member_messages(table, DRAWN)).iter()
    ]


def test_a_hostile_text_changes_nothing_around_it():
    harmless = shape(twin("harmless"))
    assert [text for text in INJECTIONS if not stays_a_text(text, harmless)] == []


def stays_a_text(text, harmless):
    table = twin(text)
    conversation = prompts.member_messages(table, DRAWN)
    lines = [line for one in conversation for line in one["content"].split("\n")]
    marks = [line for line in lines if line.startswith(("BEGIN MATERIAL", "END MATERIAL", "WHO ", "END WHO"))]
    due = [f"{mark} {table.boundary}" for mark in ("WHO", "END WHO", "BEGIN MATERIAL", "END MATERIAL")]
    course, said = table.course, own(conversation)[0]["content"]
    stood = (set(course.verdict_of.values()), course.withdrawn) == ({"HIRE"}, set())
    return (shape(table), marks, said) == (harmless, due, text) and stood


def test_a_hostile_text_in_an_answer_moves_no_field():
    table = twin("harmless")
    read = [
        prompts.read_answer(table, DRAWN, json.dumps({"content": f"I quote: {text} and that is all of it."}))
        for text in INJECTIONS
    ]
    assert {(one.verdict, one.withdrawn, one.to, one.moved_by) for one in read} == {("", False, (), ())}
