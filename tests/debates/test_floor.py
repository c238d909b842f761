"""Who has the floor, and that there is always exactly one answer to it."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debates.rules import state as rules
from debates.rules import turn_taking
from debates.rules.state import MemberStatus, MessageKind, StatementKind, SteeringKind, TurnReason, TurnSettings
from tests.conftest import some_of
from tests.debates.plays import (
    OPTIONS,
    DebatePlay,
    agree,
    ask_on,
    at_random,
    chair,
    course,
    mumble,
    seats,
    silence,
    talk,
)
from tests.debates.strategies import few, whole

DECIDED = {"verdict": OPTIONS[0]}


def waited(play):
    """The most messages between two turns of one member, or before its first."""
    last = dict.fromkeys((one.seat for one in play.course.speakers), 0)
    longest = 0
    for message in play.course.messages_said:
        longest = max(longest, message.clock - last[message.seat] - 1)
        last[message.seat] = message.clock
    return longest


# ---- every course has a next step, and an end -------------------------------------------------------------


@st.composite
def tables(draw):
    switches = {name: draw(st.booleans()) for name in ("reply", "call", "challenge", "first", "free_floor")}
    found = course(draw(st.integers(2, 9)), most=draw(st.integers(4, 44)), **switches)
    return replace(found, seats=[replace(seat, person=seat.seat % 3 == 0) for seat in found.seats])


@whole
@given(tables(), st.integers(0, 2**32), st.sampled_from([0, 0.05, 0.5, 1]), st.sampled_from([0, 0.02, 0.2]))
def test_every_debate_goes_on_to_an_end(table, seed, failing, often):
    die = Random(seed)
    play = DebatePlay(table, at_random(die, failing=failing), act=chair(die, often)).to_the_end()
    found = play.course
    skipped = sum(turn.state == MemberStatus.SKIPPED for turn in found.turns)
    second_parts = sum(message.continues is not None for message in found.messages)
    assert found.clock <= found.most
    assert len(found.given) <= found.most + skipped + second_parts
    assert len(found.closings) <= len(found.voters)
    assert isinstance(play.end, turn_taking.EndForLackOfMembers) or all(
        turn.state != MemberStatus.OPEN for turn in found.turns
    )


@few
@given(tables(), st.integers(0, 2**32))
def test_it_ends_in_time_if_nobody_fails(table, seed):
    play = DebatePlay(
        replace(table, settings=replace(table.settings, free_floor=False)), at_random(Random(seed), failing=0)
    )
    members = len(table.voters)
    assert len(play.to_the_end().course.turns) <= play.course.most + members
    assert isinstance(play.end, turn_taking.EndDebate)


@pytest.mark.parametrize("members", [2, 9])
def test_those_who_always_fail_cost_three_turns_each(members):
    def half(course, turn):
        return talk(course, turn) if turn.seat <= 2 else None

    play = DebatePlay(course(members, most=20), half).to_the_end()
    skipped = [turn.seat for turn in play.course.turns if turn.state == MemberStatus.SKIPPED]
    assert isinstance(play.end, turn_taking.EndDebate)
    assert set(Counter(skipped).values()) <= {3}
    assert len(play.course.turns) <= 20 + 3 * (members - 2) + 2


def test_a_debate_in_which_nobody_can_speak_stops_with_that():
    play = DebatePlay(course(3), silence).to_the_end()
    assert isinstance(play.end, turn_taking.EndForLackOfMembers)
    assert play.course.clock == 0


def test_a_retry_gives_whoever_fell_silent_three_turns_more():
    play = DebatePlay(course(3), silence).to_the_end()
    again = DebatePlay(replace(play.course, series=1), agree).to_the_end()
    assert isinstance(again.end, turn_taking.EndDebate)
    assert again.course.verdict_of == dict.fromkeys([1, 2, 3], "HIRE")


# ---- nobody is left out for long --------------------------------------------------------------------------


def longest_wait(members, answer, **settings):
    tables = [
        course(members, most=60, challenge=False, seed=bytes([seed] * 32), **settings) for seed in some_of(range(10), 3)
    ]
    return max(waited(DebatePlay(table, answer).to_the_end()) for table in tables)


@pytest.mark.parametrize("members", [3, 5, 9])
def test_nobody_is_silent_for_long(members):
    assert longest_wait(members, talk) <= 2 * members + 3
    # a roll call may come before, or much longer answers where everybody asks
    assert longest_wait(members, mumble, reply=False) <= 3 * members + 1
    assert longest_wait(members, ask_on) <= 3 * members + 1


def test_the_longest_silent_is_called_and_the_lower_seat_first():
    play = DebatePlay(course(4, challenge=False, call=False), talk).until(8)
    called = replace(play.course, settings=replace(play.course.settings, call=True))
    silent = [replace(turn, seat=1) for turn in called.turns]
    messages = [replace(one, seat=1) if one.seat else one for one in called.messages]
    step = turn_taking.next_step(replace(called, turns=silent, messages=messages))
    assert (step.turn.why, step.turn.seat) == (TurnReason.CALL, 2)


# ---- replies ----------------------------------------------------------------------------------------------


def asking(*to, wants_answer=True):
    return lambda course, turn: DECIDED | {"to": to, "wants_answer": wants_answer}


def why_next(answer, members=3, **settings):
    step = turn_taking.next_step(DebatePlay(course(members, challenge=False, **settings), answer).until(1).course)
    return step.turn.why, step.turn.seat


def test_who_is_asked_by_name_has_the_floor_next():
    first = why_next(talk)[1]
    speaker = DebatePlay(course(3), talk).until(1).course.messages_said[0].seat
    other = next(seat for seat in (1, 2, 3) if seat not in (speaker, first))
    assert why_next(asking(other)) == (TurnReason.REPLY, other)


@pytest.mark.parametrize(("to", "wants_answer"), [((), True), ((1, 2), True), ((1, 3), False), ((3,), False)], ids=str)
def test_only_a_question_to_one_member_is_a_reply(to, wants_answer):
    assert why_next(asking(*to, wants_answer=wants_answer))[0] == TurnReason.DRAW


def test_the_reply_can_be_switched_off():
    assert why_next(asking(2), reply=False)[0] == TurnReason.DRAW


def test_nobody_is_asked_by_itself():
    assert why_next(lambda course, turn: DECIDED | {"to": (turn.seat,), "wants_answer": True})[0] == TurnReason.DRAW


def test_after_two_replies_somebody_is_drawn():
    whys = DebatePlay(course(3, most=12, challenge=False, call=False), ask_on).to_the_end().whys
    assert whys == [TurnReason.DRAW, TurnReason.REPLY, TurnReason.REPLY] * 4


def test_who_was_asked_by_a_message_is_on_record():
    step = turn_taking.next_step(DebatePlay(course(2, challenge=False), ask_on).until(1).course)
    assert (step.turn.why, step.turn.asked_by) == (TurnReason.REPLY, 2)  # the opening note is message 1


# ---- roll call --------------------------------------------------------------------------------------------


def test_after_a_deadline_those_without_a_verdict_are_called_by_their_seats():
    def some(course, turn):
        return mumble(course, turn) if turn.seat in (2, 4, 5) else talk(course, turn)

    turns = DebatePlay(course(5, most=40), some).until(24).course.given
    assert [turn.seat for turn in turns if turn.why == TurnReason.ROLL_CALL] == [2, 4, 5]
    assert turns[20:23] == [turn for turn in turns if turn.why == TurnReason.ROLL_CALL]


def test_who_fails_in_a_roll_call_is_called_again_only_at_the_next_deadline():
    def absent(course, turn):
        return None if turn.why == TurnReason.ROLL_CALL else {}

    turns = DebatePlay(course(3, most=60), absent).until(41).course.given
    assert [turn.seat for turn in turns if turn.why == TurnReason.ROLL_CALL] == [1, 2, 3, 1, 2, 3]


def test_the_chair_comes_before_a_roll_call():
    play = DebatePlay(course(3, most=60), mumble).until(20)
    play.steer(SteeringKind.ASK, seat=3)
    given = [step.turn for step in play.on() if isinstance(step, turn_taking.GiveTurn)][:4]
    assert [(turn.why, turn.seat) for turn in given] == [
        ("asked", 3),
        ("roll_call", 1),
        ("roll_call", 2),
        ("roll_call", 3),
    ]


# ---- the chair --------------------------------------------------------------------------------------------


def test_the_oldest_question_of_the_chair_is_honoured_first():
    play = DebatePlay(course(4), talk).until(1)
    play.steer(SteeringKind.ASK, seat=4)
    play.steer(SteeringKind.ASK, seat=2)
    given = [step.turn for step in play.on() if isinstance(step, turn_taking.GiveTurn)]
    assert [(turn.seat, turn.steer) for turn in given[:2]] == [(4, 1), (2, 2)]
    assert given[2].why != TurnReason.ASKED


def leaving(*left):
    return lambda course, turn: DECIDED | {"withdrawn": turn.seat in left}


@pytest.mark.parametrize("act", [SteeringKind.ASK, SteeringKind.RECALL])
def test_who_has_withdrawn_is_recalled_once(act):
    play = DebatePlay(course(3, most=40), lambda course, turn: talk(course, turn) | {"withdrawn": turn.seat == 2})
    while 2 not in play.course.withdrawn:
        next(play.on())
    play.steer(act, seat=2)
    play.to_the_end()
    recalled = [turn for turn in play.course.given if turn.seat == 2]
    assert [turn.why for turn in recalled[-1:]] == [TurnReason.ASKED]
    assert [turn.state for turn in recalled] == [MemberStatus.SPOKEN] * 2


def test_who_was_given_up_gets_no_more_turns_and_loses_an_open_one():
    play = DebatePlay(course(3, most=20), talk).until(4)
    seat = next(step.turn.seat for step in play.on() if isinstance(step, turn_taking.GiveTurn))
    play.steer(SteeringKind.GIVE_UP, seat=seat)
    turns = [turn for turn in play.to_the_end().course.turns if turn.number > 4]
    assert [turn.state for turn in turns if turn.seat == seat] == [MemberStatus.SKIPPED]


def test_who_leaves_out_of_turn_stands_by_what_it_said_then():
    play = DebatePlay(course(3, most=40), talk).until(4)
    play.steer(SteeringKind.WITHDRAW, seat=1, verdict="DECLINE")
    assert play.course.verdict_of[1] == "DECLINE"
    play.steer(SteeringKind.RECALL, seat=1)
    play.to_the_end()
    assert play.course.verdict_of[1] == "LATER"  # which it says in its last turn


# ---- the free floor ---------------------------------------------------------------------------------------


def test_who_is_drawn_again_with_nothing_between_goes_on_once():
    play = DebatePlay(course(3, most=40, free_floor=True, call=False, challenge=False), talk).to_the_end()
    parts = [message for message in play.course.messages_said if message.continues]
    by_number = {message.number: message for message in play.course.messages}
    assert parts
    for part in parts:
        first = by_number[part.continues]
        assert (first.number, first.seat, first.continues) == (part.number - 1, part.seat, None)
        assert part.clock is None


def test_a_word_of_the_chair_between_makes_it_a_message_of_its_own():
    play = DebatePlay(
        course(3, most=40, free_floor=True, call=False), talk, act=lambda play: play.say(sort=StatementKind.CHAIR)
    )
    assert [message for message in play.to_the_end().course.messages_said if message.continues] == []


def test_who_is_alone_does_not_continue():
    play = DebatePlay(course(2, free_floor=True, challenge=False), leaving(1)).to_the_end()
    alone = [message for message in play.course.messages_said if message.seat == 2][-2:]
    assert [message.continues for message in alone] == [None, None]


# ---- first verdicts ---------------------------------------------------------------------------------------


def test_models_are_asked_alone_before_the_first_word_and_persons_are_not():
    table = course(3, first=True)
    table = replace(table, seats=[replace(one, person=one.seat == 2) for one in table.seats])
    assert turn_taking.next_step(table) == turn_taking.CollectFirstVerdicts([1, 3])


def test_a_word_of_the_chair_takes_nobody_its_first_verdict():
    play = DebatePlay(course(3, first=True), talk)
    play.say(sort=StatementKind.CHAIR)
    assert turn_taking.next_step(play.course) == turn_taking.CollectFirstVerdicts([1, 2, 3])


# ---- kinds ------------------------------------------------------------------------------------------------


def test_a_witness_answers_and_has_no_verdict(monkeypatch):
    monkeypatch.setitem(rules.TURNS, "witness", TurnSettings(floor=True, counts=True))
    table = replace(course(3, most=40), seats=seats(3, kinds=["witness"]))

    def answer(course, turn):
        return {} if turn.seat == 4 else talk(course, turn)

    found = DebatePlay(table, answer).to_the_end().course
    assert {message.seat for message in found.messages_said} == {1, 2, 3, 4}
    assert [one.seat for one in found.voters] == [1, 2, 3]
    assert {turn.seat for turn in found.closings} == {1, 2, 3}
    assert 4 not in {turn.seat for turn in found.turns if turn.why in (TurnReason.ROLL_CALL, TurnReason.CHALLENGE)}


def test_a_witness_alone_is_no_debate(monkeypatch):
    monkeypatch.setitem(rules.TURNS, "witness", TurnSettings(floor=True, counts=True))
    table = replace(course(2, most=40), seats=seats(2, kinds=["witness"]))

    def answer(course, turn):
        return {} if turn.seat == 3 else DECIDED | {"withdrawn": True}

    assert DebatePlay(table, answer).to_the_end().end == turn_taking.EndDebate(turn_taking.EndReason.ALL_WITHDRAWN)


def test_the_timekeeper_is_never_given_the_floor():
    assert 0 not in {turn.seat for turn in DebatePlay(course(2, most=60), talk).to_the_end().course.turns}
    assert [one.kind for one in course(2).seats] == [MessageKind.TIMEKEEPER, MessageKind.MEMBER, MessageKind.MEMBER]
