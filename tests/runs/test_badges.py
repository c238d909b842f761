"""Badges: pictures by a secret address that say how something came out, and nothing else."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engine.models import Review
from runs import reviews
from runs.models import BadgeLink, PresetUse
from runs.record import redaction
from runs.sharing import badges

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(approved_judgement):
    return approved_judgement.run


def seen_by(badge):
    return Client().get(reverse("badge", args=[badge.secret]))


def said(badge):
    return seen_by(badge).content.decode()


def test_a_badge_is_made_on_its_page_and_shown_once(page, run):
    made = page.post(reverse("badges"), {"of": f"run:{run.pk}", "words": "Release gate", "days": "30"})
    address = made.context["address"]
    assert f"![Release gate]({address})" in made.content.decode()
    assert address not in page.get(reverse("badges")).content.decode()
    assert "Release gate: approved" in Client().get(address).content.decode()


def test_it_says_the_outcome_and_its_age_and_nothing_of_the_run(run, mira, monkeypatch):
    badge, later = badges.create_badge(mira, 30, "Release gate", run), run.ended + timedelta(hours=3, minutes=5)
    monkeypatch.setattr(timezone, "now", lambda: later)
    shown = said(badge)
    assert '<title id="t">Release gate: approved 3 h ago</title>' in shown
    assert not any(told in shown for told in (run.title, str(run.pk)[:8], mira.username))


def test_it_may_stand_elsewhere_is_kept_for_a_minute_and_leaves_no_cookie(run, mira):
    answer = seen_by(badges.create_badge(mira, 30, "Gate", run))
    assert answer["Content-Type"] == "image/svg+xml"
    assert answer["Cache-Control"] == "public, max-age=60"
    assert answer["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "sandbox" in answer["Content-Security-Policy"]
    assert not answer.cookies


def test_that_of_a_council_shows_the_newest_that_decided(run, mira, council):
    badge = badges.create_badge(mira, 30, "Gate", shelf="council", key=council.pk)
    assert "Gate: nothing yet" in said(badge)
    for rehearsal in (True, False):
        PresetUse.objects.create(run=run, shelf="council", key=council.pk, owner=mira, rehearsal=rehearsal)
        assert ("Gate: approved" in said(badge)) is not rehearsal


def test_what_a_person_decided_instead_holds(run, mira, reviewer):
    badge = badges.create_badge(mira, 30, "Gate", run)
    reviews.add_review(run, reviewer, "It was not what I asked for at all, so no.", "rejected")
    assert "Gate: rejected" in said(badge)


def test_that_of_a_council_never_shows_what_others_asked(run, mira, noor, council):
    PresetUse.objects.create(run=run, shelf="council", key=council.pk, owner=mira, rehearsal=False)
    assert "Gate: nothing yet" in said(badges.create_badge(noor, 30, "Gate", shelf="council", key=council.pk))


def test_what_holds_no_more_looks_like_what_never_was(page, run, mira):
    ended, late, erased = (badges.create_badge(mira, 30, "Gate", run) for _ in range(3))
    page.post(reverse("end-badge", args=[ended.pk]))
    BadgeLink.objects.filter(pk=late.pk).update(until=timezone.now() - timedelta(seconds=1))
    answers = [seen_by(badge) for badge in (ended, late)]
    redaction.redact_run(run.pk, "reviewer", "Asked for.")
    answers += [seen_by(erased), Client().get(reverse("badge", args=["nobody-made-it"]))]
    assert {(answer.status_code, answer.content, answer["Cache-Control"]) for answer in answers} == {
        (404, b"", "no-store")
    }


def test_it_ends_with_whoever_made_it(run, mira):
    badge = badges.create_badge(mira, 30, "Gate", run)
    mira.is_active = False
    mira.save()
    assert seen_by(badge).status_code == 404


def test_nobody_makes_one_of_a_run_that_they_may_not_show(client, noor, run):
    client.force_login(noor)
    answer = client.post(reverse("badges"), {"of": f"run:{run.pk}", "words": "Gate", "days": "30"})
    assert (answer.status_code, BadgeLink.objects.count()) == (422, 0)


def test_that_one_was_made_and_ended_stands_in_the_record(run, mira):
    badge = badges.create_badge(mira, 30, "Gate", run)
    badges.revoke_badge(badge, mira)
    badges.revoke_badge(badge, mira)
    notes = [review.text.partition(":")[0] for review in Review.objects.filter(run=run)]
    assert notes == [f"Badge {badge.pk} made", f"Badge {badge.pk} ended."]


def test_words_can_be_no_picture_of_their_own(run, mira):
    assert "<script" not in said(badges.create_badge(mira, 30, "<script>\x08", run))


def test_of_a_run_they_stand_on_its_page_and_are_ended_by_whoever_may_show_it(client, run, mira, reviewer):
    badge = badges.create_badge(reviewer, 30, "Gate", run)
    client.force_login(mira)
    assert "“Gate”" in client.get(reverse("share", args=[run.pk])).content.decode()
    client.post(reverse("end-its-badge", args=[run.pk, badge.pk]))
    assert Review.objects.filter(run=run, by="mira", text=f"Badge {badge.pk} ended.").exists()
    assert "“Gate”" not in client.get(reverse("share", args=[run.pk])).content.decode()
    assert seen_by(badge).status_code == 404


def test_nobody_else_ends_one(client, run, mira, noor):
    badge = badges.create_badge(mira, 30, "Gate", run)
    client.force_login(noor)
    assert client.post(reverse("end-its-badge", args=[run.pk, badge.pk])).status_code == 404
    assert seen_by(badge).status_code == 200


def test_none_is_made_of_what_was_redacted_in_this_moment(run, mira):
    redaction.redact_run(run.pk, "reviewer", "Asked for.")  # `run` was read before
    with pytest.raises(ValueError, match="nothing to show"):
        badges.create_badge(mira, 30, "Gate", run)
