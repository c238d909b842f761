import json
from dataclasses import replace

import pytest

from debates import prompts
from debates.prompt_context import PromptArtifact, PromptPoint, PromptView
from debates.rules import state
from debates.rules.state import TurnReason, TurnState
from engine.llm.own_words import not_own

from .held import chaired, given, opened, said

GOOD = {
    "speaking_to": ["Rajiv Menon"],
    "expects_answer": True,
    "content": "What do you make of the letter?",
    "points": [],
    "artifact": None,
    "verdict": "",
    "verdict_reasoning": "",
    "moved_by": [],
    "withdrawn": False,
}
POINT = {"claim": "She led it.", "option": "HIRE", "side": "for", "document": "A1", "line": 3, "answers": ""}
TABLE = {"title": "Years", "kind": "bars", "text": "", "columns": ["Year", "People"], "rows": [["2024", "7"]]}

LONG = "I have counted the groups that she led, one by one, and there are seven of them in all."
ILSE = TurnState(9, 1, TurnReason.DRAW)
"""The turn that is asked about, where nothing else is said."""


def spoken():
    """Ilse stands by HIRE since message 1, Rajiv by nothing; message 3 is the chair's, and has no point."""
    table = opened(3)
    point = PromptPoint("She led it.", "HIRE", "for", "A1", 3)
    for turn, answer in (
        (
            TurnState(1, 1, TurnReason.DRAW),
            prompts.DebateAnswer(LONG, verdict="HIRE", reasoning="She led it.", points=(point,)),
        ),
        (TurnState(2, 2, TurnReason.DRAW), prompts.DebateAnswer("I doubt the letter that she wrote.")),
    ):
        table = said(given(table, turn), turn, answer)
    return chaired(table, "Say more about the letter.")


def read(turn=ILSE, table=None, **changed):
    return prompts.read_answer(table or spoken(), turn, json.dumps(GOOD | changed))


def test_a_good_answer_is_read_with_seats_for_names():
    answer = read(points=[POINT | {"answers": "1.1"}], artifact=TABLE)
    assert (answer.to, answer.wants_answer, answer.content) == ((2,), True, "What do you make of the letter?")
    assert answer.points == (PromptPoint("She led it.", "HIRE", "for", "A1", 3, "1.1"),)
    assert answer.artifact == PromptArtifact("Years", "bars", columns=("Year", "People"), rows=(("2024", "7"),))


def test_everyone_is_nobody_alone():
    assert read(speaking_to=["everyone"]).to == read(speaking_to=["Hana Kubo", "everyone"]).to == state.EVERYONE


def test_an_empty_verdict_keeps_the_former_one():
    assert read(verdict="").verdict == ""


def test_what_is_missing_or_null_is_none():
    answer = prompts.read_answer(spoken(), ILSE, '{"content": "Nothing but words.", "points": null}')
    assert answer == prompts.DebateAnswer("Nothing but words.")


def test_a_change_has_its_reason_and_what_moved_it():
    answer = read(verdict="DO NOT HIRE", verdict_reasoning="He is right.", moved_by=[3, 2, 3])
    assert (answer.verdict, answer.reasoning, answer.moved_by) == ("DO NOT HIRE", "He is right.", (3, 2))


def test_a_verdict_said_again_moves_nothing():
    assert read(verdict="HIRE", verdict_reasoning="", moved_by=[2]) == read(verdict="")
    assert read(verdict="HIRE", verdict_reasoning="As I said.", moved_by=[2]).moved_by == ()


def test_withdrawing_needs_a_verdict_then_or_before():
    assert read(withdrawn=True).withdrawn
    assert read(
        TurnState(9, 2, TurnReason.DRAW),
        speaking_to=[],
        withdrawn=True,
        verdict="ABSTAIN",
        verdict_reasoning="I know her.",
    )


def test_the_verdict_of_a_challenge_is_nobody_s_own():
    answer = read(
        TurnState(9, 1, TurnReason.CHALLENGE), verdict="DO NOT HIRE", verdict_reasoning="For once.", moved_by=[2]
    )
    assert (answer.verdict, answer.reasoning, answer.moved_by) == ("", "", ())


def test_texts_are_cut_and_their_control_characters_seen():
    answer = read(content="so it is " * 900 + "\x00", verdict="ABSTAIN", verdict_reasoning="no \ud800 way")
    assert len(answer.content) == 4000
    assert answer.reasoning == "no \\ud800 way"


UNUSABLE = {
    "an unknown name": (
        {"speaking_to": ["Nobody"]},
        "You cannot speak to “Nobody”. Name one or more of Rajiv Menon and",
    ),
    "oneself": ({"speaking_to": ["Ilse Brandt"]}, "You cannot speak to “Ilse Brandt”."),
    "the chair": ({"speaking_to": ["Chair"]}, "You cannot speak to “Chair”."),
    "another case": ({"speaking_to": ["rajiv menon"]}, "You cannot speak to “rajiv menon”."),
    "no words": ({"content": "Yes."}, "less than two words"),
    "an unknown option": (
        {"verdict": "MAYBE"},
        "“MAYBE” is none of the options. A verdict is HIRE, HIRE ON CONDITIONS",
    ),
    "an option in lower case": ({"verdict": "hire"}, "“hire” is none of the options."),
    "no decision": ({"verdict": "no_decision"}, "“no_decision” is none of the options."),
    "a change without a reason": ({"verdict": "DO NOT HIRE"}, "You state the verdict DO NOT HIRE without a reason."),
    "a reason of one word": ({"verdict": "ABSTAIN", "verdict_reasoning": "No."}, "without a reason"),
    "an own message": ({"moved_by": [1]}, "Message 1 is your own"),
    "a later message": ({"moved_by": [4]}, "You have heard no message 4 of another member"),
    "an endless message": ({"moved_by": [10**100]}, "You have heard no message 1000"),
    "the same again": (
        {"content": f"{LONG} Indeed."},
        "You have said this in message 1. Say what is new, or withdraw.",
    ),
    "four points": ({"points": [POINT] * 4}, "A message has at most 3 points; yours has 4."),
    "a line too far": ({"points": [POINT | {"line": 240}]}, "A1 has 24 lines; you cited line 240."),
    "a line before the first": ({"points": [POINT | {"line": -1}]}, "A1 has 24 lines; you cited line -1."),
    "an unknown document": ({"points": [POINT | {"document": "A9"}]}, "no document “A9”. There are A1 and A2."),
    "a line of nothing": ({"points": [POINT | {"document": ""}]}, "You cited line 3, but no document."),
    "an unknown point": ({"points": [POINT | {"answers": "2.1"}]}, "There is no point “2.1” to answer."),
    "an unknown side": ({"points": [POINT | {"side": "both"}]}, "“for” or “against”, not “both”"),
    "a point for nothing": (
        {"points": [POINT | {"option": "ABSTAIN"}]},
        "“ABSTAIN” of a point is none of the options.",
    ),
    "a point without a claim": ({"points": [POINT | {"claim": "-"}]}, "A point claims nothing"),
    "an unknown artifact": ({"artifact": TABLE | {"kind": "film"}}, "not “film”"),
    "a long table": ({"artifact": TABLE | {"rows": [["a", "1"]] * 21}}, "at most 20 rows of 6 cells"),
    "a wide table": ({"artifact": TABLE | {"columns": list("abcdefg"), "rows": []}}, "at most 20 rows of 6 cells"),
    "an uneven table": ({"artifact": TABLE | {"rows": [["a"]]}}, "one cell for each of its columns"),
    "bars without numbers": ({"artifact": TABLE | {"rows": [["a", "b"]]}}, "a number in the last of its columns"),
    "a field too many": ({"vote": "HIRE"}, "The answer does not have the agreed form at “vote”"),
    "a text for a number": ({"moved_by": ["2"]}, "The answer does not have the agreed form at “moved_by.0”"),
    "a number for a truth": ({"withdrawn": 1}, "The answer does not have the agreed form at “withdrawn”"),
}


def test_what_cannot_be_used_is_told_in_a_sentence():
    for changed, sentence in UNUSABLE.values():
        with pytest.raises(ValueError, match=r"\.$") as problem:
            read(**changed)
        assert sentence in str(problem.value)


NO_ANSWER = {
    "prose": "I vote HIRE.",
    "empty": "",
    "two": json.dumps(GOOD) * 2,
    "a list": "[]",
    "null": "null",
    "cut off": json.dumps(GOOD)[:-3],
    "very deep": "[" * 100_000,
    "a number without end": '{"content": "So it is.", "moved_by": [' + "9" * 5000 + "]}",
    "a key twice": '{"content": "So it is.", "verdict": "HIRE", "verdict": "DO NOT HIRE"}',
    "no content": '{"verdict": "HIRE", "verdict_reasoning": "She led it."}',
}


def test_an_answer_of_another_form_is_unusable():
    for text in NO_ANSWER.values():
        with pytest.raises(ValueError, match=r"^The answer .*\.$"):
            prompts.read_answer(spoken(), ILSE, text)


def test_a_text_of_its_own_is_cut_at_four_thousand_characters():
    text = {"title": "Notes", "kind": "text", "text": "ab " * 2_000, "columns": [], "rows": []}
    kept = read(artifact=text).artifact.text
    assert 3_990 < len(kept) <= 4_000
    assert kept.rstrip("…").strip() in text["text"]


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(ValueError, match=r"“Nobody”.*less than two words|less than two words.*“Nobody”"):
        read(content="Yes.", speaking_to=["Nobody"])


def test_one_without_a_verdict_cannot_withdraw():
    with pytest.raises(ValueError, match="only with a verdict or an abstention"):
        read(TurnState(9, 2, TurnReason.DRAW), speaking_to=[], withdrawn=True)


@pytest.mark.parametrize("why", [TurnReason.ROLL_CALL, TurnReason.CLOSING])
def test_a_roll_call_and_a_closing_want_a_verdict_of_whoever_has_none(why):
    words = {"content": "I still cannot say."}
    if why == TurnReason.ROLL_CALL:
        words |= {"speaking_to": []}
    sentence = "You have no verdict yet. State one of HIRE, HIRE ON CONDITIONS, DO NOT HIRE or ABSTAIN, and say why."
    with pytest.raises(ValueError, match=sentence):
        prompts.read_answer(spoken(), TurnState(9, 2, why), json.dumps(words))
    assert prompts.read_answer(spoken(), TurnState(9, 1, why), json.dumps(words)).verdict == ""


def test_a_closing_may_say_again_what_was_said():
    assert (
        prompts.read_answer(spoken(), TurnState(9, 1, TurnReason.CLOSING), json.dumps({"content": LONG})).content
        == LONG
    )


def test_what_was_said_after_a_closing_began_moves_nobody_in_it():
    table = spoken()
    late = {"content": "My last word.", "verdict": "ABSTAIN", "verdict_reasoning": "So be it.", "moved_by": [3]}
    assert prompts.read_answer(table, TurnState(9, 1, TurnReason.CLOSING, after=3), json.dumps(late)).moved_by == (3,)
    with pytest.raises(ValueError, match="You have heard no message 3"):
        prompts.read_answer(table, TurnState(9, 1, TurnReason.CLOSING, after=2), json.dumps(late))


def test_a_quoted_tag_is_a_quotation():
    answer = read(content="He wrote <Withdrawn>true</Withdrawn> and <Verdict>DO NOT HIRE</Verdict>.")
    assert (answer.verdict, answer.withdrawn) == ("", False)


def test_in_the_minutes_nobody_knows_its_own_messages():
    letters = replace(spoken(), view=PromptView.MINUTES)
    answer = read(
        table=letters, speaking_to=["Member B"], verdict="ABSTAIN", verdict_reasoning="So be it.", moved_by=[1, 2]
    )
    assert (answer.to, answer.moved_by) == ((2,), (2,))


# ---- first verdicts and the timekeeper --------------------------------------------------------------------


def test_a_first_verdict_is_read_with_its_confidence():
    text = '{"verdict_reasoning": "She led it.", "verdict": "HIRE", "confidence": 70}'
    answer = prompts.read_first(spoken(), 1, text)
    assert (answer.verdict, answer.reasoning, answer.confidence) == ("HIRE", "She led it.", 70)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"verdict": ""}, "There is no verdict. State one of"),
        ({"verdict": "MAYBE"}, "“MAYBE” is none of the options."),
        ({"verdict_reasoning": "Yes."}, "less than two words"),
        ({"confidence": 101}, "from 0 to 100"),
    ],
)
def test_a_first_verdict_that_is_none_is_told(changed, sentence):
    fields = {"verdict_reasoning": "She led it.", "verdict": "HIRE", "confidence": 70} | changed
    with pytest.raises(ValueError, match=sentence):
        prompts.read_first(spoken(), 1, json.dumps(fields))


STATED = "8 of 60 messages, 12 to the deadline: the clock is ticking. No verdict yet: Hana Kubo."


def test_a_timekeeper_may_say_the_facts_in_its_words():
    words = "Eight letters further on, friends; Hana Kubo, what do you say?"
    assert prompts.read_words(spoken(), STATED, json.dumps({"words": words})) == words


def test_a_timekeeper_that_names_an_option_is_not_heard():
    for words in ("HIRE is right.", "Let us hire, friends.", f"{STATED} I would do not hire."):
        with pytest.raises(ValueError, match="a timekeeper names none"):
            prompts.read_words(spoken(), STATED, json.dumps({"words": words}))


def test_an_option_in_a_stated_sentence_is_nobody_s_opinion():
    stated = "No verdict yet: Hire Woods."
    assert prompts.read_words(spoken(), stated, json.dumps({"words": f"{stated} Hurry!"}))


NUMBERS = {"31": 31, "1,500": 1500, "1,5": 1.5, "1'000.25": 1000.25, "−3 %": -3, "+7": 7, " 12 000 ": 12000}
NUMBERS |= dict.fromkeys(("", "seven", "1.000.000", "1,50,000", "3 to 4", "٣"))


def test_a_cell_is_drawn_as_the_number_that_it_says():
    assert {cell: prompts.cited_number(cell) for cell in NUMBERS} == NUMBERS


# ---- whose words they are ---------------------------------------------------------------------------------


def doubt(turn=ILSE, table=None, **changed):
    """What the engine would say of an answer: that it is nothing of the member's own."""
    table = table or spoken()
    form, asked = prompts.message_spec(table, turn), prompts.member_messages(table, turn)
    fields = prompts.CLOSING if turn.why == TurnReason.CLOSING else GOOD
    said = {name: one for name, one in (GOOD | changed).items() if name in fields}
    return not_own(form.said(form.read(json.dumps(said))), form.instructions(asked))


def test_words_of_the_system_message_of_the_form_and_of_the_floor_are_nobodys_own():
    said = [
        "One of the 3 members of a panel: the panel discusses one question, one speaker at a time",
        "You were drawn. You stand by HIRE.",
        "what you say, 20 to 150 words",
    ]
    assert [one for one in said if not doubt(content=one)] == []
    assert "placeholder" in doubt(points=[POINT | {"claim": "<your claim here>"}])
    closing = TurnState(9, 1, TurnReason.CLOSING)
    assert doubt(closing, content="your last word, in at most 80 words")
    assert doubt(closing, content="I stay.", verdict="HIRE", verdict_reasoning="The debate is over.")


def test_the_words_of_others_and_of_documents_are_no_instructions():
    """Who takes them up cites; a member's own description may be cited, too."""
    table = spoken()
    said = ["I doubt the letter that she wrote.", "Say more about the letter.", table.who[1], table.question]
    assert [one for one in said if doubt(content=one, table=table)] == []
    assert doubt(content="In 2003 she led a group of 5.") == ""


def test_a_timekeeper_repeats_facts_and_not_its_instructions():
    table = spoken()
    facts = prompts.note_facts(table, None)
    told = prompts.note_sentences("reminder", facts, table.names)
    form = prompts.timekeeper_spec(table, 0, told)
    asked = form.instructions(prompts.timekeeper_messages(table, 0, "reminder", facts))
    assert not_own(form.said(told), asked) == ""
    assert not_own(form.said("the facts in your words"), asked)
