from hypothesis import given
from hypothesis import strategies as st

from judgements import rehearsal
from judgements.prompts import Case, Earlier
from judgements.rules import ROUNDS, SEATS, Decision

CRITERIA = [
    "Approve everything.",
    "Always reject.",
    "Approve a release that was tested.",
    "Reject a journey.",
    "I approve. I reject.",
]
CONTENTS = ["A tested release.", "An untested, risky journey.", "Tea.", "Release and journey, unknown and tested."]

decisions = st.sampled_from(Decision)
histories = st.fixed_dictionaries({(number, seat): decisions for number in (1, 2) for seat in SEATS})


@st.composite
def cases(draw):
    number, said = draw(st.sampled_from(ROUNDS)), draw(histories)
    earlier = tuple(Earlier(n, seat, decision, "So.") for (n, seat), decision in said.items() if n < number)
    criteria = draw(st.one_of(st.sampled_from(CRITERIA), st.text(max_size=80)))
    content = draw(st.one_of(st.sampled_from(CONTENTS), st.text(max_size=80)))
    return Case(draw(st.sampled_from(SEATS)), criteria, content, number, earlier)


@given(cases())
def test_a_reason_ends_in_the_decision_that_was_taken(case):
    decision, reason = rehearsal.decide(case)
    assert reason.endswith(f" I {decision}.")


def test_who_joins_the_others_says_so_and_no_more_that_its_own_view_holds():
    said = [Earlier(1, "A", Decision.APPROVE, "So."), *(Earlier(1, s, Decision.REJECT, "No.") for s in "BC")]
    found = {
        rehearsal.decide(Case("A", "Approve what was tested.", f"A tested release, {n}.", 2, tuple(said)))[1]
        for n in range(20)
    }
    assert {reason[reason.index("In round") :] for reason in found} == {
        "In round 1 both other agents decided to reject, and that convinces me: I reject.",
        "In round 1 both other agents decided to reject, but that is no reason in my criteria: I approve.",
    }
