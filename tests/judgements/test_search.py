"""Judgements are found by the words of their titles, contents and reasons."""

import pytest
from django.db import connection
from django.utils import timezone

from engine.text.search_terms import label_term, query_terms
from judgements.models import FLAGS, Judgement, JudgementAgent, JudgementFlag
from judgements.prompts import JudgementAnswer
from judgements.rules import AgentDecision
from runs.models import SearchText, matching_runs
from tests.conftest import agents

pytestmark = pytest.mark.django_db


def submit(content, title="", owner=None, **more):
    return Judgement.objects.submit(owner=owner, content=content, title=title, agents=agents(), **more)


def decide(judgement, seat, number, reason, decision=AgentDecision.APPROVE, model=""):
    agent = JudgementAgent.objects.get(judgement=judgement, seat=seat)
    call = judgement.run.calls.create(
        step=agent.step(number), attempt=1, model=model or agent.model, prompt="[]", deadline=timezone.now()
    )
    agent.decide(number, JudgementAnswer(reason=reason, decision=decision), call)


def found(query):
    return set(
        matching_runs(Judgement.objects.all(), query_terms(query), few=False).values_list("run__title", flat=True)
    )


def is_sound():
    """The index says what the table says, word by word."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO runs_words(runs_words, rank) VALUES ('integrity-check', 1)")


def test_title_content_and_reasons_are_searched():
    judgement = submit("We fly to Ōsaka.", title="Travel")
    decide(judgement, "A", 1, "The zeppelin is late.")
    decide(judgement, "B", 1, "The zeppelin is not late, nor is the train.")
    for query in ("travel", "osaka", "ZEPPELIN", "train", "travel osaka zeppelin train", "zepp", "trav"):
        assert found(query) == {"Travel"}, query
    assert found("zepp late") == found("airship") == set()
    is_sound()


def test_the_beginning_of_an_id_finds_its_judgement():
    judgement, _ = submit("one", title="one"), submit("two", title="two")
    assert found(str(judgement.pk)[:8]) == found(str(judgement.pk)) == {"one"}


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "' OR 1=1 --",
        "NEAR(a b)",
        "a AND b OR NOT c",
        "words : a",
        "a*",
        "^a",
        "-a",
        "{a}",
        "\\",
        ":*",
        "a & !b",
        "=",
        "%s",
    ],
)
def test_a_query_has_no_syntax(query):
    submit("nothing of it", title="x")
    assert found(query) <= {"x"}


def test_two_hundred_words_are_sought_like_one():
    words = " ".join(f"word{number}" for number in range(200))
    submit(words, title="many")
    assert found(words) == {"many"}
    assert found(f"{words} more") == set()


def test_a_sign_of_a_script_without_spaces_is_found_wherever_it_stands():
    submit("来週、東京へ行きます", title="Tokyo")
    assert found("東京") == found("行") == {"Tokyo"}
    assert found("大阪") == set()


def test_a_changed_or_deleted_text_is_no_longer_found():
    submit("the zeppelin", title="x")
    SearchText.objects.update(words="something else")
    assert (found("zeppelin"), found("something")) == (set(), {"x"})
    SearchText.objects.all().delete()
    assert found("something") == set()
    is_sound()


def test_the_verdict_is_a_label_that_no_word_finds():
    judgement = submit("one", title="one")
    for seat in "ABC":
        for number in (1, 2, 3):
            decide(judgement, seat, number, "Because.")
    judgement.conclude()
    assert "=verdict=approved" in SearchText.objects.get().words
    assert found("verdict=approved") == found("approved") == set()


def test_the_beginning_of_a_word_finds_no_label(council):
    submit("one", title="one", council=council.current)
    for query in ("i", "id", "by", "co", "council", "="):
        assert found(query) == set(), query


def conclude(judgement, *decisions, model=""):
    """With the decisions of A, B and C written as in aar: approve, approve, reject."""
    for seat, said in zip("ABC", decisions, strict=True):
        for number, letter in enumerate(said, start=1):
            decision = AgentDecision.APPROVE if letter == "a" else AgentDecision.REJECT
            decide(judgement, seat, number, "Because.", decision, model)
    judgement.conclude()
    return judgement


def flags(judgement):
    return sorted(SearchText.objects.flags_of([judgement.pk], FLAGS)[judgement.pk])


@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        ("aaa aaa aaa", []),
        ("aaa aaa rrr", []),
        ("raa raa aaa", ["changed", "swayed"]),
        ("aar aaa aaa", ["carried", "changed"]),
    ],
)
def test_flags_are_labels_that_come_with_the_verdict(decisions, expected):
    judgement = submit("one")
    assert flags(judgement) == []
    assert flags(conclude(judgement, *decisions.split())) == expected


def test_a_decision_of_another_model_is_a_flag():
    assert flags(conclude(submit("one"), "aaa", "aaa", "rrr", model="openai/other")) == ["fallback"]


def test_a_flag_can_be_added_later():
    judgement = submit("one", title="one")
    SearchText.objects.flag(judgement.pk, JudgementFlag.SWAYED)
    assert flags(judgement) == ["swayed"]
    assert list(matching_runs(Judgement.objects.all(), [[label_term("flag", "swayed")]], few=False)) == [judgement]
    is_sound()


@pytest.mark.parametrize("model", ["rehearsal/instant", "openai/a"])
def test_rehearsals_are_told_apart_from_the_start(model):
    Judgement.objects.submit(owner=None, content="one", agents=agents(model, "openai/b", "openai/c"))
    assert label_term("rehearsal", model.startswith("rehearsal")) in SearchText.objects.get().words.split()
