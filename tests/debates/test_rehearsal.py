import time
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debates import prompts, rehearsal
from debates.prompt_context import PromptDocument, PromptOption, PromptView
from debates.rules import turn_taking
from debates.rules.state import MessageKind, NoteKind, SeatState, SteeringKind, TurnReason, TurnState

from .held import NAMES, chaired, hold, noted, opened, steered, with_course, with_settings
from .strategies import few, storable


def rehearsed(table, turn, continues=None):
    return rehearsal.message(prompts.member_messages(table, turn, continues))


@cache
def held(members=5, messages=60, **settings):
    return hold(with_settings(opened(members), most=messages, **settings), rehearsed, messages)


def of_members(table):
    return [one for one in table.course.messages_said]


@pytest.mark.slow  # it measures
def test_sixty_messages_take_less_than_three_seconds():
    began = time.process_time()
    held.__wrapped__(9)
    assert time.process_time() - began < 3


def test_the_same_debate_is_rehearsed_the_same_way():
    assert held.__wrapped__(3, 20) == held(3, 20)


def test_each_member_has_a_verdict_with_its_second_message():
    table = held()
    for seat in range(1, 6):
        own = [one for one in of_members(table) if one.seat == seat]
        assert [bool(one.verdict) for one in own[:2]] == [False, True]


def test_every_point_cites_a_line_that_exists_and_says_what_stands_there():
    table = held()
    lines = {document.id: document.lines for document in table.documents}
    points = [point for one in of_members(table) for point in table.words[one.number].points]
    assert len(points) == table.course.clock
    assert all(lines[point.document][point.line - 1] in point.claim for point in points)


def test_members_ask_one_another_and_are_answered():
    replies = [turn for turn in held().course.turns if turn.why == TurnReason.REPLY]
    assert len(replies) > 5


def test_a_change_names_two_cited_points_of_others_and_its_reason_says_so():
    table = held()
    assert len(table.course.changes) > 1
    for change in table.course.changes:
        reasoning = table.words[change.number].reasoning
        assert f"against {change.before}, and that leads me to {change.verdict}." in reasoning
        assert all(str(number) in reasoning for number in change.moved_by)
        assert change.moved_by


def test_what_a_member_says_fits_the_verdict_that_it_states():
    table = held()
    for one in of_members(table):
        if one.verdict:
            words = table.words[one.number]
            assert f"I stand by {one.verdict}." in words.content
            assert one.verdict in words.reasoning
            assert (words.points[0].option, words.points[0].side) == (one.verdict, "for")


def test_nobody_withdraws_before_its_sixth_message():
    table = held(9)
    left = [one for one in of_members(table) if one.withdrawn]
    assert left
    assert table.course.clock == 60
    for one in left:
        assert len([other for other in of_members(table) if other.seat == one.seat and other.number <= one.number]) > 5


def test_every_eighth_message_has_a_table_of_where_all_stand():
    table = held()
    shown = [one.number for one in of_members(table) if table.words[one.number].artifact]
    assert shown == [one.number for one in of_members(table) if one.number % 8 == 0]


@pytest.mark.parametrize(
    ("members", "changed"), [(4, {"free_floor": True}), (2, {"challenge": False}), (2, {"reply": False, "call": False})]
)
def test_every_way_to_hold_a_debate_can_be_rehearsed(members, changed):
    assert held(members, 40, **changed).course.clock > 8


def test_the_view_of_the_minutes_can_be_rehearsed():
    table = hold(replace(with_settings(opened(4), most=40), view=PromptView.MINUTES), rehearsed, 40)
    assert table.course.clock > 20


@few
@given(st.lists(storable, min_size=8, max_size=8, unique=True), st.sampled_from(PromptView))
def test_every_answer_is_valid_whatever_the_texts_are(hostile, view):
    one, other, name, who, title, *lines = hostile
    table = with_settings(opened(3), options=(one, other), most=12)
    seats = [
        SeatState(0, "Timekeeper", MessageKind.TIMEKEEPER),
        SeatState(1, name),
        SeatState(2, NAMES[1]),
        SeatState(3, NAMES[2]),
    ]
    table = replace(
        with_course(table, seats=seats),
        question=title,
        options=(PromptOption(one, who), PromptOption(other, title)),
        documents=(PromptDocument("A1", title, lines),),
        who={seat: who for seat in (1, 2, 3)},
        view=view,
    )
    held = hold(table, rehearsed, 12)
    assert held.course.clock > 3
    assert prompts.read_first(held, 1, rehearsal.first(prompts.first_verdict_messages(held, 1))).verdict in (one, other)


def test_without_documents_a_claim_is_called_an_assumption():
    table = hold(replace(with_settings(opened(3), most=8), documents=()), rehearsed, 8)
    assert all("An assumption" in table.words[one.number].points[0].claim for one in of_members(table))


def test_an_asked_and_a_recalled_member_speak():
    table = chaired(held(3, 8), "What do you make of it, Hana?", to=(3,), ask=True)
    table = hold(with_settings(steered(table, SteeringKind.ASK, 3), most=12), rehearsed, 12)
    assert "The chair asks" in table.words[next(m.number for m in of_members(table) if m.clock == 9)].content


def test_a_roll_call_is_answered_with_a_verdict():
    table = noted(opened(3), turn_taking.AddTimekeeperNote(NoteKind.OPENING, 0))
    turn = TurnState(1, 2, TurnReason.ROLL_CALL)
    assert prompts.read_answer(table, turn, rehearsed(table, turn)).verdict


def test_a_challenge_is_put_against_what_all_believe():
    table = held(2, 60)
    challenge = next(turn for turn in table.course.turns if turn.why == TurnReason.CHALLENGE)
    message = next(one for one in of_members(table) if one.turn == challenge.number)
    point = table.words[message.number].points[0]
    assert (point.side, message.verdict) == ("against", "")


@pytest.mark.parametrize("turns", [3, 30])
def test_a_closing_states_the_verdict_that_stands_and_another_only_where_there_is_none(turns):
    table = held(5, turns)
    for seat in table.course.active_voters:
        turn = TurnState(99, seat, TurnReason.CLOSING, table.course.newest)
        answer = prompts.read_answer(table, turn, rehearsal.closing(prompts.member_messages(table, turn)))
        assert answer.verdict == table.course.verdict_of.get(seat, answer.verdict) != ""
        assert answer.verdict in answer.content


def test_a_first_verdict_is_the_one_that_is_stated_later():
    table = held()
    for seat in range(1, 6):
        first = prompts.read_first(table, seat, rehearsal.first(prompts.first_verdict_messages(table, seat)))
        own = [one.verdict for one in of_members(table) if one.seat == seat and one.verdict]
        assert own[0] == first.verdict
        assert 50 <= first.confidence <= 95


@pytest.mark.parametrize("kind", NoteKind)
def test_the_timekeeper_says_the_stated_sentences_again(kind):
    table = held(9, 16)
    facts = prompts.note_facts(table)
    stated = prompts.note_sentences(kind, facts, table.names)
    words = prompts.read_words(table, stated, rehearsal.timekeeper(prompts.timekeeper_messages(table, 0, kind, facts)))
    assert stated.startswith(words)


def test_every_seventeenth_answer_is_cut_and_its_rest_is_what_was_left_out():
    table = held(5, 24)
    while table.course.newest < 33:
        table = chaired(table, "Go on, please.")
    turn = TurnState(99, 2, TurnReason.DRAW, 33)
    request = prompts.member_messages(table, turn)
    part, whole = rehearsal.continue_message(request), rehearsal.message(request)
    assert part
    with pytest.raises(ValueError, match="not one JSON object"):
        prompts.read_answer(table, turn, part)
    rest = rehearsal.message(prompts.continuation_messages(request, [part]))
    assert prompts.read_answer(table, turn, prompts.join_parts([part, rest])) == prompts.read_answer(table, turn, whole)
    assert not rehearsal.continue_message(prompts.continuation_messages(request, [part]))


def test_most_answers_come_whole():
    table = held(3, 8)
    assert rehearsal.continue_message(prompts.member_messages(table, TurnState(9, 1, TurnReason.DRAW))) == ""


def test_a_request_of_another_kind_is_none_of_a_debate():
    with pytest.raises(ValueError, match="substring not found"):
        rehearsal.message([{"role": "system", "content": "Judge."}, {"role": "user", "content": "This."}])
