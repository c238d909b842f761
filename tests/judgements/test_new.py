"""The page that starts a judgement: what it offers to whom, and examples to try."""

import json
import re

import pytest
from django.urls import reverse

from judgements.examples import RELEASE
from judgements.models import Council
from runs.procedure.spec import specs
from tests.judgements.test_councils import html_of

pytestmark = pytest.mark.django_db


def test_who_has_judged_nothing_yet_is_shown_a_finished_example(page):
    assert reverse("example") in html_of(page, "new")


@pytest.mark.django_db(transaction=True)
def test_who_has_judged_something_is_not(page, judgement):
    assert reverse("example") not in html_of(page, "new")


@pytest.fixture
def gate():
    agents = [agent | {"model": ""} for agent in RELEASE.agents("")]
    return Council.objects.create_first(name="Release gate", agents=agents, owner=None)


def chosen(html):
    return re.findall(r'name="council" value="(\d*)" checked', html)


def test_an_example_has_an_address(page, council, gate):
    html = page.get(reverse("new"), {"example": "release"}).content.decode()
    assert RELEASE.content in html
    assert chosen(html) == [str(gate.pk)]
    assert 'value="Security reviewer"' in html


def test_an_example_that_is_none_is_the_usual_page(page):
    assert page.get(reverse("new"), {"example": "x"}).status_code == 200


def test_an_example_without_its_council_brings_its_agents_as_agents_of_ones_own(page, settings, gate):
    gate.archive(None)
    html = page.get(reverse("new"), {"example": "release"}).content.decode()
    assert chosen(html) == [""]
    assert html.count(f'value="{settings.DEFAULT_MODEL}"') >= 3
    assert 'value="Security reviewer"' in html


def test_the_page_is_told_what_an_example_is(page, gate):
    answer = page.get(reverse("council-agents"), {"example": "release"})
    told = json.loads(answer["HX-Trigger"])["example-came"]
    assert told == {"content": RELEASE.content, "council": str(gate.pk)}
    assert "Security reviewer" in answer.content.decode()


# ---- what can be started ---------------------------------------------------------------------------------------


def test_one_kind_alone_is_no_choice(page, monkeypatch):
    for face in specs().values():
        monkeypatch.setattr(type(face), "begun_at", "new" if face.kind == "judgement" else "")
    assert "How it is worked on" not in html_of(page, "new")


def test_each_kind_that_a_page_starts_says_what_it_is_good_for(page, monkeypatch):
    check = type(specs()["check"])
    monkeypatch.setattr(check, "begun_at", "check-history")
    monkeypatch.setattr(check, "verb", "Check")
    monkeypatch.setattr(check, "good_for", "Whether something is sound.")
    html = html_of(page, "new")
    cards = re.findall(
        r'class="kind" (?:href|formaction)="([^"]*)"(.*?)>.*?kind__t">(.*?)<.*?kind__s">(.*?)<', html, re.DOTALL
    )
    assert (cards[0][0], cards[-1][0]) == (reverse("new"), reverse("check-history"))
    assert ["aria-current" in attributes for _, attributes, *_ in cards] == [True, *[False] * (len(cards) - 1)]
    assert cards[-1][2:] == ("Check", "Whether something is sound.")
