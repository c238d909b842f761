from collections import defaultdict
from itertools import product

import pytest

from judgements import rules
from judgements.rules import AgentDecision, Verdict

NINE = list(product([True, False], repeat=9))
TRIOS = list(product([True, False], repeat=3))


def history(*approvals: bool) -> dict[int, AgentDecision]:
    words = [AgentDecision.APPROVE if approval else AgentDecision.REJECT for approval in approvals]
    return dict(enumerate(words, start=1))


def on_paper(trio):
    """The last round alone is half, and so are the first two together."""
    first, second, third = trio
    return Verdict.APPROVED if third or (first and second) else Verdict.REJECTED


def test_every_history_of_an_agent_ends_as_the_rule_says():
    assert [trio for trio in TRIOS if rules.agent_verdict(history(*trio)) != on_paper(trio)] == []


def test_every_history_of_all_agents_ends_as_two_of_three_do():
    verdicts = {nine: [on_paper(nine[start : start + 3]) for start in (0, 3, 6)] for nine in NINE}
    wrong = [n for n, of in verdicts.items() if rules.verdict(trios_of(n)) != max(of, key=of.count)]
    assert wrong == []
    assert sum(rules.verdict(trios_of(nine)) == Verdict.APPROVED for nine in NINE) == 350


def trios_of(nine):
    return {seat: history(*nine[start : start + 3]) for seat, start in zip("ABC", (0, 3, 6), strict=True)}


def middle(values):
    return Verdict.APPROVED if sorted(values)[1] else Verdict.REJECTED


def test_a_round_alone_says_what_its_majority_says():
    alone = [(nine, number) for nine in NINE for number in (1, 2, 3)]
    assert [(n, r) for n, r in alone if rules.verdict_of_round(trios_of(n), r) != middle(n[r - 1 :: 3])] == []


def test_swayed_is_what_the_first_round_alone_would_have_ended_otherwise():
    found = [rules.is_swayed(trios_of(nine)) for nine in NINE]
    assert found == [middle(nine[0::3]) != rules.verdict(trios_of(nine)) for nine in NINE]
    assert found.count(True) == 210


def test_the_last_round_alone_never_approves_what_was_rejected():
    differ = [n for n in NINE if rules.verdict_of_round(trios_of(n), 3) != rules.verdict(trios_of(n))]
    assert {rules.verdict(trios_of(nine)) for nine in differ} == {Verdict.APPROVED}
    assert all(any(rules.is_carried(history) for history in trios_of(nine).values()) for nine in differ)


def test_an_agent_changed_in_each_round_that_differs_from_the_one_before():
    expected = {trio: tuple(n for n in (2, 3) if trio[n - 1] != trio[n - 2]) for trio in TRIOS}
    assert {trio: rules.rounds_with_change(history(*trio)) for trio in TRIOS} == expected


def test_no_change_is_seen_in_a_round_that_is_still_to_come():
    assert rules.rounds_with_change(history(True, False)) == (2,)
    assert rules.rounds_with_change(history(True)) == ()


def test_an_agent_is_carried_only_by_two_approvals_before_a_rejection():
    assert [trio for trio in TRIOS if rules.is_carried(history(*trio))] == [(True, True, False)]


def test_an_agent_is_certain_exactly_where_every_way_on_approves():
    for so_far in (so_far for length in range(4) for so_far in product([True, False], repeat=length)):
        ways = list(product([True, False], repeat=3 - len(so_far)))
        ends = {rules.agent_verdict(history(*so_far, *way)) for way in ways}
        assert rules.is_certain(history(*so_far)) == (len(ways) > 1 and ends == {Verdict.APPROVED}), so_far
        assert len(ways) == 1 or ends != {Verdict.REJECTED}, f"a rejection is never certain: {so_far}"


def test_approval_is_certain_exactly_where_every_way_on_is_approved():
    ends = defaultdict(set)
    for nine, length in product(NINE, range(4)):
        ends[tuple(nine[start : start + length] for start in (0, 3, 6))].add(rules.verdict(trios_of(nine)))
    for so_far, verdicts in ends.items():
        histories = {seat: history(*trio) for seat, trio in zip("ABC", so_far, strict=True)}
        expected = len(so_far[0]) < 3 and verdicts == {Verdict.APPROVED}
        assert rules.approval_certain(histories) == expected, so_far


def test_a_score_of_exactly_one_half_approves():
    assert rules.to_tenths(rules.score(history(True, True, False))) == "0.5"
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
    assert rules.agent_gave_way({"A": history(False, True, True), "B": yes, "C": yes}, "A")
    assert rules.agent_gave_way({"A": history(True, False, False), "B": no, "C": no}, "A")
    assert not rules.agent_gave_way({"A": history(False, True, True), "B": yes, "C": no}, "A")  # on its own
    assert not rules.agent_gave_way({"A": history(True, False, True), "B": no, "C": no}, "A")  # and came back
    assert not rules.agent_gave_way({"A": history(True, True, False), "B": no, "C": no}, "A")  # carried
