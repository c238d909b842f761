"""What the reviewers' list and page say of judging."""

import asyncio

import pytest
from django.urls import reverse

from judgements.models import Council
from tests.conftest import perform, says
from tests.databases import copied
from tests.runs.desk import make_failed, make_several, page_of, stand, titles

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own


@pytest.fixture
def admin(client, reviewer):
    client.force_login(reviewer)
    return client


@pytest.fixture(scope="module")
def _failed():
    return copied(make_failed)


@pytest.fixture
def failed(_failed, mira):
    return _failed()


@pytest.fixture(scope="module")
def _several():
    return copied(make_several)


@pytest.fixture
def several(_several, mira, noor):
    """Three judgements of three years, the newest first."""
    return _several()


def test_judgements_are_listed_with_status_title_who_and_when(admin, judgement):
    html = admin.get(reverse("admin:judgements_judgement_changelist")).content.decode()
    for text in ("Idle", judgement.run.title, "mira"):
        assert text in html


def test_a_council_and_a_person_are_asked_for_by_a_link(admin, several, mira):
    assert titles(admin, council=Council.objects.get().pk)[0] == ["Refund"]
    found, html = titles(admin, person=mira.pk, status="rejected")
    assert found == ["Ship"]
    assert f'<a href="?person={mira.pk}">All</a>' in html  # the way out of the status keeps the person


def test_a_row_says_votes_council_who_and_flags(admin, several):
    html = titles(admin, status="rejected")[1]
    for text in (
        "Melchior rejects, Balthasar rejects, Casper rejects",
        "0 of 3",
        "Rejected",
        "mira",
        "2024-12-31 12:00",
    ):
        assert text in html
    assert '<td class="field-flags">Swayed, Rehearsed</td>' in html


def test_a_judgement_shows_every_prompt_and_raw_answer_and_what_went_wrong(admin, failed):
    html = admin.get(page_of(failed)).content.decode()
    assert "Casper gave no decision in round 2 after 1 attempt: The key was refused." in html
    for text in ("prose, not JSON", "HTTP 401 body", "You are agent C of these three", "BEGIN MATERIAL", "Attempt 2"):
        assert text in html


@committed
def test_a_change_of_mind_is_marked_and_has_its_reason(admin, judgement, models):
    models.will("openai/b", "reject", says("approve", "Agent A convinced me."), "approve")
    asyncio.run(perform(judgement.pk, models))
    html = admin.get(page_of(judgement)).content.decode()
    round_2 = html[html.index("Changed its mind in round 2", html.index('id="rec-agent-2"')) :]
    assert round_2.index("Agent A convinced me.") < round_2.index("Round 3")
    assert "<li>Changed its mind</li>" in html


def test_the_page_leads_to_all_other_pages_and_back_to_the_list_as_it_was(admin, mira, council):
    judgement = stand(mira, "Travel", council=council.current)
    html = admin.get(page_of(judgement), {"_changelist_filters": "status=approved"}).content.decode()
    for name in ("live", "record", "replay", "record-file"):
        assert f'href="{reverse(name, args=[judgement.pk])}"' in html
    assert f'href="{reverse("council-version", args=[council.pk, 1])}"' in html
    assert f'href="{reverse("admin:judgements_judgement_changelist")}?status=approved"' in html


@committed
def test_model_text_is_shown_and_never_run(admin, judgement, models):
    evil = '<img src=x onerror="alert(1)">'
    models.will("openai/a", f"{evil}")
    asyncio.run(perform(judgement.pk, models))
    html = admin.get(page_of(judgement)).content.decode()
    assert evil not in html
    assert "&lt;img src=x" in html
