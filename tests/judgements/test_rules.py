from itertools import product

import pytest

from judgements import rules
from judgements.rules import Decision, Verdict

NINE = list(product([True, False], repeat=9))


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
