"""What is doubted of a debate, and what never is: of one that was held by the rules, whatever people did meanwhile."""

import re
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from debates.entries import validate_entries
from tests.debates.entries import entries_of
from tests.debates.forgeries import FORGED, find, forged, told
from tests.debates.plays import DebatePlay, admitted, at_random
from tests.debates.strategies import whole
from tests.debates.test_floor import tables


@whole
@given(tables(), st.integers(0, 2**32), st.sampled_from([0, 0.05, 0.5, 1]), st.sampled_from([0, 0.02, 0.2]))
def test_no_honest_debate_is_doubted(table, seed, failing, often):
    die = Random(seed)
    table = replace(table, seats=[replace(seat, person=seat.seat % 3 == 0 and seat.seat > 0) for seat in table.seats])
    play = DebatePlay(
        table, at_random(die, failing=failing), act=admitted(die, often), race=admitted(die, often)
    ).to_the_end()
    assert validate_entries(entries_of(play)) == ""


@whole
@given(tables(), st.integers(0, 2**32), st.integers(0, 120))
def test_nor_is_one_that_goes_on(table, seed, steps):
    die = Random(seed)
    play = DebatePlay(table, at_random(die), act=admitted(die, 0.05), race=admitted(die, 0.05))
    for _ in zip(range(steps), play.on(), strict=False):
        pass
    assert validate_entries(entries_of(play)) == ""


# ---- forged -----------------------------------------------------------------------------------------------


def test_what_is_forged_was_honest_before():
    entries = told()
    whys = {one["facts"]["why"] for one in entries if one["kind"] == "debate.turn"}
    assert whys == {"draw", "reply", "roll_call", "call", "asked", "closing"}
    assert validate_entries(entries) == ""


def test_what_cannot_be_is_named():
    doubts = {forge: validate_entries(forged(forge)) for forge in FORGED}
    assert {forge.__name__: said for forge, said in doubts.items() if not re.search(FORGED[forge], said)} == {}


def test_a_weight_is_doubted_also_while_nobody_knows_the_seed():
    entries = told(steps=12)
    find(entries, "debate.turn", why="draw")["weights"][0][1] = 4
    assert "weights of turn 1" in validate_entries(entries)
