"""Links by which people without an account read one record."""

import logging
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engine.audit.full_verification import verify_all
from engine.json_logs import SecretPathFilter
from engine.models import Review
from runs.models import ShareLink, ShareLinkView
from runs.record import redaction
from runs.sharing import links as sharing
from runs.sharing.grants import grant_access
from tests.conftest import submitted

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(approved_judgement):
    return approved_judgement.run


def seen_by(link):
    return Client().get(reverse("shared", args=[link.secret]))


def page_of(run):
    return reverse("share", args=[run.pk])


def test_a_link_is_made_on_the_page_and_shown_once(page, run):
    made = page.post(page_of(run), {"for_whom": "The auditors", "days": "7"})
    link = ShareLink.objects.get()
    address = f"http://testserver/shared/{made.context['made'].secret}/"
    assert address in made.content.decode()
    assert address not in page.get(page_of(run)).content.decode()
    assert (link.until - link.made, link.for_whom) == (timedelta(days=7), "The auditors")
    assert Client().get(address).status_code == 200


@pytest.mark.parametrize("days", ["", "0", "366", "two"])
def test_a_link_ends_within_a_year(page, run, days):
    answer = page.post(page_of(run), {"days": days})
    assert "Write a number of days from 1 to 365." in answer.content.decode()
    assert answer.status_code == 422
    assert not ShareLink.objects.exists()


def test_who_is_shown_it_learns_nothing_of_the_site_and_no_other_site_of_it(run, mira):
    answer = seen_by(sharing.create_link(run, mira, "", 14))
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["X-Robots-Tag"].startswith("noindex")
    assert answer["Cache-Control"] == "no-store"
    assert reverse("live", args=[run.pk]) not in answer.content.decode()


def test_what_holds_no_more_looks_like_what_never_was(run, mira, page):
    ended, late, gone = (sharing.create_link(run, mira, "", 14) for _ in range(3))
    page.post(reverse("end-share", args=[run.pk, ended.pk]))
    ShareLink.objects.filter(pk=late.pk).update(until=timezone.now() - timedelta(seconds=1))
    ShareLink.objects.filter(pk=gone.pk).delete()
    answers = [seen_by(link) for link in (ended, late, gone)]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert len({answer.content for answer in answers}) == 1


def test_it_ends_with_the_texts_and_with_whoever_made_it(run, mira):
    link = sharing.create_link(run, mira, "", 14)
    mira.is_active = False
    mira.save()
    assert seen_by(link).status_code == 404
    mira.is_active = True
    mira.save()
    redaction.redact_run(run.pk, "reviewer", "Asked for.")
    assert seen_by(link).status_code == 404


def test_what_would_show_nothing_is_not_listed_as_holding(client, run, mira, noor, reviewer):
    links = [sharing.create_link(run, by, f"Ada of {by}", 14) for by in (mira, reviewer)]
    grant_access(run, reviewer, "noor")
    User.objects.filter(pk=reviewer.pk).update(is_superuser=False)
    client.force_login(mira)
    shown = client.get(page_of(run))
    assert shown.context["showing"] == links[:1]
    assert " ".join(shown.content.decode().split()).count("Shows nothing now: whoever") == 2
    assert [seen_by(link).status_code for link in links] == [200, 404]


def test_that_it_was_made_and_ended_stands_in_the_record(run, mira):
    link = sharing.create_link(run, mira, "the auditors", 14)
    sharing.revoke_share_link(link, mira)
    sharing.revoke_share_link(link, mira)
    notes = [review.text.partition(":")[0] for review in Review.objects.filter(run=run)]
    assert notes == [f"Link {link.pk} made for the auditors", f"Link {link.pk} ended."]
    assert not verify_all().faults


def test_how_often_it_was_opened_is_counted_by_the_hour(run, mira, page):
    link = sharing.create_link(run, mira, "", 14)
    for _ in range(3):
        seen_by(link)
    [look] = ShareLinkView.objects.all()
    assert look.times == 3
    ShareLinkView.objects.update(since=look.since - timedelta(hours=2), last=look.last - timedelta(hours=2))
    seen_by(link)
    assert [one.times for one in ShareLinkView.objects.all()] == [1, 3]
    assert "× 3" in page.get(page_of(run)).content.decode()


def test_what_is_not_over_is_shown_to_nobody(page, mira):
    waiting = submitted(mira)
    answer = page.post(page_of(waiting.run), {"days": "14"})
    assert (answer.status_code, ShareLink.objects.count()) == (409, 0)
    assert "nobody knows yet how it ends" in answer.content.decode()


def test_it_has_an_end_how_many_links_hold(run, mira):
    ShareLink.objects.bulk_create([ShareLink.new(run, mira, "", 14) for _ in range(20)])
    with pytest.raises(ValueError, match="as many as there may be"):
        sharing.create_link(run, mira, "", 14)


def test_a_secret_is_no_part_of_a_line_in_the_log():
    line = logging.LogRecord("django.request", logging.ERROR, "", 0, "Broken: %s", ("/shared/abc_-D/",), None)
    assert SecretPathFilter().filter(line)
    assert line.getMessage() == "Broken: /shared/…/"
