from dataclasses import replace

import pytest

from debates.rules import turn_taking
from debates.rules.state import ABSTAIN, MemberStatus, StatementKind, SteeringKind, TurnReason
from debates.rules.turn_taking import EndReason
from tests.debates.plays import OPTIONS, DebatePlay, agree, course, mumble, talk


def because(play):
    return play.to_the_end().end.because


# ---- agreed, and the challenge ----------------------------------------------------------------------------


def test_one_who_challenges_is_drawn_when_all_agree_first():
    play = DebatePlay(course(3), agree).to_the_end()
    united = next(n for n, turn in enumerate(play.course.given) if turn.why == TurnReason.CHALLENGE)
    spoken = {turn.seat for turn in play.course.given[:united]}
    assert spoken == {1, 2, 3}
    assert play.whys.count(TurnReason.CHALLENGE) == 1
    assert play.course.given[united].weights


def test_all_speak_once_more_after_the_challenge_before_they_have_agreed():
    play = DebatePlay(course(4, most=60), agree).to_the_end()
    challenge = play.course.challenged
    after = {turn.seat for turn in play.course.given if turn.number > challenge.number}
    assert play.end == turn_taking.EndDebate(EndReason.AGREED)
    assert after == {1, 2, 3, 4}


def test_what_is_said_in_a_challenge_is_nobodys_own_verdict():
    def against(course, turn):
        return {"verdict": "DECLINE" if turn.why == TurnReason.CHALLENGE else "HIRE"}

    play = DebatePlay(course(3, most=60), against).to_the_end()
    assert play.end == turn_taking.EndDebate(EndReason.AGREED)
    assert play.course.changes == []


def test_who_changes_after_the_challenge_makes_all_speak_again():
    def convinced(course, turn):
        moved = course.challenged and turn.seat == 1 and turn.number <= course.challenged.number + 3
        return {"verdict": "LATER" if moved else "HIRE"}

    play = DebatePlay(course(3, most=60), convinced).to_the_end()
    last = play.course.changes[-1]
    assert play.end == turn_taking.EndDebate(EndReason.AGREED)
    assert {one.seat for one in play.course.messages_said if one.number > last.number} == {1, 2, 3}


def test_a_challenge_that_nobody_could_put_counts_as_put():
    def mute(course, turn):
        return None if turn.why == TurnReason.CHALLENGE else agree(course, turn)

    play = DebatePlay(course(3, most=60), mute)
    assert because(play) == EndReason.AGREED
    assert play.course.challenged.state == MemberStatus.SKIPPED


def test_without_the_challenge_all_have_agreed_once_all_have_spoken():
    play = DebatePlay(course(4, challenge=False, most=60), agree).to_the_end()
    assert play.end == turn_taking.EndDebate(EndReason.AGREED)
    assert {turn.seat for turn in play.course.given} == {1, 2, 3, 4}
    assert TurnReason.CHALLENGE not in play.whys


def test_those_who_all_abstain_have_agreed_on_nothing():
    play = DebatePlay(course(3, challenge=False, most=20), lambda course, turn: {"verdict": ABSTAIN})
    assert because(play) == EndReason.MOST


# ---- stalemate --------------------------------------------------------------------------------------------


def test_twenty_messages_without_a_change_are_a_stalemate():
    play = DebatePlay(course(3, most=60), talk).to_the_end()
    assert (play.end.because, play.course.clock) == (EndReason.STALEMATE, 40)


def test_a_change_puts_a_stalemate_off():
    def late(course, turn):
        return {"verdict": ABSTAIN} if turn.number == 30 else {} if turn.number > 30 else talk(course, turn)

    play = DebatePlay(course(3, most=100), late).to_the_end()
    assert (play.end.because, play.course.clock) == (EndReason.STALEMATE, 60)


def test_there_is_no_stalemate_while_somebody_has_no_verdict():
    def one(course, turn):
        return None if turn.why == TurnReason.ROLL_CALL else {} if turn.seat == 1 else talk(course, turn)

    assert because(DebatePlay(course(3, most=60), one)) == EndReason.MOST


def test_who_left_out_of_turn_long_ago_puts_no_stalemate_off():
    play = DebatePlay(course(4, most=100), talk).until(8)
    play.steer(
        SteeringKind.WITHDRAW, seat=1, verdict=talk(play.course, replace(play.course.turns[0], seat=1))["verdict"]
    )
    assert (because(play), play.course.clock) == (EndReason.STALEMATE, 40)


# ---- by those at the table --------------------------------------------------------------------------------


def test_when_all_have_withdrawn_it_ends_without_a_closing():
    play = DebatePlay(
        course(3), lambda course, turn: {"verdict": OPTIONS[turn.seat - 1], "withdrawn": True}
    ).to_the_end()
    assert play.end == turn_taking.EndDebate(EndReason.ALL_WITHDRAWN)
    assert play.course.closings == []
    assert play.course.clock == 3


def test_when_all_have_withdrawn_or_fallen_silent_nobody_is_left():
    def answer(course, turn):
        return None if turn.seat == 3 else {"verdict": "HIRE", "withdrawn": True}

    assert because(DebatePlay(course(3), answer)) == EndReason.ALL_WITHDRAWN


def test_fewer_than_two_who_can_speak_are_no_debate():
    def answer(course, turn):
        return None if turn.seat == 2 else {"verdict": "HIRE", "withdrawn": True}

    assert isinstance(DebatePlay(course(2), answer).to_the_end().end, turn_taking.EndForLackOfMembers)


def test_who_is_alone_has_two_turns():
    def answer(course, turn):
        return {"verdict": OPTIONS[turn.seat - 1], "withdrawn": turn.seat != 1}

    play = DebatePlay(course(3), answer).to_the_end()
    assert play.end == turn_taking.EndDebate(EndReason.ALONE)
    assert [turn.seat for turn in play.course.given[-2:]] == [1, 1]
    assert [turn.seat for turn in play.course.closings] == [1]


# ---- by its bounds ----------------------------------------------------------------------------------------


def test_the_last_message_and_its_note_come_before_the_closing():
    play = DebatePlay(course(3, most=12), mumble).to_the_end()
    names = [type(step).__name__ for step in play.steps]
    assert play.end == turn_taking.EndDebate(EndReason.MOST)
    assert names[-5:] == ["AwaitAnswer", "AddTimekeeperNote", "BeginClosing", "CollectClosing", "EndDebate"]


@pytest.mark.parametrize(
    ("bound", "expected"), [({"affords": False}, EndReason.SPEND), ({"late": True}, EndReason.UNTIL)]
)
def test_money_or_time_that_is_over_begins_the_closing(bound, expected):
    play = DebatePlay(course(3), talk).until(6)
    play.course = replace(play.course, **bound)
    assert because(play) == expected
    assert (play.course.clock, len(play.course.closings)) == (6, 3)


def test_time_that_is_over_waits_for_who_has_the_floor():
    play = DebatePlay(course(3), talk).until(5)
    next(step for step in play.on() if isinstance(step, turn_taking.GiveTurn))
    play.course = replace(play.course, late=True)
    assert because(play) == EndReason.UNTIL
    assert play.course.clock == 6


# ---- by the chair -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "said", "closings"),
    [(SteeringKind.CLOSE, 6, 3), (SteeringKind.CLOSE_AT_ONCE, 5, 3), (SteeringKind.END, 5, 0)],
    ids=str,
)
def test_the_chair_closes_after_this_message_or_at_once_or_without_a_closing(act, said, closings):
    play = DebatePlay(course(3), talk).until(5)
    next(step for step in play.on() if isinstance(step, turn_taking.GiveTurn))
    play.steer(act)
    assert because(play) == EndReason.CLOSED
    assert (play.course.clock, len(play.course.closings)) == (said, closings)


def test_the_chair_may_end_a_closing_that_has_begun():
    play = DebatePlay(course(3, most=4), talk)
    next(step for step in play.on() if isinstance(step, turn_taking.BeginClosing))
    play.steer(SteeringKind.END)
    assert because(play) == EndReason.MOST
    assert {turn.state for turn in play.course.closings} == {MemberStatus.SKIPPED}


def test_a_closing_is_never_undone():
    play = DebatePlay(course(3, most=4), talk)
    next(step for step in play.on() if isinstance(step, turn_taking.BeginClosing))
    play.steer(SteeringKind.EXTEND, amount=20)
    assert because(play) == EndReason.MOST
    assert play.course.clock == 4


# ---- the closing ------------------------------------------------------------------------------------------


def test_a_last_word_may_change_a_verdict_and_moves_no_clock():
    def yielding(course, turn):
        return {"verdict": "HIRE" if turn.why == TurnReason.CLOSING else OPTIONS[turn.seat - 1]}

    play = DebatePlay(course(3, most=4), yielding).to_the_end()
    assert set(play.course.verdict_of.values()) == {"HIRE"}
    assert play.course.clock == 4
    assert [one.clock for one in play.course.messages if one.sort == StatementKind.CLOSING] == [None] * 3


def test_all_last_words_are_asked_for_at_once():
    play = DebatePlay(course(4, most=4), mumble)
    begun = next(step for step in play.on() if isinstance(step, turn_taking.BeginClosing))
    assert [turn.seat for turn in begun.turns] == [1, 2, 3, 4]
    assert turn_taking.next_step(play.course) == turn_taking.CollectClosing(list(begun.turns))
