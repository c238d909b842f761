"""What somebody with the whole database could do to the rows of a debate: every case stands in `CASES`."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from debates.models import (
    DebateMember,
    DebateMessage,
    DebateOption,
    DebateTurn,
    FirstVerdict,
    MessagePoint,
    SteeringAction,
)
from engine.models import ModelCall
from tests.corpus.means import sql

Case = Callable[[UUID], Any]
CASES: dict[str, Case] = {}
"""All hashes stay as they were: what a row says is no longer what was sealed."""


def row(model: Any, debate: UUID, place: int = 0, **known: Any) -> Any:
    """One row of a debate that is as known, in the order of their keys."""
    whose = {FirstVerdict: "member__debate", MessagePoint: "message__debate", ModelCall: "run"}.get(model, "debate")
    return model.objects.filter(**{whose: debate}, **known).order_by("pk")[place]


def change(found: Any, column: str, value: Any) -> None:
    sql(f"UPDATE {found._meta.db_table} SET {column} = %s WHERE id = %s", value, found.pk)


def of_debate(column: str, value: Any) -> Case:
    return lambda pk: sql(f"UPDATE debates_debate SET {column} = %s WHERE run_id = %s", value, pk)


def of_run(column: str, value: Any) -> Case:
    return lambda pk: sql(f"UPDATE engine_run SET {column} = %s WHERE id = %s", value, pk)


def of(model: Any, column: str, value: Any, **known: Any) -> Case:
    return lambda pk: change(row(model, pk, **known), column, value(pk) if callable(value) else value)


def seat(number: int) -> Callable[[UUID], int]:
    return lambda pk: DebateMember.objects.get(debate=pk, seat=number).pk


def option(number: int) -> Callable[[UUID], int]:
    return lambda pk: DebateOption.objects.get(debate=pk, number=number).pk


def deleted(table: str, model: Any, **known: Any) -> Case:
    return lambda pk: sql(f"DELETE FROM {table} WHERE id = %s", row(model, pk, **known).pk)


SAID = {"kind": "said", "number__gt": 4}
DRAWN = {"why": "draw", "number__gt": 2}

CASES |= {
    "question": of_debate("question", "Shall we fire her?"),
    "title": of_run("title", "Another case"),
    "rule": of_debate("rule", "none"),
    "most_messages": of_debate("most", 40),
    "a_switch": of_debate("challenge", False),
    "view": of_debate("view", "minutes"),
    "boundary": of_debate("boundary", "ab" * 8),
    "prompt_version": of_debate("prompt_version", "9"),
    "seed": of_debate("seed", "11" * 32),
    "drawn_part_of_the_seed": of_debate("seed_random", "11" * 32),
    "word_against_a_chosen_seed": of_debate("seed_word", "roses at noon"),
    "outcome": of_run("outcome", "DO NOT HIRE"),
    "reason_for_no_decision": of_debate("no_decision", "quorum"),
    "why_it_ended": of_debate("ended_because", "closed"),
    "word_of_an_option": of(DebateOption, "word", "HIRE AT ONCE", number=1),
    "meaning_of_an_option": of(DebateOption, "meaning", "Send her away.", number=1),
    "order_of_options": of(DebateOption, "number", 7, number=1),
    "name_of_a_member": of(DebateMember, "name", "Somebody", seat=2),
    "description_of_a_member": of(DebateMember, "who", "Looks away.", seat=2),
    "model_of_a_member": of(DebateMember, "model", "openai/z", seat=2),
    "model_of_the_timekeeper": of(DebateMember, "model", "openai/z", seat=0),
    "first_verdict": of(FirstVerdict, "abstained", True, abstained=False),
    "reason_of_a_first_verdict": of(FirstVerdict, "reasoning", "None."),
    "confidence": of(FirstVerdict, "confidence", 1),
    "who_had_the_floor": of(DebateTurn, "member_id", seat(4), **DRAWN, member__seat__lt=4),
    "why_one_had_it": of(DebateTurn, "why", "call", **DRAWN),
    "ticket": of(DebateTurn, "ticket", 1_000, **DRAWN),
    "weights": of(DebateTurn, "weights", "[[1, 10], [2, 1]]", **DRAWN),
    "what_was_heard_before_a_turn": of(DebateTurn, "after", 2, **DRAWN),
    "content": of(DebateMessage, "content", "I take it all back.", **SAID),
    "clock": of(DebateMessage, "clock", 99, **SAID),
    "verdict": lambda pk: change(stated(pk), "verdict_id", other_option(pk)),
    "abstention": of(DebateMessage, "abstained", True, **SAID, verdict=None),
    "reasoning": lambda pk: change(stated(pk), "reasoning", "No reason."),
    "what_moved_it": of(DebateMessage, "moved_by", "[2, 3]", **SAID),
    "to_whom": of(DebateMessage, "speaking_to", "[3]", **SAID, speaking_to=[]),
    "a_question": of(DebateMessage, "expects_answer", True, **SAID, expects_answer=False),
    "withdrawal": of(DebateMessage, "withdrawn", True, **SAID, withdrawn=False),
    "what_its_member_had_heard": of(DebateMessage, "heard", 1, **SAID),
    "answers_that_it_took": of(DebateMessage, "calls", "[]", **SAID),
    "claim": of(MessagePoint, "claim", "She has never led anybody."),
    "side_of_a_point": of(MessagePoint, "side", "against", side="for"),
    "words_of_a_note": of(DebateMessage, "content", "Hire her.", kind="note"),
    "facts_of_a_note": of(DebateMessage, "facts", '{"said": 1}', kind="note", note="reminder"),
    "moment_of_a_note": of(DebateMessage, "after", 3, kind="note", note="reminder"),
    "words_of_the_chair": of(DebateMessage, "content", "Hire her.", kind="chair"),
    "smaller_words_of_the_chair": of(DebateMessage, "content", "Think of nothing.", kind="chair"),
    "name_of_the_chair": of(DebateMessage, "by_name", "noor", kind="chair"),
    "option_that_the_chair_named": of(DebateMessage, "names_option", True, kind="chair"),
    "act_of_the_chair": of(SteeringAction, "act", "close", act="ask"),
    "messages_that_the_chair_gave": of(SteeringAction, "amount", 40, act="extend"),
    "who_was_asked": of(SteeringAction, "member_id", seat(3), act="ask"),
    "who_steered": of(SteeringAction, "by_name", "noor"),
    "raw_answer": lambda pk: change(answer(pk), "answer", "{}"),
    "prompt": lambda pk: change(answer(pk), "prompt", "[]"),
    "point_deleted": deleted("debates_point", MessagePoint),
    "note_deleted": deleted("debates_message", DebateMessage, kind="note", note="reminder"),
    "word_of_the_chair_deleted": deleted("debates_message", DebateMessage, kind="chair"),
    "first_verdict_deleted": deleted("debates_firstverdict", FirstVerdict),
    "steer_deleted": deleted("debates_steer", SteeringAction, act="extend"),
    "turn_called_skipped": of(DebateTurn, "state", "skipped", **DRAWN),
}


def stated(pk: UUID) -> DebateMessage:
    return row(DebateMessage, pk, kind="said", verdict__isnull=False)


def other_option(pk: UUID) -> int:
    return DebateOption.objects.filter(debate=pk).exclude(pk=stated(pk).verdict_id)[0].pk


def answer(pk: UUID) -> ModelCall:
    return row(ModelCall, pk, step="turn-3")


def case(do: Case) -> Case:
    CASES[do.__name__] = do
    return do


@case
def message_deleted(pk: UUID) -> None:
    message = row(DebateMessage, pk, **SAID)
    sql("DELETE FROM debates_point WHERE message_id = %s", message.pk)
    sql("DELETE FROM debates_message WHERE id = %s", message.pk)


@case
def word_of_the_chair_inserted(pk: UUID) -> None:
    DebateMessage.objects.create(debate_id=pk, number=99, kind="chair", by_name="mira", content="Hire her.")


@case
def point_inserted(pk: UUID) -> None:
    MessagePoint.objects.create(
        message=row(DebateMessage, pk, **SAID), number=9, claim="She is late.", option="HIRE", side="against"
    )


@case
def act_inserted(pk: UUID) -> None:
    SteeringAction.objects.create(debate_id=pk, number=9, by_name="mira", act="close")


@case
def contents_of_two_messages_swapped(pk: UUID) -> None:
    one, other = row(DebateMessage, pk, **SAID), row(DebateMessage, pk, 1, **SAID)
    change(one, "content", other.content)
    change(other, "content", one.content)


REWRITTEN = {
    "ticket": "The ticket of turn",
    "weights": "The weights of turn",
    "why_one_had_it": "was given as “call”",
    "what_was_heard_before_a_turn": "still open|Turn [0-9]+",
    "clock": "The clock of message",
    "moment_of_a_note": "by the rules a reminder after 4",
    "content": "answered otherwise than it says",
    "verdict": "by the rule|answered otherwise",
    "what_moved_it": "answered otherwise|had not heard",
    "what_its_member_had_heard": "had not heard",
    "first_verdict": "answered otherwise than its first verdict says",
    "raw_answer": "answered otherwise than it says",
    "claim": "answered otherwise than it says",
    "outcome": "The outcome is DO NOT HIRE",
    "why_it_ended": "ended|The closing began",
    "rule": "The outcome is|The tally",
    "act_of_the_chair": "Turn [0-9]+|The closing",
    "answers_that_it_took": "The answer of turn",
    "words_of_a_note": "The timekeeper's model did not say",
    "prompt": "is not what it had to follow",
    "question": "or not what was asked",
    "meaning_of_an_option": "or not what was asked",
    "description_of_a_member": "is not what it had to follow",
    "name_of_a_member": "is not what it had to follow|answered otherwise",
    "boundary": "is not what it had to follow",
    "words_of_the_chair": "Whether the chair named an option",
    "smaller_words_of_the_chair": "has another message [0-9]+ than the record",
    "facts_of_a_note": "facts of note [0-9]+ are not those of its moment",
    "option_that_the_chair_named": "Whether the chair named an option",
}
"""What is doubted of a debate although entries, log and checkpoints were written anew, with the very key."""
