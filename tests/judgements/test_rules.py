from collections import defaultdict
from itertools import product

import pytest

from judgements import rules
from judgements.rules import Decision, Verdict

NINE = list(product([True, False], repeat=9))
TRIOS = list(product([True, False], repeat=3))


def history(*approvals: bool) -> dict[int, Decision]:
    words = [Decision.APPROVE if approval else Decision.REJECT for approval in approvals]
    return dict(enumerate(words, start=1))


@pytest.mark.parametrize("nine", NINE, ids=lambda nine: "".join("ar"[not a] for a in nine))
def test_every_history_ends_as_the_rule_says(nine):
    trios = [nine[0:3], nine[3:6], nine[6:9]]
    # On paper: the last round alone is half, and so are the first two together. Two of three is the middle one.
    expected = [third or (first and second) for first, second, third in trios]
    histories = {seat: history(*trio) for seat, trio in zip("ABC", trios, strict=True)}
    assert [rules.agent_verdict(histories[seat]) == Verdict.APPROVED for seat in "ABC"] == expected
    assert (rules.verdict(histories) == Verdict.APPROVED) == sorted(expected)[1]


def trios_of(nine):
    return {seat: history(*nine[start : start + 3]) for seat, start in zip("ABC", (0, 3, 6), strict=True)}


def middle(values):
    return Verdict.APPROVED if sorted(values)[1] else Verdict.REJECTED


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_round_alone_says_what_its_majority_says(number):
    for nine in NINE:
        assert rules.verdict_of_round(trios_of(nine), number) == middle(nine[number - 1 :: 3])


def test_swayed_is_what_the_first_round_alone_would_have_ended_otherwise():
    found = [rules.swayed(trios_of(nine)) for nine in NINE]
    assert found == [middle(nine[0::3]) != rules.verdict(trios_of(nine)) for nine in NINE]
    assert found.count(True) == 210


def test_the_last_round_alone_never_approves_what_was_rejected():
    differ = [n for n in NINE if rules.verdict_of_round(trios_of(n), 3) != rules.verdict(trios_of(n))]
    assert {rules.verdict(trios_of(nine)) for nine in differ} == {Verdict.APPROVED}
    assert all(any(rules.carried(history) for history in trios_of(nine).values()) for nine in differ)


@pytest.mark.parametrize("trio", TRIOS)
def test_an_agent_changed_in_each_round_that_differs_from_the_one_before(trio):
    expected = tuple(n for n in (2, 3) if trio[n - 1] != trio[n - 2])
    assert rules.changed_in(history(*trio)) == expected


def test_no_change_is_seen_in_a_round_that_is_still_to_come():
    assert rules.changed_in(history(True, False)) == (2,)
    assert rules.changed_in(history(True)) == ()


@pytest.mark.parametrize("trio", TRIOS)
def test_an_agent_is_carried_only_by_two_approvals_before_a_rejection(trio):
    assert rules.carried(history(*trio)) == (trio == (True, True, False))


@pytest.mark.parametrize("so_far", [so_far for n in range(4) for so_far in product([True, False], repeat=n)])
def test_an_agent_is_certain_exactly_where_every_way_on_approves(so_far):
    ways = list(product([True, False], repeat=3 - len(so_far)))
    ends = {rules.agent_verdict(history(*so_far, *way)) for way in ways}
    assert rules.certain(history(*so_far)) == (len(ways) > 1 and ends == {Verdict.APPROVED})
    assert len(ways) == 1 or ends != {Verdict.REJECTED}  # and a rejection is never certain


@pytest.mark.parametrize("length", range(4))
def test_approval_is_certain_exactly_where_every_way_on_is_approved(length):
    ends = defaultdict(set)
    for nine in NINE:
        ends[tuple(nine[start : start + length] for start in (0, 3, 6))].add(rules.verdict(trios_of(nine)))
    for so_far, verdicts in ends.items():
        histories = {seat: history(*trio) for seat, trio in zip("ABC", so_far, strict=True)}
        assert rules.approval_certain(histories) == (length < 3 and verdicts == {Verdict.APPROVED})


def test_350_of_the_512_histories_end_approved():
    trios = [[nine[0:3], nine[3:6], nine[6:9]] for nine in NINE]
    verdicts = [rules.verdict({s: history(*t) for s, t in zip("ABC", trio, strict=True)}) for trio in trios]
    assert verdicts.count(Verdict.APPROVED) == 350


def test_a_score_of_exactly_one_half_approves():
    assert rules.tenths(rules.score(history(True, True, False))) == "0.5"
    assert rules.agent_verdict(history(True, True, False)) == Verdict.APPROVED


def test_no_verdict_is_guessed_while_a_round_is_missing():
    with pytest.raises(ValueError, match="round 3"):
        rules.agent_verdict(history(True, True))


def test_no_verdict_is_guessed_while_an_agent_is_missing():
    with pytest.raises(ValueError, match="agent C"):
        rules.verdict({"A": history(True, True, True), "B": history(True, True, True)})


def test_what_is_still_open_shrinks_with_each_round():
    assert [rules.still_open(history(*[True] * n)) for n in range(4)] == [10, 9, 5, 0]


def test_an_agent_gives_way_where_both_others_had_decided_as_it_then_does():
    yes, no = history(True, True, True), history(False, False, False)
    assert rules.gave_way({"A": history(False, True, True), "B": yes, "C": yes}, "A")
    assert rules.gave_way({"A": history(True, False, False), "B": no, "C": no}, "A")
    assert not rules.gave_way({"A": history(False, True, True), "B": yes, "C": no}, "A")  # on its own
    assert not rules.gave_way({"A": history(True, False, True), "B": no, "C": no}, "A")  # and came back
    assert not rules.gave_way({"A": history(True, True, False), "B": no, "C": no}, "A")  # carried
