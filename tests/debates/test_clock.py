from random import Random

import pytest

from debates.rules.state import NoteKind, StatementKind, SteeringKind
from tests.conftest import some_of
from tests.debates.plays import DebatePlay, at_random, chair, course, talk


def noted(course):
    return [(note.note, note.after) for note in course.notes]


def due(messages):
    """On paper: a word before the first message and after every fourth; every twentieth is a deadline."""
    after = range(4, messages + 1, 4)
    return [(NoteKind.OPENING, 0), *((NoteKind.DEADLINE if m % 20 == 0 else NoteKind.REMINDER, m) for m in after)]


def interjecting(place):
    """Says something at one moment of the debate, whatever happens there."""

    def act(play):
        if len(play.steps) == place:
            play.say(sort=StatementKind.CHAIR)

    return act


def test_a_note_comes_after_every_fourth_message_and_a_deadline_after_every_twentieth():
    for most in (4, 7, 20, 60):
        play = DebatePlay(course(5, most=most), talk).to_the_end()
        assert play.course.clock == min(most, 40)  # nobody changes, so the second deadline is the last
        assert noted(play.course) == due(play.course.clock)


def test_it_goes_on_past_a_deadline_while_members_move():
    def restless(course, turn):
        return {"verdict": ("HIRE", "LATER")[turn.number % 2]}

    play = DebatePlay(course(5, most=200), restless).to_the_end()
    assert noted(play.course) == due(200)


def test_a_word_of_the_chair_moves_no_note():
    moved = []
    for place in some_of(range(59), 30):
        found = DebatePlay(course(3, most=24), talk, act=interjecting(place)).to_the_end().course
        assert sum(message.sort == StatementKind.CHAIR for message in found.messages) == 1
        moved += [place] if noted(found) != due(24) else []
    assert moved == []


@pytest.mark.parametrize("seed", some_of(range(20), 6))
def test_no_note_is_given_twice_or_left_out(seed):
    die = Random(seed)
    play = DebatePlay(course(4, most=40, free_floor=seed % 2 == 0), at_random(die), act=chair(die, 0.3)).to_the_end()
    notes = noted(play.course)
    assert notes == due(notes[-1][1])
    assert play.course.clock - notes[-1][1] < 4


def test_every_message_has_the_next_number_and_every_counted_one_the_next_of_the_clock():
    die = Random(1)
    messages = DebatePlay(course(4, most=40), at_random(die), act=chair(die, 0.3)).to_the_end().course.messages
    assert [one.number for one in messages] == list(range(1, len(messages) + 1))
    counted = [one.clock for one in messages if one.clock]
    assert counted == list(range(1, len(counted) + 1))


def test_a_rest_comes_once_after_each_deadline():
    play = DebatePlay(
        course(5, most=60), lambda course, turn: {"verdict": ("HIRE", "LATER")[turn.number % 2]}
    ).to_the_end()
    names = [type(step).__name__ for step in play.steps]
    deadlines = [n for n, step in enumerate(play.steps) if getattr(step, "note", "") == NoteKind.DEADLINE]
    assert [names[n + 1] for n in deadlines] == ["WaitUntil"] * 3
    assert names.count("WaitUntil") == 3


def test_the_next_deadline_is_never_beyond_the_last_message():
    play = DebatePlay(course(3, most=24), talk)
    left = [play.course.messages_left for step in play.on() if getattr(step, "note", None) is not None]
    assert left == [20, 16, 12, 8, 4, 4, 0]


def test_twenty_messages_more_are_twenty_and_two_hundred_are_the_end():
    play = DebatePlay(course(3, most=190), talk)
    play.steer(SteeringKind.EXTEND, amount=20)
    assert play.course.most == 200
    play = DebatePlay(course(3, most=60), talk)
    play.steer(SteeringKind.EXTEND, amount=20)
    play.steer(SteeringKind.EXTEND, amount=20)
    assert play.course.most == 100
