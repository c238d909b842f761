"""The verifier that others run states draw, clock and rule of a debate a second time: both say the same."""

import json
from dataclasses import replace
from hashlib import sha256
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from debates.rules import lottery
from debates.rules.outcome import DecisionRule, outcome_of
from debates.rules.state import ABSTAIN
from tests.debates.entries import entries_of
from tests.debates.forgeries import FORGED, forged, told
from tests.debates.plays import OPTIONS, DebatePlay, admitted, at_random
from tests.debates.strategies import whole
from tests.debates.test_floor import tables
from tests.tools.offline import verifier

NAMES = [forge.__name__ for forge in FORGED]
# why somebody has the floor, what a member may say and what a model answered is believed: to work that out takes all
# rules and prompts, and `manage.py verify_record` does; so are what a note and the end count
BELIEVED = """
ticket_that_nobody_drew reply_called_a_draw draw_called_a_call asked_by_another_message asked_by_no_act act_deleted
turn_deleted closing_turn_taken_from_a_member message_that_was_skipped skipped_for_an_answer first_verdict_deleted
first_verdict_twice verdict_and_abstention withdrawn_without_a_verdict moved_by_itself moved_by_what_was_said_later
moved_by_a_note heard_before_the_floor_was_given more_messages_allowed ended_by_agreement outcome_of_a_failure
message_after_the_end act_after_the_closing_began more_time_than_there_is member_withdrawn_by_somebody_else
answer_of_nobody answer_that_was_left_out nonsense note_that_miscounts note_that_hides_who_has_none
note_with_a_time_that_was_never_set fewer_messages_at_the_end fewer_turns_at_the_end changes_hidden_at_the_end
member_called_silent_at_the_end look_at_what_was_shown_to_all
""".split()


def problems(entries):
    try:
        return [f"{sentence}{place}" for sentence, place in verifier.check_debate(entries)]
    except verifier.NOT_GENUINE as error:
        return [f"It cannot be read: {error}"]


@whole
@given(tables(), st.integers(0, 2**32), st.sampled_from([0, 0.05, 0.5]), st.sampled_from([0, 0.05]))
def test_no_honest_debate_has_a_problem(table, seed, failing, often):
    die = Random(seed)
    table = replace(table, seats=[replace(seat, person=seat.seat % 3 == 0 and seat.seat > 0) for seat in table.seats])
    play = DebatePlay(table, at_random(die, failing=failing), act=admitted(die, often)).to_the_end()
    assert problems(json.loads(json.dumps(entries_of(play)))) == []


@given(st.sampled_from(list(DecisionRule)), st.lists(st.sampled_from([*OPTIONS, ABSTAIN, ""]), min_size=2, max_size=9))
def test_both_come_to_the_same_outcome(rule, verdicts):
    due, found = outcome_of(rule, OPTIONS, verdicts), verifier.outcome_of(rule, OPTIONS, verdicts)
    assert found == {
        "tally": [[option, count] for option, count in due.tally.items()],
        "abstained": due.abstained,
        "missing": due.missing,
        "base": due.base,
        "no_decision": due.code,
        "outcome": due.word,
    }


@given(st.binary(min_size=32, max_size=32), st.integers(1, 500), st.integers(1, 90))
def test_both_draw_the_same_ticket(seed, number, total):
    assert verifier.ticket_of(seed, number, total) == lottery.ticket(seed, number, total)


def test_a_word_that_was_given_is_in_the_seed():
    entries = told()
    drawn, word = bytes(32), "tulips at noon"
    seed = sha256(drawn + word.encode()).digest()
    entries[0]["texts"]["word"] = word
    entries[0]["facts"]["seed_sha256"] = sha256(seed).hexdigest()
    entries[-1]["facts"] |= {"seed": seed.hex(), "seed_random": drawn.hex()}
    assert not any("seed is not" in problem for problem in problems(entries))
    entries[0]["texts"]["word"] = "roses at noon"
    assert any("seed is not" in problem for problem in problems(entries))


def test_it_finds_what_is_forged_but_what_it_believes():
    assert [forge.__name__ for forge in FORGED if not problems(forged(forge))] == sorted(BELIEVED, key=NAMES.index)
