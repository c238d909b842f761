import hmac
from collections import Counter

import pytest

from debates.rules import lottery
from tests.debates.plays import SEED, DebatePlay, course, talk

WEIGHTS = [(10, 10), (10, 7, 3, 1, 1), (1, 1, 1), (10, 9, 8, 7, 6), (1, 10), (10, 1, 5, 2, 9, 4, 8, 3, 6)]
RARE = {1: 10.83, 2: 13.82, 4: 18.47, 8: 26.12}  # 0.1 % of fair draws have more than this, by degrees of freedom
UNUSUAL = 9.49  # 5 % have, with 4 degrees


def chi_square(weights, tickets):
    seats = list(enumerate(weights, 1))
    found = Counter(lottery.draw(ticket, seats) for ticket in tickets)
    expected = {seat: len(tickets) * share / sum(weights) for seat, share in seats}
    return sum((found[seat] - due) ** 2 / due for seat, due in expected.items())


def test_each_is_drawn_as_often_as_its_weight_says():
    for weights in WEIGHTS:
        tickets = [lottery.ticket(SEED, number, sum(weights)) for number in range(10_000)]
        assert chi_square(weights, tickets) < RARE[len(weights) - 1], weights


def test_no_seed_is_better_than_another():
    weights = (10, 7, 3, 1, 1)
    found = [
        chi_square(weights, [lottery.ticket(bytes([seed] * 32), number, 22) for number in range(1, 201)])
        for seed in range(200)
    ]
    assert 0.02 <= sum(value > UNUSUAL for value in found) / 200 <= 0.08


def test_a_ticket_is_the_remainder_of_what_the_seed_says():
    said = int.from_bytes(hmac.new(SEED, b"7.0", "sha256").digest()[:8], "big")
    assert lottery.ticket(SEED, 7, 22) == said % 22


def test_what_would_make_some_tickets_likelier_is_drawn_again(monkeypatch):
    drawn = [2**64 - 1, 2**64 - 2, 5]  # eight bytes hold no whole multiple of 22
    monkeypatch.setattr(lottery, "_bytes", lambda seed, number, k: drawn[k])
    assert lottery.ticket(SEED, 1, 22) == 5


def test_a_ticket_walks_the_seats_in_their_order():
    assert [lottery.draw(ticket, [(2, 1), (5, 3), (9, 1)]) for ticket in range(5)] == [2, 5, 5, 5, 9]


def test_a_ticket_beyond_all_weights_is_nobodys():
    with pytest.raises(ValueError, match="beyond"):
        lottery.draw(5, [(2, 1), (5, 3), (9, 1)])


def test_who_has_spoken_less_is_likelier_and_nobody_is_out():
    assert [lottery.draw_weight(messages) for messages in (0, 1, 8, 9, 10, 100)] == [10, 9, 2, 1, 1, 1]


def test_the_same_seed_gives_the_same_debate():
    first, second = (DebatePlay(course(5, most=60), talk).to_the_end().course for _ in range(2))
    other = DebatePlay(course(5, most=60, seed=bytes(32)), talk).to_the_end().course
    assert first == second
    assert [turn.seat for turn in first.turns] != [turn.seat for turn in other.turns]


def test_a_drawn_turn_says_by_which_weights_and_ticket():
    [turn] = [turn for turn in DebatePlay(course(3), talk).until(1).course.turns]
    assert turn.weights == ((1, 10), (2, 10), (3, 10))
    assert turn.seat == lottery.draw(lottery.ticket(SEED, 1, 30), turn.weights)


def test_whoever_spoke_last_is_not_drawn_unless_the_floor_is_free():
    paused = DebatePlay(course(2, most=60, call=False), talk).to_the_end().course
    free = DebatePlay(course(2, most=60, call=False, free_floor=True), talk).to_the_end().course
    assert all(one.seat != other.seat for one, other in zip(paused.given, paused.given[1:], strict=False))
    assert any(one.seat == other.seat for one, other in zip(free.given, free.given[1:], strict=False))
