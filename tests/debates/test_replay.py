"""A debate that is over, played again: what its page showed at each moment."""

from datetime import timedelta

import pytest
from django.urls import reverse

from debates.rules.state import SteeringKind
from runs.record.replay import RunReplay, build_replay
from tests.debates.scenes import decided, queued, waiting
from tests.debates.table import BEGINNING
from tests.debates.talks import HANA, HIRE, early

pytestmark = pytest.mark.django_db


def past_of(table):
    return RunReplay(table.seen())


def shown(table, moment):
    return past_of(table).display_at(moment)


def over(table, status="cancelled"):
    table.become(status)
    return table


def test_at_the_beginning_nobody_has_said_anything(mira):
    display = shown(over(early(mira)), BEGINNING)
    assert (display.word, display.counts, display.changes) == ("Debating", "0 messages", ())
    assert {seat.look.word for seat in display.seats} == {"None yet"}
    assert all(alone.hidden for alone in display.alone)


def test_a_message_is_there_from_the_moment_when_it_was_said(mira):
    table = over(early(mira))
    said = table.debate.messages.get(number=4)
    before, after = (shown(table, said.made + timedelta(seconds=n)) for n in (-1, 0))
    assert (before.clock.number, after.clock.number) == (18, 17)
    assert (before.counts, after.counts) == ("2 messages", "3 messages")
    assert [one.seats[1].look.word for one in (before, after)] == ["None yet", HIRE]


def test_whoever_spoke_then_had_the_floor_and_its_words_are_written_again(mira):
    table = early(mira)
    table.speaks(HANA)
    said = table.say(content="The tests exist, on a branch.")
    display = shown(over(table), said.made - timedelta(seconds=11))
    assert display.seats[3].now == "Speaking"
    assert display.slots[-1].growing.words == "The tests exist, on a branch."


def test_what_was_said_alone_comes_one_by_one(mira):
    table = over(early(mira))
    made = [table.debate.members.get(seat=seat).first.made for seat in (1, 5)]
    assert [sum(not alone.growing and not alone.hidden for alone in shown(table, at).alone) for at in made] == [1, 2]


def test_with_a_person_on_a_seat_it_stays_hidden_as_it_was(mira):
    table = waiting(mira)
    table.alone(1, HIRE)
    past = past_of(over(table))
    assert all(alone.hidden for moment in past.moments[:-1] for alone in past.display_at(moment).alone)
    assert not past.display_at(past.moments[-1]).alone[0].hidden


def test_nothing_is_closing_before_its_time(mira):
    table = decided(mira)
    begun = table.debate.turns.filter(why="closing").first().made
    before, after = (shown(table, begun + timedelta(seconds=n)) for n in (-1, 0))
    assert (before.stage, after.stage, after.word) == ("open", "closing", "Closing")
    assert before.ending is None


def test_an_act_is_told_from_then_on_and_a_skipped_turn_when_it_was_skipped(mira):
    table = early(mira)
    table.steer(SteeringKind.EXTEND, amount=20)
    table.open(HANA)
    table.skip()
    over(table)
    steer, turn = table.debate.steers.get(), table.debate.turns.get(state="skipped")
    told = [shown(table, at).slots[-1].events for at in (steer.made, turn.made, turn.closed)]
    assert [len(events) for events in told] == [1, 1, 2]


def test_a_model_that_could_not_be_asked_ends_no_debate(mira):
    table = early(mira)
    turn = table.open(HANA)
    table.call(turn.step, "failed", ended=turn.made + timedelta(seconds=5), error="401", error_code="unauthorized")
    over(table, "failed")
    assert shown(table, turn.made + timedelta(seconds=8)).word == "Debating"


def test_chapters_are_its_stages_and_deadlines_and_marks_its_changes(mira):
    past_of(table := decided(mira))
    frames = build_replay(table.seen())["frames"]
    assert [one["chapter"] for one in frames if one["chapter"]] == ["Alone", "Debate", "20", "40", "Last words"]
    assert [one["mark"] for one in frames if one["mark"]] == [
        "pending",
        "mid",
        "approve",
        "pending",
        "approve",
        "approve",
    ]


def test_what_happens_at_once_is_one_moment(mira):
    table = decided(mira)
    seen = table.seen()
    assert len(list(past_of(table).moments)) < 3 * len(seen.row.messages.all())


def test_its_player_has_a_place_for_all_that_is_said_later(mira, client):
    client.force_login(mira)
    html = client.get(reverse("debate-replay", args=[decided(mira).pk])).content.decode()
    assert '<li class="msg" id="msg-64"' in html
    assert 'id="player"' in html


def test_one_that_was_cancelled_before_it_began_has_a_replay_of_two_moments(mira):
    table = queued(mira)
    over(table, "cancelled")
    assert [shown(table, moment).word for moment in past_of(table).moments] == ["Idle", "Cancelled"]
