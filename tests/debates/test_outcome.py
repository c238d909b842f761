import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from debates import prompts
from debates.rules.outcome import NO_DECISION, DecisionRule, outcome_of
from debates.rules.state import ABSTAIN, TURNS, TurnSettings

from .held import hold, opened, with_course, with_settings

OPTIONS = ("YES", "HALF", "NO")
LETTERS = {"y": "YES", "h": "HALF", "n": "NO", "a": ABSTAIN, ".": ""}


def come_to(rule, letters):
    found = outcome_of(rule, OPTIONS, [LETTERS[letter] for letter in letters])
    return found.option or found.code


EXPECTED = {
    "plurality": """
        yyhn.=YES yyhh.=tie yhn=tie yn=tie yy=YES y=too_few yyaa.=quorum yya=YES
    """,
    "majority": """
        yyn=YES yyhn=too_few yynn=tie yyy..=YES yyyaa=YES yy...=quorum yyh..=too_few yynnh=tie aaaaa=quorum
    """,
    "two_thirds": """
        yyn=YES yyyn=YES yyynn=too_few yyyynn=YES yyynnn=tie yyyyyynnn=YES yyyyy....=too_few
    """,
    "unanimous": """
        yyy=YES yya=YES yy.=too_few yyn=too_few yn=tie yaa=quorum
    """,
    "median": """
        yhn=HALF yynnn=NO yyhn=tie yhhn=HALF yynn=tie yha.=quorum yhha.=HALF
    """,
    "none": """
        yyy=no_rule
    """,
}
"""By each rule, what the verdicts of all come to."""


def test_verdicts_come_to_what_the_rule_says():
    rows = [(rule, *row.split("=")) for rule, told in EXPECTED.items() for row in told.split()]
    assert [row for row in rows if come_to(*row[:2]) != row[2]] == []


def test_the_base_is_everybody_whatever_they_said():
    found = outcome_of("majority", OPTIONS, ["YES", "YES", "YES", ABSTAIN, ""])
    assert (dict(found.tally), found.abstained, found.missing, found.base) == ({"YES": 3, "HALF": 0, "NO": 0}, 1, 1, 5)


def test_no_decision_has_a_word_of_its_own():
    assert outcome_of("majority", OPTIONS, ["YES", "NO"]).word == NO_DECISION
    assert outcome_of("majority", OPTIONS, ["NO", "NO"]).word == "NO"


@given(st.sampled_from(list(DecisionRule)), st.text("yhna.", min_size=2, max_size=9))
def test_every_table_comes_to_one_option_or_one_code(rule, letters):
    found = outcome_of(rule, OPTIONS, [LETTERS[letter] for letter in letters])
    assert bool(found.option) != bool(found.code)
    assert sum(found.tally.values()) + found.abstained + found.missing == found.base == len(letters)


@given(st.sampled_from(list(DecisionRule)), st.text("yhna.", min_size=2, max_size=9))
def test_it_matters_to_none_who_sat_where(rule, letters):
    assert come_to(rule, sorted(letters)) == come_to(rule, letters)


@given(st.sampled_from(["plurality", "majority", "two_thirds", "unanimous"]), st.text("yhna.", min_size=2, max_size=9))
def test_one_more_for_what_was_decided_decides_the_same(rule, letters):
    decided = come_to(rule, letters)
    if decided in OPTIONS:
        assert come_to(rule, letters + decided[0].lower()) == decided


@given(st.text("yhna.", min_size=2, max_size=9))
def test_what_a_stricter_rule_decides_a_looser_one_does(letters):
    found = [come_to(rule, letters) for rule in ("two_thirds", "majority", "plurality")]
    decided = [one in OPTIONS for one in found]
    assert decided == sorted(decided)
    assert len({one for one in found if one in OPTIONS}) <= 1


def test_a_witness_that_three_lines_add_is_in_no_tally_and_no_base(monkeypatch):
    monkeypatch.setitem(TURNS, "witness", TurnSettings(floor=True, counts=True))
    monkeypatch.setitem(prompts.LAYERS, "witness", "{you}You are a witness: {who}")
    monkeypatch.setitem(prompts.FORMS, "witness", ("speaking_to", "content", "points"))
    table = opened(3)
    seats = [replace(seat, kind="witness") if seat.seat == 3 else seat for seat in table.course.seats]

    def answers(table, turn, continues):
        stated = {"verdict": "HIRE", "verdict_reasoning": "She led it."} if turn.seat != 3 else {}
        return json.dumps({"content": f"This is what I know, number {turn.number}."} | stated)

    course = hold(with_settings(with_course(table, seats=seats), challenge=False, first=False), answers, 9).course
    found = outcome_of(
        "majority", course.settings.options, [course.verdict_of.get(one.seat, "") for one in course.voters]
    )
    assert 3 in {message.seat for message in course.messages_said}
    assert (found.option, found.tally["HIRE"], found.base, found.missing) == ("HIRE", 2, 2, 0)
