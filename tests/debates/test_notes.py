import asyncio
from dataclasses import replace

import pytest

from debates import prompts
from debates.prompt_context import NoteFacts, PromptView
from debates.rules.state import MemberStatus, NoteKind, SteeringKind, TurnReason, TurnState
from engine.audit.verification import verify_one
from engine.llm import errors
from tests.conftest import perform

from .golden import debate
from .held import NAMES, given, opened, said, steered, with_course, with_settings
from .test_procedure import AgreeingModels, says
from .test_procedure import debate as submitted

EARLY = NoteFacts(said=8, most=60, left=12)
SOME = {"undecided": (3, 4), "abstaining": (5,), "withdrawn": (1,), "silent": (2,)}
CALLED = {seat: name for seat, name in enumerate(NAMES, 1)}

OLDER = {
    "opening": (
        (NoteKind.OPENING, NoteFacts(0, 60, 20)),
        "Up to 60 messages. The first deadline is after 20. Nobody has a verdict yet.",
    ),
    "opening of a short one": (
        (NoteKind.OPENING, NoteFacts(0, 12, 12, minutes=1)),
        "Up to 12 messages. The deadline is the last of them. Time left: 1 minute. Nobody has a verdict yet.",
    ),
    "reminder": (
        (NoteKind.REMINDER, EARLY),
        "8 of 60 messages, 12 to the deadline: the clock is ticking.",
    ),
    "reminder of some": (
        (NoteKind.REMINDER, replace(EARLY, minutes=31, **SOME)),
        "8 of 60 messages, 12 to the deadline: the clock is ticking. Time left: 31 minutes. No verdict yet: Hana Kubo, "
        "Tomás Ferro. Abstaining: Ada Owusu. Withdrawn: Ilse Brandt. Silent: Rajiv Menon.",
    ),
    "reminder after the last": (
        (NoteKind.REMINDER, NoteFacts(24, 24, 0)),
        "24 of 24 messages: these were all. The closing comes next.",
    ),
    "deadline": (
        (NoteKind.DEADLINE, NoteFacts(20, 60, 20, undecided=(3, 4, 5))),
        "20 of 60. Decisions are needed now; Hana Kubo, Tomás Ferro and Ada Owusu have none and speak next.",
    ),
    "deadline of one": (
        (NoteKind.DEADLINE, NoteFacts(20, 60, 20, undecided=(3,), withdrawn=(1, 2))),
        "20 of 60. Decisions are needed now; Hana Kubo has none and speaks next. Withdrawn: Ilse Brandt, Rajiv Menon.",
    ),
    "deadline of nobody": (
        (NoteKind.DEADLINE, NoteFacts(40, 60, 20)),
        "40 of 60. Decisions are needed now. Everybody has a verdict.",
    ),
    "last deadline": (
        (NoteKind.DEADLINE, NoteFacts(60, 60, 0, undecided=(3, 4))),
        "60 of 60. Decisions are needed now; Hana Kubo and Tomás Ferro have none and must state one in the closing.",
    ),
}

"""Of prompts up to version 2, which told nothing of the verdicts of who could no longer speak."""

SENTENCES = {
    "opening": (
        (NoteKind.OPENING, NoteFacts(0, 60, 20, decided=(), none=(1, 2))),
        "Up to 60 messages. The first deadline is after 20. Nobody has a verdict yet.",
    ),
    "opening after somebody left": (
        (NoteKind.OPENING, NoteFacts(0, 60, 20, withdrawn=(2,), decided=(2,), none=(1, 3))),
        "Up to 60 messages. The first deadline is after 20. With a verdict: Rajiv Menon. No verdict: Ilse Brandt, "
        "Hana Kubo. Withdrawn: Rajiv Menon.",
    ),
    "reminder": (
        (NoteKind.REMINDER, replace(EARLY, undecided=(3,), silent=(2,), decided=(1,), none=(2, 3))),
        "8 of 60 messages, 12 to the deadline: the clock is ticking. No verdict yet: Rajiv Menon, Hana Kubo. Silent: "
        "Rajiv Menon.",
    ),
    "deadline": (
        (
            NoteKind.DEADLINE,
            NoteFacts(20, 60, 20, undecided=(3,), silent=(4,), abstaining=(5,), decided=(1, 2), none=(3, 4)),
        ),
        "20 of 60 messages: the deadline. With a verdict: Ilse Brandt, Rajiv Menon. No verdict: Hana Kubo, Tomás "
        "Ferro. Decisions are needed now: Hana Kubo speaks next. Abstaining: Ada Owusu. Silent: Tomás Ferro.",
    ),
    "deadline of a silent one": (
        (NoteKind.DEADLINE, NoteFacts(20, 60, 20, silent=(2,), decided=(1, 3), none=(2,))),
        "20 of 60 messages: the deadline. With a verdict: Ilse Brandt, Hana Kubo. No verdict: Rajiv Menon. Silent: "
        "Rajiv Menon.",
    ),
    "deadline of all": (
        (NoteKind.DEADLINE, NoteFacts(40, 60, 20, withdrawn=(1,), decided=(1, 2, 3), none=())),
        "40 of 60 messages: the deadline. All three have a verdict. Withdrawn: Ilse Brandt.",
    ),
    "last deadline": (
        (NoteKind.DEADLINE, NoteFacts(60, 60, 0, undecided=(1, 2), decided=(), none=(1, 2))),
        "60 of 60 messages: the deadline. Nobody has a verdict yet. Decisions are needed now: Ilse Brandt and Rajiv "
        "Menon must state one in the closing.",
    ),
}


@pytest.mark.parametrize("sentences", [SENTENCES, OLDER], ids=["now", "before"])
def test_a_note_says_its_facts_and_leaves_out_what_there_is_none_of(sentences):
    said = {name: prompts.note_sentences(*note, CALLED) for name, (note, _) in sentences.items()}
    assert said == {name: sentence for name, (_, sentence) in sentences.items()}


def test_facts_name_exactly_those_without_a_verdict_that_abstain_have_withdrawn_and_are_silent():
    table = with_settings(opened(5), most=60)
    for number, verdict in enumerate(("HIRE", "ABSTAIN"), 1):
        turn = TurnState(number, number, TurnReason.DRAW)
        table = said(
            given(table, turn), turn, prompts.DebateAnswer("So it is.", verdict=verdict, reasoning="So it is.")
        )
    skipped = [TurnState(number, 3, TurnReason.DRAW, state=MemberStatus.SKIPPED) for number in (3, 4, 5)]
    table = steered(with_course(table, turns=[*table.course.turns, *skipped]), SteeringKind.WITHDRAW, 1)
    facts = prompts.note_facts(table, minutes=7)
    older = NoteFacts(2, 60, 18, undecided=(4, 5), abstaining=(2,), withdrawn=(1,), silent=(3,), minutes=7)
    assert facts == replace(older, decided=(1,), none=(3, 4, 5))
    assert prompts.note_facts(table, 7, "2") == older


class DividedSilentModels(AgreeingModels):
    """Of two minds, and one of them cannot speak."""

    async def ask(self, model, messages, form, *rest):
        verdict = {"verdict": "HIRE" if model.endswith("ada") else "DO NOT HIRE", "verdict_reasoning": "So it is."}
        if model.endswith("ben"):
            self.will(model, errors.Unauthorized("No key."))
        elif form.name == "message":
            self.will(model, says(f"In remark {len(self.asked)} I say why.", **verdict))
        return await super().ask(model, messages, form, *rest)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2", "20 of 20. Decisions are needed now. Everybody has a verdict. Silent: Ben."),
        ("3", "20 of 20 messages: the deadline. With a verdict: Ada, Cleo. No verdict: Ben. Silent: Ben."),
    ],
)
def test_a_deadline_tells_of_who_fell_silent_and_records_of_version_2_verify_as_before(monkeypatch, version, said):
    monkeypatch.setattr(prompts, "VERSION", version)
    pk = submitted(most=20, switches={"first": False}).pk
    models = DividedSilentModels()
    asyncio.run(perform(pk, models))
    assert said in models.asked[-1][1][-1]["content"]
    assert verify_one(pk)[2] == []


def test_a_note_of_a_model_has_the_facts_before_its_words():
    [note, *_] = prompts.elements(with_words("Dear friends, let us begin."))
    facts = "Up to 200 messages. The first deadline is after 20. Nobody has a verdict yet."
    assert note.content == f"{facts} Dear friends, let us begin."


def test_in_the_minutes_a_note_has_letters_and_no_words_of_a_model():
    [note, *_] = prompts.elements(replace(with_words("Dear Ilse Brandt!"), view=PromptView.MINUTES))
    assert note.content.endswith("Nobody has a verdict yet.")


def with_words(words):
    table = debate(5, 1)
    return replace(table, words=table.words | {1: replace(table.words[1], content=words)})


def test_a_note_never_has_a_verdict():
    assert prompts.FORMS["timekeeper"] == ("words",)
    assert list(prompts.timekeeper_spec(debate(5, 1), 0, "So it is.").schema["properties"]) == ["words"]
