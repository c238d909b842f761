from dataclasses import replace

from debates import prompts
from debates.rules.course import Act, Note, Standing, Turn, Why
from debates.table import Facts, View

from .golden import debate
from .held import NAMES, given, opened, said, steered, with_course, with_settings

EARLY = Facts(said=8, most=60, left=12)
SOME = {"undecided": (3, 4), "abstaining": (5,), "withdrawn": (1,), "silent": (2,)}
CALLED = {seat: name for seat, name in enumerate(NAMES, 1)}

SENTENCES = {
    "opening": (
        (Note.OPENING, Facts(0, 60, 20)),
        "Up to 60 messages. The first deadline is after 20. Nobody has a verdict yet.",
    ),
    "opening of a short one": (
        (Note.OPENING, Facts(0, 12, 12, minutes=1)),
        "Up to 12 messages. The deadline is the last of them. Time left: 1 minute. Nobody has a verdict yet.",
    ),
    "reminder": (
        (Note.REMINDER, EARLY),
        "8 of 60 messages, 12 to the deadline: the clock is ticking.",
    ),
    "reminder of some": (
        (Note.REMINDER, replace(EARLY, minutes=31, **SOME)),
        "8 of 60 messages, 12 to the deadline: the clock is ticking. Time left: 31 minutes. No verdict yet: Hana Kubo, "
        "Tomás Ferro. Abstaining: Ada Owusu. Withdrawn: Ilse Brandt. Silent: Rajiv Menon.",
    ),
    "reminder after the last": (
        (Note.REMINDER, Facts(24, 24, 0)),
        "24 of 24 messages: these were all. The closing comes next.",
    ),
    "deadline": (
        (Note.DEADLINE, Facts(20, 60, 20, undecided=(3, 4, 5))),
        "20 of 60. Decisions are needed now; Hana Kubo, Tomás Ferro and Ada Owusu have none and speak next.",
    ),
    "deadline of one": (
        (Note.DEADLINE, Facts(20, 60, 20, undecided=(3,), withdrawn=(1, 2))),
        "20 of 60. Decisions are needed now; Hana Kubo has none and speaks next. Withdrawn: Ilse Brandt, Rajiv Menon.",
    ),
    "deadline of nobody": (
        (Note.DEADLINE, Facts(40, 60, 20)),
        "40 of 60. Decisions are needed now. Everybody has a verdict.",
    ),
    "last deadline": (
        (Note.DEADLINE, Facts(60, 60, 0, undecided=(3, 4))),
        "60 of 60. Decisions are needed now; Hana Kubo and Tomás Ferro have none and must state one in the closing.",
    ),
}


def test_a_note_says_its_facts_and_leaves_out_what_there_is_none_of():
    said = {name: prompts.stated(*note, CALLED) for name, (note, _) in SENTENCES.items()}
    assert said == {name: sentence for name, (_, sentence) in SENTENCES.items()}


def test_facts_name_exactly_those_without_a_verdict_that_abstain_have_withdrawn_and_are_silent():
    table = with_settings(opened(5), most=60)
    for number, verdict in enumerate(("HIRE", "ABSTAIN"), 1):
        turn = Turn(number, number, Why.DRAW)
        table = said(given(table, turn), turn, prompts.Answer("So it is.", verdict=verdict, reasoning="So it is."))
    skipped = [Turn(number, 3, Why.DRAW, state=Standing.SKIPPED) for number in (3, 4, 5)]
    table = steered(with_course(table, turns=[*table.course.turns, *skipped]), Act.WITHDRAW, 1)
    facts = prompts.facts_of(table, minutes=7)
    assert facts == Facts(2, 60, 18, undecided=(4, 5), abstaining=(2,), withdrawn=(1,), silent=(3,), minutes=7)


def test_a_note_of_a_model_has_the_facts_before_its_words():
    [note, *_] = prompts.elements(with_words("Dear friends, let us begin."))
    facts = "Up to 200 messages. The first deadline is after 20. Nobody has a verdict yet."
    assert note.content == f"{facts} Dear friends, let us begin."


def test_in_the_minutes_a_note_has_letters_and_no_words_of_a_model():
    [note, *_] = prompts.elements(replace(with_words("Dear Ilse Brandt!"), view=View.MINUTES))
    assert note.content.endswith("Nobody has a verdict yet.")


def with_words(words):
    table = debate(5, 1)
    return replace(table, words=table.words | {1: replace(table.words[1], content=words)})


def test_a_note_never_has_a_verdict():
    assert prompts.FORMS["timekeeper"] == ("words",)
    assert list(prompts.timekeeper_form(debate(5, 1), 0, "So it is.").schema["properties"]) == ["words"]
