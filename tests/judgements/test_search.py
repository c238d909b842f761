"""Judgements are found by the words of their titles, contents and reasons."""

import pytest
from django.db import connection
from django.utils import timezone

from judgements.models import Agent, Judgement, SearchText
from judgements.prompts import Answer
from judgements.rules import Decision
from judgements.words import terms_of
from tests.conftest import agents

pytestmark = pytest.mark.django_db


def submit(content, title="", owner=None, **more):
    return Judgement.objects.submit(owner=owner, content=content, title=title, agents=agents(), **more)


def decide(judgement, seat, number, reason, decision=Decision.APPROVE):
    agent = Agent.objects.get(judgement=judgement, seat=seat)
    call = judgement.run.calls.create(
        step=agent.step(number), attempt=1, model="m", prompt="[]", deadline=timezone.now()
    )
    agent.decide(number, Answer(reason=reason, decision=decision), call)


def found(query):
    return set(Judgement.objects.found_by(terms_of(query)).values_list("title", flat=True))


def is_sound():
    """The index says what the table says, word by word."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO judgements_words(judgements_words, rank) VALUES ('integrity-check', 1)")


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
    for query in ("i", "id", "b", "by", "c", "council", "="):
        assert found(query) == set(), query
