"""A run as reviewers read it: who may, its integrity, and what they add to it."""

import uuid

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from engine.models import Review, Run
from judgements.models import FLAGS, Judgement
from runs.models import RunFlag, SearchText
from tests.conftest import allow
from tests.databases import tampering
from tests.runs.desk import page_of

pytestmark = pytest.mark.django_db


def test_there_is_no_page_of_nothing(admin):
    assert admin.get(reverse("admin:judgements_judgement_change", args=["x"])).status_code == 404
    assert admin.get(reverse("admin:judgements_judgement_change", args=[uuid.uuid4()])).status_code == 404


def test_only_who_may_look_sees_list_and_page(client, judgement):
    client.force_login(User.objects.create_user("staff", is_staff=True))
    for address in (reverse("admin:judgements_judgement_changelist"), page_of(judgement)):
        assert client.get(address).status_code == 403


def test_list_and_page_lead_to_the_desk_in_the_colours_of_the_product(admin, approved):
    for address in (reverse("admin:index"), reverse("admin:engine_run_changelist"), page_of(approved)):
        html = admin.get(address).content.decode()
        assert f'href="{reverse("review")}"' in html
        assert "css/admin.css" in html
    assert reverse("review-one", args=[approved.pk]) in html


@pytest.mark.parametrize("action", ["add", "change", "delete"])
def test_nothing_can_be_added_changed_or_deleted(admin, judgement, action):
    args = [] if action == "add" else [judgement.pk]
    answer = admin.post(reverse(f"admin:judgements_judgement_{action}", args=args), {"title": "x", "post": "yes"})
    assert answer.status_code == 403
    judgement.refresh_from_db()
    assert judgement.run.title != "x"


def review(client, judgement, **said):
    return client.post(reverse("admin:judgements_judgement_review", args=[judgement.pk]), said, follow=True)


def test_a_note_and_an_override_stand_beside_the_verdict(admin, approved):
    review(admin, approved, what="note", text="Casper misread the plan.")
    html = review(admin, approved, what="rejected", text="Not this week.").content.decode()
    for text in (
        "Note, by reviewer",
        "Casper misread the plan.",
        "Overridden by reviewer",
        "Not this week.",
        "Approved",
    ):
        assert text in html
    assert Run.objects.get().outcome == "approved"
    assert SearchText.objects.flags_of([approved.pk], FLAGS)[approved.pk] == [RunFlag.NOTED, RunFlag.OVERRIDDEN]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"what": "note"}, "Write the note"),
        ({"what": "note", "text": " \u200b\r\n"}, "Write the note"),
        ({"what": "note", "text": "A bell: \a"}, "Character U+0007 at position 9 cannot be kept."),
        ({"text": "x"}, "Choose what"),
    ],
)
def test_a_review_that_says_nothing_is_not_kept(admin, approved, said, problem):
    answer = review(admin, approved, **said)
    assert answer.status_code == 422
    assert problem in answer.content.decode()
    assert not Review.objects.exists()


def test_a_judgement_that_goes_on_is_not_reviewed(admin, judgement):
    assert "not over cannot be reviewed" in review(admin, judgement, what="note", text="Early.").content.decode()


@pytest.mark.parametrize("may", [[], ["engine.view_run"], ["engine.add_review"]])
def test_only_who_may_see_and_review_reviews(client, approved, mira, may):
    mira.is_staff = True
    mira.save()
    client.force_login(allow(mira, *may))
    assert review(client, approved, what="note", text="Hm.").status_code == 403


def test_an_address_of_a_review_leads_to_its_judgement(admin, approved):
    answer = admin.get(reverse("admin:judgements_judgement_review", args=[approved.pk]))
    assert answer["Location"] == page_of(approved)


def test_the_page_says_that_a_record_is_intact_and_when_it_is_not(admin, approved):
    assert "Intact" in admin.get(page_of(approved)).content.decode()
    with tampering():
        Judgement.objects.update(content="Something else.")
    html = admin.get(page_of(approved)).content.decode()
    assert "Not intact" in html
    assert "The content was changed after " in html


def test_a_note_has_as_many_characters_as_the_page_lets_one_write(admin, approved):
    review(admin, approved, what="note", text="\r\n".join(["a"] * 2_000))  # as a browser sends line breaks
    assert len(Review.objects.get().text) == 3_999


@pytest.mark.parametrize("text", ["\u200b\u200b", "...", "Seen.\x1b[2J"])
def test_a_reason_that_shows_nothing_or_cannot_be_kept_overrides_nothing(admin, approved, text):
    assert review(admin, approved, what="rejected", text=text).status_code == 422
    assert not Review.objects.exists()
